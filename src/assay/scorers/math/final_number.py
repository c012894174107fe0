"""Read the number that an answer gives, in nine steps.

`final_match` calls one function for each step. Each function has an example.

1. `_unify_spelling`: write all numbers in ASCII digits (`two thirds` and `\\frac{2}{3}` become `2/3`).
2. `_remove_side_numbers`: remove digits that are not a result (`42 m/s^2`, `42 (check: 6 * 7 = 42)`).
3. `_declared_number`: take the number after the last declaration (`The answer is 42`). `_result_of_equation` and
   `_corrected_number` continue from it (`The answer is 5 + 10 = 15`, `The answer is 7, no, 8`).
4. `_left_result`: take the left side of a final equation (`So 12 = 3 * 4.`).
5. `_number_of_list`: if the answer is only a list, take a number if all are equal (`17, 17`, but not `17, 18`).
6. `_last_number`: take the last number (`5 boys and 3 girls are 8 children`).
7. `_last_number_in_words`: take the last number that is written in words (`There are forty-two.`).
8. `_is_one_of_two`: reject one of two alternatives (`17 or 18`).
9. `whole_value`: take the value of an expression (`3 × 4` is 12), and reject a part of any other compound (`3:1`).

Steps 3 to 7 are tried in this order until one applies. Steps 8 and 9 check the number of step 3, 6 or 7.
"""

import re

from ..answers import last_of
from .number_compounds import whole_value
from .number_patterns import (
    AND,
    ASIDE,
    BETWEEN_NUMBERS,
    CHANGES_FROM,
    CORRECTION,
    DECLARED,
    DECLARED_LIST,
    GOES_ON,
    IN_UNITS,
    ONLY_A_LIST,
    OPERATOR,
    RESULT,
    TURNED,
    Quantity,
    number_pattern,
    read_quantity,
    written_numbers,
)
from .number_text import expected_in_digits, in_digits, one_spelling, parts_in_digits

_BLANKS = re.compile(r"[ \t]{2,}")
_CHARS_BEFORE_ALTERNATIVE = 80
"""How far before a number to search for an alternative, such as 17 before the 18 of `17 or 18`."""


def final_number(text: str) -> Quantity | None:
    """Return the number that an answer gives, or None: `17 + 25 = 42, so the answer is 42.` -> 42."""
    match = final_match(text, has_blanks=False, has_comma=False)
    return None if match is None else read_quantity(match)


def final_match(
    text: str,
    *,
    has_blanks: bool,
    has_comma: bool,
) -> re.Match[str] | None:
    """Find the number that an answer gives, and return its match of `number_pattern`.

    The match refers to the text after steps 1 and 2, which is the match's `string`.
    `has_blanks` and `has_comma` are passed to `number_pattern`. Return None for an
    answer without a number or with alternatives.
    """
    text = _remove_side_numbers(_unify_spelling(text))
    declaration = last_of(DECLARED.finditer(text))
    if declaration is not None:
        text = _spell_declared_number(text, declaration.end())
        is_european = declaration["comma"] is not None
        pattern = number_pattern(has_blanks or is_european, has_comma or is_european)
        declared = _declared_number(text, declaration.end(), pattern)
        listed = DECLARED_LIST.match(text, declaration.end())
        if listed is not None:
            return _number_of_list(listed, pattern)
        if declared is not None:
            return _checked(declared, pattern)
    pattern = number_pattern(has_blanks, has_comma)
    equation = TURNED.search(text)
    if equation is not None:
        return _left_result(equation, pattern)
    listed = ONLY_A_LIST.fullmatch(text)
    if listed is not None:
        return _number_of_list(listed, pattern)
    last = _last_number(text, pattern) or _last_number_in_words(text, pattern)
    return None if last is None else _checked(last, pattern)


# --- Steps 1 and 2: prepare the text ------------------------------------------------------------


def _unify_spelling(text: str) -> str:
    """Return the text with numbers in ASCII digits: `two thirds` -> `2/3`, `4²` -> `16`, `１２` -> `12`.

    Whole numbers in words are converted later, because `one` and `一` also have other meanings.
    """
    return one_spelling(parts_in_digits(text))


def _remove_side_numbers(text: str) -> str:
    """Return the text without digits that are not a result.

    These are digits of units and margins of error (`42 m/s^2`, `42 ± 1`) and asides (`42 of the 50`,
    `42, because 6 * 7 is 42`).
    """
    text = IN_UNITS.sub("", text)
    return ASIDE.sub(lambda aside: aside["kept"] or "", text)


# --- Step 3: a declared number ------------------------------------------------------------------


def _spell_declared_number(text: str, start: int) -> str:
    """Return the text with digits for a number in words at `start`: `The answer is six` -> `The answer is 6`."""
    return text[:start] + one_spelling(expected_in_digits(text[start:]))


def _declared_number(
    text: str,
    start: int,
    pattern: re.Pattern[str],
) -> re.Match[str] | None:
    """Return the number after a declaration that ends at `start`: `The answer is 42, not 41` -> 42."""
    first = next(written_numbers(text, start, pattern), None)
    if first is None:
        return None
    result = _result_of_equation(text, start, first, pattern)
    return _corrected_number(text, result, pattern)


def _result_of_equation(
    text: str,
    start: int,
    first: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str]:
    """Return the result of a declared equation: 15 for `5 + 10 = 15` and for `15 = 5 + 10`.

    `first` is the first declared number. Return it if the number is not part of an
    equation.
    """
    result = first
    position = start
    while equation := RESULT.match(text, position):
        end = equation.end()
        number = pattern.match(text, end) or pattern.match(text, end + 1)
        if number is None:
            break
        left_side = text[first.start() : end - 1]
        is_sum = first.start() >= end or OPERATOR.search(left_side[1:]) is not None
        goes_on = GOES_ON.match(text, number.end()) is not None
        if goes_on and not is_sum:
            break
        result = number
        position = number.end()
        if not goes_on and "=" not in text[position : position + 40]:
            break
    return result


def _corrected_number(
    text: str,
    declared: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str]:
    """Return the number that corrects the declared one, if there is one: `7, no, 8` -> 8."""
    correction = CORRECTION.match(text, declared.end())
    if correction is None:
        return declared
    return pattern.match(text, correction.end()) or declared


# --- Steps 4 to 7: no declared number -----------------------------------------------------------


def _left_result(
    equation: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str] | None:
    """Return the result of a final equation that is written in reverse: `So 12 = 3 * 4.` -> 12."""
    return pattern.match(equation.string, equation.start(1))


def _number_of_list(
    listed: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str] | None:
    """Return the first number of a list if all are equal: `17 and 17.0` -> 17, but `17, 18` -> None."""
    numbers = [
        number
        for number in written_numbers(listed.string, listed.start(), pattern)
        if number.end() <= listed.end()
    ]
    if not numbers:
        return None
    first = read_quantity(numbers[0])
    is_same = all(read_quantity(number).equals(first) for number in numbers)
    return numbers[0] if is_same else None


def _last_number(text: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return the last number in digits: `5 boys and 3 girls are 8 children` -> 8."""
    return last_of(written_numbers(text, 0, pattern))


def _last_number_in_words(
    text: str,
    pattern: re.Pattern[str],
) -> re.Match[str] | None:
    """Return the last number in words: `There are forty-two.` -> 42.

    The match refers to the text after words are converted to digits.
    """
    # "negative five" also has a sign; "five or six" becomes " 5  or  6 ".
    spelled = _BLANKS.sub(" ", one_spelling(in_digits(text)))
    return _last_number(spelled, pattern)


# --- Steps 8 and 9: one of two numbers, a part of a value ---------------------------------------


def _checked(
    number: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str] | None:
    """Return the number, or the value of its expression: 4 in `3 × 4` -> 12. None if it
    is ambiguous: `17 or 18`, `3:1`.
    """
    if _is_one_of_two(number, pattern):
        return None
    return whole_value(number, pattern)


def _is_one_of_two(
    number: re.Match[str],
    pattern: re.Pattern[str],
) -> bool:
    """Return True for a number of `17 or 18`, `3-5` or `between 17 and 18`: the answer does not choose one."""
    text = number.string
    connection = BETWEEN_NUMBERS.match(text, number.end())
    connection = connection or AND.match(text, number.end())
    if connection is not None:
        following = pattern.match(text, connection.end())
        if following is not None and _are_alternatives(number, following):
            return True
    # Only a number just before it can be the other one.
    nearby = written_numbers(
        text[: number.start()],
        max(0, number.start() - _CHARS_BEFORE_ALTERNATIVE),
        pattern,
    )
    before = last_of(nearby)
    return before is not None and _are_alternatives(before, number)


def _are_alternatives(
    first: re.Match[str],
    second: re.Match[str],
) -> bool:
    """Return True if two numbers differ and the words between them join them as alternatives or as a range.

    `2 hours or 120 minutes` are not alternatives: they are one number in two units.
    """
    text = second.string
    if read_quantity(first).equals(read_quantity(second)):
        return False
    between = text[first.end() : second.start()]
    lead = max(0, first.start() - 20)
    if AND.fullmatch(between):
        return True
    connection = BETWEEN_NUMBERS.fullmatch(between)
    if connection is None:
        return False
    if connection["range"]:
        if read_quantity(first).is_percent and not read_quantity(second).is_percent:
            # It rose 12% to $4.2 billion.
            return False
        return CHANGES_FROM.search(text, lead, first.start()) is None
    # 2 hours or 120 minutes: the same again in another unit
    unit = connection["unit"]
    return unit is None or text[second.end() :].lstrip().startswith(unit)
