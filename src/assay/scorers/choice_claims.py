"""Claims: the places where an output says which option it takes, with how firmly it says so.

A cue ("the answer is", "故选", `\\boxed{`) is looked up first; what follows it is then read as letters or as
an option's text. Cues are data, reading is one function, so a new phrase never needs new code.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from .choice_text import OptionTexts


class Firmness(IntEnum):
    """How much a claim is worth; a firmer one silences the weaker ones."""

    TENTATIVE = 1
    """"could be B", "is it B?", "I first thought the answer was B"."""
    CONCLUDED = 2
    """"so B", "it is B", "B is correct"."""
    DECLARED = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """One place that names an answer."""

    rule: str
    start: int
    end: int
    answer: str | None
    """`None`: several letters at once, or a letter no option has."""
    firmness: Firmness
    evidence: str


_WRAP = r"[\s\"'(){}\[\]<>「」『』《》〈〉【】$\\#:=,.;|*_→~-]"
_FILLER = (
    r"(?:the|an?(?=\s+(?:option|choice))|it|it's|is|that|option|choice|letter|answer|statement|alternative|number|probably|likely"
    r"|most|definitely|clearly|simply|therefore|thus|actually|indeed|either|both|just|still|in\s+fact|as\s+follows"
    r"|(?:i\s+(?:think|believe|guess|suppose|would\s+say|'d\s+say))|correct|final|best|opci[oó]n|lettre|letra"
    r"|选项|選項|选择|選擇|答案|选|選|是|为|為|应该|应|應該|就|项|第|正确|最终)"
)
_SKIP = re.compile(rf"(?:{_WRAP}{{0,12}}{_FILLER}(?![a-z])){{0,6}}", re.IGNORECASE)
_OPEN = re.compile(rf"{_WRAP}{{0,16}}")
_ONE = r"[A-Za-z](?![A-Za-z0-9_+#^]|'[a-z]|-[A-Za-z]|\.[A-Z]\.|\s?°)"
_LETTER = re.compile(_ONE)
_NEXT_LETTER = re.compile(
    r"[\s\"')\]}$\\]{0,4}(?P<sep>(?:\s{0,2}(?:,|/|&|;|\+|、|\b(?:and/or|and|or|also|as\s+well\s+as)\b|和|或者?|及|与|與|以及|还是|還是|跟))+)"
    rf"\s{{0,2}}(?:(?:options?|choices?|possibly|maybe|even|选项?|选择)\s{{0,2}})?[\"'(\[{{$\\]{{0,3}}(?P<letter>{_ONE})"
)
_RUN = re.compile(r"[A-Z]{2,10}(?![A-Za-z0-9])")
_ARTICLE_NEXT = re.compile(r"\s+[a-z]")
_CONNECTIVE = re.compile(
    r"\s+(?:because|since|as|for|due|which|that|based|given|with|where|not|but|rather|if|and|or|is|was|would|from|in|on|by"
    r"|i\b|it|to|the|here|instead|although|even|while|so|after|per|over|out\s+of|due\s+to)\b",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"[\s\"')\]}.,:-]{0,4}(?:[✗✘❌×]|(?:(?:is|are|was|were|can|could|would|does|do|seems|looks|must|has|have|being)\s{0,2}"
    r"(?:n't|\s?not\b|never|also\s|both\s|clearly\s|all\s|therefore\s|to\s+be\s|be\s|been\s)*\s{0,2})?"
    r"(?:not\s+(?:correct|right|the|a|be|match|true|apply|an)|n't|wrong\b|incorrect\b|false\b|ruled\s+out|eliminated|excluded|out\b(?!\s+of)"
    r"|cannot\b|can\s+be\s+(?:ruled|eliminated|excluded)|(?:选项|項|项)?(?:是)?(?:错|錯|不|排除|有误|可以?排除|被排除|均错|都错|都不)))",
    re.IGNORECASE,
)
_NEGATED_START = re.compile(
    rf"{_WRAP}{{0,8}}(?:(?:definitely|clearly|certainly|probably|obviously|therefore|simply|actually)\s+)?"
    r"(?:not\b|n't|never\b|neither\b|none\b|anything\s+but\b|不|并非|並非|非(?!常))",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    rf"{_WRAP}{{0,8}}(?:not\b|不是|并非|不|非)[^.!?\n。？！]{{0,60}}?(?:\bbut(?:\s+rather)?\b|\brather\b|而是|而应?该?[是选]|应该?是)",
    re.IGNORECASE,
)
_QUESTION_AFTER = re.compile(r"[\s\"')\]}.]{0,4}(?:[^.!?。\n]{0,12}\?|吗|呢\?|嗎)")
_CLAUSE_END = re.compile(r"[。！？!?\n]|\.(?=\s|$)|;|；|\b(?:but|however|yet)\b|但是?|不过|然而", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[。！？!?\n]|\.(?=\s|$)|;|；")
_MARKED = re.compile(rf"(?:\b(?:option|choice|letter)\s+|选项\s?|[(\[【])[\"'(\[]?(?P<letter>{_ONE})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Cue:
    """What announces an answer, and how firm it is when nothing around it weakens it."""

    rule: str
    pattern: re.Pattern[str]
    firmness: Firmness = Firmness.DECLARED
    reads_text: bool = True
    """Whether an option's text may follow the cue, or letters only."""


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE | re.MULTILINE)


_GAP = r"(?:(?!\b[B-HJ-Z]\b|\bA\b(?!\s[a-z])|\boptions\b|\bchoices\b|\bfollowing\b|\bkey\b|,\s*(?:and|but|so)\b)[^.!?\n:=。])"
_CUES: tuple[_Cue, ...] = (
    _Cue("answer-tag", _compile(r"<\s*(?:final_?)?answer\s*>")),
    _Cue("boxed", _compile(r"\\(?:boxed|fbox|framebox)\s{0,2}\{?")),
    _Cue(
        "declared-en",
        _compile(
            rf"""(?<![A-Za-z])(?:answer|ans|solution|response|selection|guess|choice|option|pick|conclusion|verdict|prediction
                |result|letter|label|bet|vote)(?![a-rt-z]|s\b)
                (?:{_GAP}{{0,90}}?(?:\b(?:is|was|be|are|becomes|remains|seems|appears|would|should|has\s+to\s+be)\b(?:\s+to\s+be\b|\s+be\b|\s+as\b)?|'s\b)
                | [\s"'*_)\]]{{0,4}}(?:\((?:letter|option|choice|[a-z\s]{{3,30}})\)\s?|\s+(?:choice|letter|option|key)\s?)?[:=]
                | \s?(?:->|→|⇒|=>|-|–|—)\s?)"""
        ),
    ),
    _Cue("declared-en", _compile(r"\b(?:answer|ans)\b(?:\s+(?:choice|option))?[\s.]{1,3}(?=[(\[\"']?[A-Z](?![A-Za-z0-9'])(?!\s+[a-z]))"), reads_text=False),
    _Cue(
        "chosen-en",
        _compile(
            r"""\b(?:choose|chose|choosing|pick(?:ed|ing)?|select(?:ed|ing)?|go(?:ing)?\s+(?:ahead\s+)?(?:with|for)|opt(?:ing)?\s+for|vote\s+for|settle\s+(?:on|for)
                |lean(?:ing)?\s+(?:more\s+)?towards?|stick(?:ing)?\s+with|bet\s+on|\bsay|mark|identify|conclude\s+(?:with|that)|narrow(?:s|ed)?\s+(?:it\s+)?down\s+to)\b:?"""
        ),
    ),
    _Cue(
        "declared-zh",
        _compile(
            r"""(?:答案|正解|正确选项|正確選項|正确的?选择|最终选择|最佳选项|最佳選項|选项|选择|結果|结论|结果)\s?(?:】|\]|\)|"|')?\s{0,2}
                (?:[^\nA-Z。！？:,]{0,24}?)(?:应该?是|應該?是|应该?为|應為|应该?选|應選|不是|是|为|為|选择?|選擇?|[:=]|→)"""
        ),
    ),
    _Cue("declared-zh", _compile(r"(?:答案|正解)[】\])\"'\s]{0,4}(?=[(\[\"'【]?[A-Z](?![A-Za-z]))"), reads_text=False),
    _Cue("declared-zh", _compile(r"(?:^|[\s。,])答\s{0,2}[:】\]]")),
    _Cue("declared-zh", _compile(r"(?:正确|正確|符合题意|符合要求|对|错误|不正确|成立|合适|恰当|合理|符合)的(?:选项|選項|一项|一項|答案|说法)?\s?(?:应该?|應該?)?(?:就)?(?:是|为|為|:)")),
    _Cue("chosen-zh", _compile(r"(?:选择|選擇|选定|选取|选|選)(?!项|項)(?:了|的?是|为|為|出|答案|项)?[:\s]{0,2}(?:选项|選項|答案)?")),
    _Cue(
        "declared-other",
        _compile(
            r"""(?:respuesta|r[ée]ponse|antwort|risposta|resposta|ответ|정답|답|答え|正解|回答|opci[oó]n\s+correcta)
                (?:[^\n.!?:=]{0,30}?)(?:\b(?:es|est|ist|[ée]|è|lautet)\b|[:=]|は|은|는)"""
        ),
        reads_text=False,
    ),
    _Cue("answer-line", _compile(r"^\s{0,3}A\s?:(?=\s{0,3}\(?[A-Z]\)?\.?\s{0,3}$)"), reads_text=False),
    _Cue(
        "concluded",
        _compile(
            r"""\b(?:it|that|this|which|one)(?:'s|\s+(?:is|was|must\s+be|should\s+be|has\s+to\s+be|would\s+be|will\s+be|can\s+only\s+be|leaves?|makes?))\b(?:\s+(?:actually|really|probably|most\s+likely|clearly|definitely))?
                |\b(?:so|therefore|thus|hence|ergo|consequently|accordingly|finally|overall|ultimately|in\s+conclusion|actually|instead|definitely|probably|final)\b
                |\b(?:corresponds?\s+(?:exactly\s+)?(?:to|with)|match(?:es|ing)?(?:\s+(?:up\s+)?(?:with|to))?|points?\s+(?:us\s+)?to|leads?\s+(?:us\s+)?to|leaves?(?:\s+(?:us\s+with|only))?|leaving(?:\s+(?:us\s+with|only))?|i\s+(?:think|believe|guess)|(?:statement|one|animal|item|thing|value|formula|sentence|description)\s+(?:is|matches)|must\s+be|should\s+be|make\s+it|makes\s+it|but\s+rather)\b
                |→|⇒|=>|->|∴
                |所以|因此|因而|综上(?:所述)?|故|于是|可知|可得|应该?是|應該?是|就是|即为?|而是|对应的?(?:是|为)?|符合|我觉得|我认为|我猜|大概是|可能是|那么|显然|只有|则|只能是"""
        ),
        Firmness.CONCLUDED,
        reads_text=False,
    ),
)
_NOT_BEFORE = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever|\bwithout|\bavoid|\binstead\s+of|\brather\s+than)(?:\s+(?:to|be|have|necessarily|simply|just|really))?(?:\s+(?:think|thinks|believe|say|mean|claim|true|agree))?"
    r"(?:\s+(?:that|with))?(?:\s+(?:the|my|our|this|it|an?))?(?:\s+(?:correct|right|best|final))?\s*$"
    r"|(?:不|别|勿|没有?|并非|非|误|错|排除|未|莫)(?:能|应|應|要|该|可以?|会|是|得|予|该)?\s*$",
    re.IGNORECASE,
)
_SUPPOSED_BEFORE = re.compile(
    r"\b(?:if|whether|suppose|supposing|assuming|assume|unless|had|were|say(?=\s+the)|imagine)(?:\s+that)?(?:\s+(?:i|we|you|they|one|someone|the|my|our|this|it|a|an))?(?:\s+(?:correct|right|best|final|only|were\s+to|was\s+to|instead))?\s*$"
    r"|(?:如果|假如|假设|倘若|若|要是|是否|即使|就算|万一)(?:[你我]|正确|我们|本题|题目)?(?:的)?\s*$",
    re.IGNORECASE,
)
_DOUBTED_BEFORE = re.compile(
    r"\b(?:thought|tempt(?:ed|ing)|initially|at\s+first|mistakenly|wrongly|trap|wanted|(?:some|many)\s+(?:people|students|might|may|would|could)"
    r"|(?:might|may|could)\s+(?:think|say|argue|believe|assume|expect|guess))\b[^.!?\n]{0,30}$"
    r"|\b(?:might|may|could|incorrect|wrong|other|previous|earlier|second[- ]best)\s*$"
    r"|(?:有人|很多人|有些人|容易|可能会?|似乎|起初|一开始|误以为|原以为|错误)[^。\n]{0,8}$",
    re.IGNORECASE,
)
_GAP_DENIES = re.compile(r"\b(?:not|cannot|never|isn't|wasn't|can't|wouldn't|shouldn't|couldn't|aren't)\b|n't|不(?!正确|对|符)", re.IGNORECASE)
_GAP_DOUBTS = re.compile(r"\b(?:might|may|could|maybe|perhaps|possib\w+)\b", re.IGNORECASE)
_VERDICT = _compile(
    rf"""(?:(?P<marked>\b(?:option|choice|answer|statement|letter)\s+|选项\s?|[(\["'])|(?<![\w'.])(?<!\d\s))[("'\[]{{0,2}}(?P<letter>[A-Za-z])(?![A-Za-z0-9_'])[)"'\]]{{0,2}}
        (?P<gap>[.:,)]?\s?[^\n.!?;。]{{0,60}}?)
        (?:\s?(?:,\s)?(?:\b(?:is|would\s+be|must\s+be|should\s+be|seems|appears|looks|has\s+to\s+be|remains)(?:\s+to\s+be)?
             (?:\s+(?:indeed|clearly|likely|probably|therefore|thus|most\s+likely|definitely|also|the|my|our|an?|only|most|single|one|actually|both|final|obviously))*
             \s+(?:correct|right|best|answer|choice|accurate|appropriate|true|winner|option|one|suitable|better|stronger|likelier|pick|guess|selection)\b
           | \s?(?::|-|–|=|,)?\s?(?:correct(?!\s+(?:answer|option|choice))\b|✓|✔|✅|☑)
           | (?:选项|項|项|是|才是|为|最|的)*(?:唯一)?(?:正确(?!的?[吗?])|正確|符合题意|符合要求|对的|答案|最佳|最合适|最符合|合适|符合题干)))"""
)
_SEPARATORS_ONLY = re.compile(r"\s*[.:,)\-–—]|\s+\(")


def find_claims(text: str, letters: frozenset[str], texts: OptionTexts) -> list[Claim]:
    """Every claim in reading order; denials, suppositions and plain mentions are left out."""
    claims = [claim for cue in _CUES for match in cue.pattern.finditer(text) if (claim := _claim_at(text, match, cue, letters, texts))]
    claims += [claim for match in _VERDICT.finditer(text) if (claim := _verdict_at(text, match, letters))]
    return sorted(claims, key=lambda claim: (claim.end, claim.start))


def _claim_at(text: str, cue_match: re.Match[str], cue: _Cue, letters: frozenset[str], texts: OptionTexts) -> Claim | None:
    before = _clause_before(text, cue_match.start())
    cue_text = cue_match[0]
    contrast = _CONTRAST.match(text, cue_match.end())
    denied = _NOT_BEFORE.search(before) or _GAP_DENIES.search(cue_text) or _NEGATED_START.match(text, cue_match.end())
    if _SUPPOSED_BEFORE.search(before) or (denied and not contrast):
        return None
    start = contrast.end() if contrast else cue_match.end()
    firmness = cue.firmness
    if _DOUBTED_BEFORE.search(before) or _GAP_DOUBTS.search(cue_text):
        firmness = Firmness.TENTATIVE
    read = _read(text, start, letters, texts if cue.reads_text else None, strict=cue.firmness is not Firmness.DECLARED)
    if read is None and cue.firmness is Firmness.DECLARED and "answer" in cue_text.lower():
        read = _read_later(text, start, letters)
        if read is None and cue.reads_text:
            read = _mentioned_later(text, start, texts)
            firmness = Firmness.TENTATIVE
    if read is None:
        return None
    answer, end = read
    if _QUESTION_AFTER.match(text, end):
        firmness = Firmness.TENTATIVE
    return Claim(cue.rule, cue_match.start(), end, answer, firmness, _quote(text, cue_match.start(), end))


def _read(
    text: str, start: int, letters: frozenset[str], texts: OptionTexts | None, *, strict: bool
) -> tuple[str | None, int] | None:
    """The answer that stands at `start`, with its end; `(None, end)` when it is not one of the options."""
    skipped = _SKIP.match(text, start)
    begin = skipped.end() if skipped else start
    fillers = text[start:begin].lower()
    opened = _OPEN.match(text, begin)
    begin = opened.end() if opened else begin
    found = _LETTER.match(text, begin)
    marked_letter = found and (_SEPARATORS_ONLY.match(text, found.end()) or text[begin - 1 : begin] in "([{\"'【")
    if texts is not None and not marked_letter:
        by_text = _read_text(text, start, texts) or _read_text(text, begin, texts)
        if by_text:
            return by_text
    run = _RUN.match(text, begin)
    if run and set(run[0]) <= letters and list(run[0]) == sorted(set(run[0])):
        return None, run.end()
    if found is None or not _is_letter(text, found, fillers, letters, strict=strict):
        return None
    letter, end = found[0].upper(), found.end()
    if _DENIED_AFTER.match(text, end):
        return None
    several = _several(text, end, letter, found[0].islower())
    if several:
        return None, several
    return (letter if letter in letters else None), end


def _is_letter(text: str, found: re.Match[str], fillers: str, letters: frozenset[str], *, strict: bool) -> bool:
    """Whether a lone letter names an option rather than being an article, a pronoun, a name or a variable."""
    after = text[found.end() : found.end() + 24]
    closed = not after or not (after[0].isspace() or after[0].isalnum()) or after[0] == "\n" or not after.strip()
    if not closed and not after[0].isspace() and not after[0].isascii():
        closed = True
    named = re.search(r"(?:option|choice|letter|选项|選項)\W*$", fillers) is not None
    if re.match(r"\s*(?:[=^*<]|\+\s|-\s?\d|->|→|\\|_)", after) and strict:
        return False
    if found[0].upper() not in letters and (strict or not closed or found[0].islower() or found[0] == "I"):
        return False
    if closed or named:
        return True
    connected = _CONNECTIVE.match(after) is not None
    if found[0] in "AaI" or found[0].islower() or strict:
        return connected and not (found[0] in "aIi" and not re.match(r"\s+(?:because|since|due|based|as)\b", after))
    return True


def _several(text: str, end: int, first: str, lower: bool) -> int:
    """Where a list of different letters ends, or 0 when only one is named."""
    several = 0
    following = _NEXT_LETTER.match(text, end)
    while following:
        letter = following["letter"]
        article = letter in "AaI" and _ARTICLE_NEXT.match(text, following.end()) and not _DENIED_AFTER.match(text, following.end())
        if article or (letter.islower() and not lower) or _DENIED_AFTER.match(text, following.end()):
            break
        if following["sep"].strip() in ",;" and re.match(r"\s+(?:is|was|has|does|can|would|if)\b", text[following.end() : following.end() + 10]):
            break
        if letter.upper() != first:
            several = following.end()
        following = _NEXT_LETTER.match(text, following.end())
    return several


def _read_text(text: str, start: int, texts: OptionTexts) -> tuple[str | None, int] | None:
    window = text[start : start + 400]
    found = texts.at_start(window)
    if not found:
        return None
    letter, end = found
    if re.match(r"\s*(?:is|are|was)\s+(?:not|wrong|incorrect)\b|\s*(?:不|错)", window[end:]):
        return None
    alternative = re.match(r"\s*(?:,?\s*\b(?:or|and)\b|/|或者?|和|还是|、)\s*", window[end:])
    if alternative and (other := texts.at_start(window[end + alternative.end() :])) and other[0] != letter:
        return None, start + end
    return letter, start + end


def _read_later(text: str, start: int, letters: frozenset[str]) -> tuple[str | None, int] | None:
    """A marked letter further on in the sentence: "the answer is 12 kJ (option C)"."""
    sentence_end = _sentence_end(text, start)
    named: dict[str, int] = {}
    for mark in _MARKED.finditer(text, start, sentence_end):
        letter = mark["letter"].upper()
        if letter in letters and not _NOT_BEFORE.search(text[max(start, mark.start() - 30) : mark.start()]) and not _DENIED_AFTER.match(text, mark.end()):
            named[letter] = mark.end()
    if not named:
        copula = re.compile(rf"\b(?:is|be)\b:?\s{{0,2}}(?P<letter>{_ONE})(?=[\s\"')\]]{{0,3}}(?:[.,;:!\n]|$))")
        named = {m["letter"]: m.end() for m in copula.finditer(text, start, min(len(text), sentence_end + 1)) if m["letter"] in letters}
    if len(named) == 1:
        return next(iter(named.items()))
    return None


def _mentioned_later(text: str, start: int, texts: OptionTexts) -> tuple[str | None, int] | None:
    end = _sentence_end(text, start)
    found = {letter for letter, at, _ in texts.mentions(text[start:end]) if not denies(text[start : start + at]) and not texts.is_number(letter)}
    return (found.pop(), end) if len(found) == 1 else None


def _verdict_at(text: str, match: re.Match[str], letters: frozenset[str]) -> Claim | None:
    raw, gap = match["letter"], match["gap"]
    letter = raw.upper()
    before = _clause_before(text, match.start())
    bare = not match["marked"] and not gap.lstrip().startswith((".", ":", ",", ")"))
    if letter not in letters or (bare and (gap.strip() or raw.islower())) or (raw.islower() and raw in "ai" and not match["marked"]):
        return None
    if _GAP_DENIES.search(gap) or re.search(r"\b(?:is|are|was|and|or|if|why)\b|[和或与、]|错|误|(?<![A-Za-z])[A-Z](?![A-Za-z])", gap) or _SUPPOSED_BEFORE.search(before):
        return None
    if re.search(r"(?:\bnot|n't|rather\s+than|\bonly\s+if|\bwhy|\bwhether|[A-Z][)\"']?\s*(?:,|and|or|&|、|和|或|,\s*and)|不|若|如果)\s*(?:option\s*)?$", before, re.IGNORECASE):
        return None
    if re.match(r"\s*(?:only\s+)?(?:if|when|were)\b|\s*(?:吗|\?)", text[match.end() : match.end() + 12]):
        return None
    tentative = _DOUBTED_BEFORE.search(before) or "seems" in match[0] or "would be" in match[0]
    firmness = Firmness.TENTATIVE if tentative else Firmness.CONCLUDED
    if not tentative and re.search(r"(?:answer|choice|option|pick|guess|selection|best)$|答案$|题意$", match[0], re.IGNORECASE):
        firmness = Firmness.DECLARED
    return Claim("verdict", match.start(), match.end(), letter, firmness, _quote(text, match.start(), match.end()))


def denies(before: str) -> bool:
    """Whether the words just before a mention deny it: "not a", "rather than the", "不是"."""
    return _DENIES_NEXT.search(before[-40:]) is not None


_DENIES_NEXT = re.compile(
    r"(?:\b(?:not|nor|neither|never|no|without|unlike|isn't|than|instead\s+of|versus|excludes?|excluding|eliminates?|eliminating|except|against|rul(?:es?|ed|ing)\s+out|wrong|incorrect)|n't|cannot\s+be)"
    r"(?:\s+(?:be|a|an|the|like|option|choice|really|any|necessarily|just))*[\s\"'(\[]*$"
    r"|(?:不是|并非|而非|不能|不会|没有|不选|非|不|排除了?|除了)(?:一?[只个条头匹位名张]|选项)?[\s\"'(\[]*$",
    re.IGNORECASE,
)


def _clause_before(text: str, start: int) -> str:
    window = text[max(0, start - 80) : start]
    cut = 0
    for end in _CLAUSE_END.finditer(window):
        cut = end.end()
    return window[cut:]


def _sentence_end(text: str, start: int) -> int:
    end = _SENTENCE_END.search(text, start, min(len(text), start + 300))
    return end.start() if end else min(len(text), start + 300)


def _quote(text: str, start: int, end: int) -> str:
    return text[start : min(end, start + 160)].strip()
