"""Numbers in words, made digits: English and Chinese numerals of any size, and small numbers of other languages.

`one` and `一` are words of their own too ("this one", 一共), so they count only where a number is expected: as the
whole answer, or right behind what declares it.
"""

import re

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS = """twenty thirty forty fifty sixty seventy eighty ninety"""
_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_ENGLISH = {word: value for value, word in enumerate(_UNITS.split())}
_ENGLISH |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
_OTHER = {
    word: value
    for words in (
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zéro une deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "zero um dois três quatro cinco seis sete oito nove dez onze doze",
        "ноль один два три четыре пять шесть семь восемь девять десять",
    )
    for value, word in enumerate(words.split())
}
_HAN = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
}
_HAN_SCALES = {
    "十": 10,
    "百": 100,
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
}

_WORD = "|".join(sorted(_ENGLISH, key=len, reverse=True))
_FURTHER = rf"(?:-|\s(?:and\s)?|,\s)(?:{_WORD}|{'|'.join(_SCALES)})"
_PHRASE = rf"\b(?:a (?:hundred|thousand|million)|{_WORD})(?:{_FURTHER})*\b(?!-)"
_HAN_PHRASE = f"[{''.join(_HAN)}{''.join(_HAN_SCALES)}]+"
_SPELLED = re.compile(rf"{_PHRASE}|{_HAN_PHRASE}", re.IGNORECASE)
_SPELLED_ANYWHERE = re.compile(
    rf"{_PHRASE}|{_HAN_PHRASE}|\b(?:{'|'.join(_OTHER)})\b", re.IGNORECASE
)
_OPENING = re.compile(
    r"[\s:：=*\"'(（]{0,6}(?:(?:about|exactly|only|just|the number) )?", re.IGNORECASE
)
_ONE = ("one", "一", "十", "百", "千", "万")


def expected_in_digits(text: str) -> str:
    """The text with the number in words that it begins with in digits, if it begins with one."""
    opening = _OPENING.match(text)
    found = _SPELLED_ANYWHERE.match(text, opening.end() if opening else 0)
    return (
        text
        if found is None
        else f"{text[: found.start()]} {_value(found[0])} {text[found.end() :]}"
    )


def in_digits(text: str) -> str:
    """The text with its numbers in words in digits; a text that is nothing else counts `one` too."""
    bare = text.strip(" \n.!。*\"'")
    if found := _SPELLED_ANYWHERE.fullmatch(bare):
        return str(_value(found[0]))
    return _SPELLED.sub(
        lambda one: one[0] if one[0].lower() in _ONE else f" {_value(one[0])} ", text
    )


def _value(words: str) -> int:
    if words[0] in _HAN or words[0] in _HAN_SCALES:
        return _han(words)
    if words.lower() in _OTHER and words.lower() not in _ENGLISH:
        return _OTHER[words.lower()]
    total = group = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in _ENGLISH:
            group += _ENGLISH[word]
        elif word == "hundred":
            group = max(group, 1) * 100
        elif word in _SCALES:
            total, group = total + max(group, 1) * _SCALES[word], 0
    return total + group


def _han(numerals: str) -> int:
    """`二十五` is 25, `两万` 20,000; without scales the digits stand side by side: `二〇二四` is 2024."""
    if not any(one in _HAN_SCALES for one in numerals):
        return int("".join(str(_HAN[one]) for one in numerals))
    total = section = digit = 0
    for one in numerals:
        if one in _HAN:
            digit = _HAN[one]
        elif _HAN_SCALES[one] < 10**4:
            section, digit = section + (digit or 1) * _HAN_SCALES[one], 0
        else:
            total, section, digit = (
                (total + section + digit or 1) * _HAN_SCALES[one],
                0,
                0,
            )
    return total + section + digit
