"""Cues: the phrases that announce an answer, and those around them that deny or weaken it.

Data only, in English and Chinese with a few of other languages. Every repetition is bounded, so that each
pattern is linear on any text.
"""

import re
from dataclasses import dataclass
from enum import IntEnum


class Firmness(IntEnum):
    """How much a claim is worth; a firmer one silences the weaker ones."""

    TENTATIVE = 1
    """"could be B", "is it B?", "I first thought the answer was B"."""
    CONCLUDED = 2
    """"so B", "it is B", "B is correct"."""
    DECLARED = 3


MOST_PER_CUE = 400
"""The last ones decide, so a looping output is not read cue by cue from its beginning."""

_WRAP = r"[\s\"'(){}\[\]<>「」『』《》〈〉【】$\\#:=,.;|*_→~-]"
_FILLER = (
    r"(?:the|an?(?=\s+(?:option|choice))|it|it's|is|that|option|choice|letter|answer|statement|alternative"
    r"|number|probably|likely"
    r"|most|definitely|clearly|simply|therefore|thus|actually|indeed|either|both|just|still|in\s+fact"
    r"|as\s+follows"
    r"|(?:i\s+(?:think|believe|guess|suppose|would\s+say|'d\s+say))|correct|final|best"
    r"|las?|el|les?|die|der|das|r[ée]ponse|antwort|respuesta|resposta|risposta|op[cç](?:i[oó]n|[aã]o)|opzione|lettre|letra|lettera|buchstabe|alternativa"
    r"|a(?=\s+(?:letra|op[cç]|alternativa))"
    r"|选项|選項|选择|選擇|答案|选|選|是|为|為|应该|应|應該|就|项|第|正确|最终)"
)
SKIP = re.compile(rf"(?:{_WRAP}{{0,12}}{_FILLER}(?![a-z])){{0,6}}", re.IGNORECASE)
OPEN = re.compile(rf"{_WRAP}{{0,16}}")
_ONE = r"[A-Za-z](?![A-Za-z0-9_+#^]|'[a-z]|-[A-Za-z]|\.[A-Z]\.|\s?°)"
LETTER = re.compile(_ONE)
NEXT_LETTER = re.compile(
    r"[\s\"')\]}$\\]{0,4}(?P<sep>(?:\s{0,2}(?:,|/|&|;|\+|\||、|\b(?:and/or|and|or|plus|also|as\s+well\s+as)\b|和|或者?"
    r"|及|与|與|以及|还是|還是|跟))+)"
    rf"\s{{0,2}}(?:(?:options?|choices?|possibly|maybe|even|选项?"
    rf"|选择)\s{{0,2}})?[\"'(\[{{$\\]{{0,3}}(?P<letter>{_ONE})"
)
ADJACENT_LETTER = re.compile(
    r"(?P<sep>)(?:[)\]\"'】}]{1,3}[ \t]{0,2}[(\[\"'【{]{1,2}(?P<letter>[A-Z])(?=[)\]\"'】}])"
    r"|\.?[ \t]{1,2}(?P<last>[A-Z])(?=\.?[ \t]*(?:\n|$)))"
)
"""A second letter with no word between: `(A)(B)`, `A B` at the end of a line."""
RUN = re.compile(r"[A-Z]{2,10}(?![A-Za-z0-9])")
ARTICLE_NEXT = re.compile(r"\s+[a-z]")
CONNECTIVE = re.compile(
    r"\s+(?:because|since|as|for|due|which|that|based|given|with|where|not|but|rather|if|and|or|is|was"
    r"|would|from|in|on|by"
    r"|i\b|it|to|the|here|instead|although|even|while|so|after|per|over|out\s+of|due\s+to)\b",
    re.IGNORECASE,
)
DENIED_AFTER = re.compile(
    r"[\s\"')\]}.,:-]{0,4}(?:[✗✘❌×]|(?:(?:is|are|was|were|can|could|would|does|do|seems|looks|must|has|have"
    r"|being)\s{0,2}"
    r"(?:n't|\s?not\b|never|also\s|both\s|clearly\s|all\s|therefore\s|to\s+be\s|be\s|been\s)*\s{0,2})?"
    r"(?:(?<!,\s)not\s+(?:correct|right|the|be|match|true|apply|(?-i:an?)\s)|n't|wrong\b|incorrect\b"
    r"|false\b|ruled\s+out|eliminated|excluded|out\b(?!\s+of)"
    r"|cannot\b|can\s+be\s+(?:ruled|eliminated|excluded)|(?:选项|項|项)?(?:是)?(?:错|錯|不|排除|有误|可以?排除|被排除|均错|都错|都不)))",
    re.IGNORECASE,
)
NEGATED_START = re.compile(
    rf"{_WRAP}{{0,8}}"
    r"(?:(?:definitely|clearly|certainly|probably|obviously|therefore|simply|actually)\s+)?"
    r"(?:not\b|n't|never\b|neither\b|none\b|anything\s+but\b|不|并非|並非|非(?!常))",
    re.IGNORECASE,
)
CONTRAST = re.compile(
    rf"{_WRAP}{{0,8}}(?:not\b|不是|并非|不|非)[^.!?\n。？！]{{0,60}}?(?:\bbut(?:\s+rather)?\b|\brather\b|而是"
    rf"|而应?该?[是选]|应该?是)",
    re.IGNORECASE,
)
QUESTION_AFTER = re.compile(r"[\s\"')\]}.]{0,4}(?:[^.!?。\n]{0,12}\?|吗|呢\?|嗎)")
CLAUSE_END = re.compile(r"[。！？!?\n]|\.(?=\s|$)|;|；|\b(?:but|however|yet)\b|但是?|不过|然而", re.IGNORECASE)
SENTENCE_END = re.compile(r"[。！？!?\n]|\.(?=\s|$)|;|；")
MARKED = re.compile(rf"(?:\b(?:option|choice|letter)\s+|选项\s?|[(\[【])[\"'(\[]?(?P<letter>{_ONE})", re.IGNORECASE)


COPULA = re.compile(rf"\b(?:is|be)\b:?\s{{0,2}}(?P<letter>{_ONE})(?=[\s\"')\]]{{0,3}}(?:[.,;:!\n]|$))")


@dataclass(frozen=True, slots=True)
class Cue:
    """What announces an answer, and how firm it is when nothing around it weakens it."""

    rule: str
    pattern: re.Pattern[str]
    firmness: Firmness = Firmness.DECLARED
    reads_text: bool = True
    """Whether an option's text may follow the cue, or letters only."""
    words: frozenset[str] = frozenset()
    """One of these stands in every ASCII text with the cue, so that the others need no search."""


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE | re.MULTILINE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GAP = (
    r"(?:(?!\b[B-HJ-Z]\b|(?-i:\bA\b(?!\s[A-Z]))|\ba\b(?!\s[a-z])|\ba\s+(?:is|was|would|should)\b|\boptions\b|\bchoices\b|\bfollowing\b|\bkey\b"
    r"|,\s*(?:and|but|so)\b)[^.!?\n:=。])"
)
CUES: tuple[Cue, ...] = (
    Cue("answer-tag", _compile(r"<\s*(?:final_?)?answer\s*>"), words=_words("answer finalanswer")),
    Cue("boxed", _compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])\s{0,2}\{?"), words=_words("boxed fbox framebox")),
    Cue(
        "declared-en",
        _compile(
            rf"""(?<![A-Za-z])(?:answer|ans|solution|response|selection|guess|choice|option|pick|conclusion|verdict|prediction
                |result|letter|label|bet|vote)(?![a-z])
                (?:{_GAP}{{0,90}}?(?:\b(?:is|was|be|are|becomes|remains|seems|appears|would|should
                |has\s+to\s+be)\b(?:\s+to\s+be\b|\s+be\b|\s+as\b)?|'s\b)
                | [\s"'*_)\]]{{0,4}}(?:\((?:letter|option|choice|[a-z\s]{{3,30}})\)\s?|\s+(?:choice|letter
                |option|key)\s?)?[:=]
                | \s?(?:->|→|⇒|=>|-|–|—)\s?)"""
        ),
        words=_words(
            "answer ans solution response selection guess choice option pick conclusion verdict prediction result "
            "letter label bet vote"
        ),
    ),
    Cue(
        "declared-en",
        _compile(
            r"\b(?:answer|ans)\b(?:\s+(?:choice|option))?[\s.]{1,3}(?=[(\[\"']?[A-Z](?![A-Za-z0-9'])(?!\s+[a-z]))"
        ),
        reads_text=False,
        words=_words("answer ans"),
    ),
    Cue(
        "chosen-en",
        _compile(
            r"""\b(?:choose|chose|choosing|pick(?:ed|ing)?|select(?:ed|ing)?|go(?:ing)?\s+(?:ahead\s+)?(?:with|for)|opt(?:ing)?\s+for|vote\s+for|settle\s+(?:on|for)
                |lean(?:ing)?\s+(?:more\s+)?towards?|stick(?:ing)?\s+with|bet\s+on|\bsay|mark|identify
                |conclude\s+(?:with|that)|narrow(?:s|ed)?\s+(?:it\s+)?down\s+to)\b:?"""
        ),
        words=_words(
            "choose chose choosing pick picked picking select selected selecting go going opt opting vote settle lean "
            "leaning stick sticking bet say mark identify conclude narrow narrows narrowed"
        ),
    ),
    Cue(
        "declared-zh",
        _compile(
            r"""(?<!(?<![A-Z])[A-Z])(?<!(?<![A-Z])[A-Z]\s)(?:答案|正解|正确选项|正確選項|正确的?选择|最终选择|最佳选项|最佳選項|选项|选择|結果|结论|结果)\s?(?:】|\]|\)|"|')?\s{0,2}
                (?:[^\nA-Z。！？:,]{0,24}?)(?:应该?是|應該?是|应该?为|應為|应该?选|應選|不是|是|为|為|选择?|選擇?|[:=]|→)"""
        ),
    ),
    Cue(
        "declared-zh",
        _compile(
            r"(?:(?P<firm>(?:正确|正確|最终|最終)的?)|)(?:答案|正解)[】\])\"'\s]{0,4}(?=[(\[\"'【]?[A-Z](?![A-Za-z])"
            r"(?(firm)|(?![)\]\"'】\s]{0,2}(?:是|为|為|指|说|說))))"
        ),
        reads_text=False,
    ),
    Cue("declared-zh", _compile(r"(?:^|[\s。,])答\s{0,2}[:】\]]")),
    Cue(
        "declared-zh",
        _compile(
            r"(?:正确|正確|符合题意|符合要求|对|错误|不正确|成立|合适|恰当|合理|符合)的(?:选项|選項|一项|一項|答案|说法)?\s?(?:应该?|應該?)?(?:就)?(?:是|为|為|:)"
        ),
    ),
    Cue(
        "chosen-zh",
        _compile(r"(?:选择|選擇|选定|选取|选|選)(?!项|項)(?:了|的?是|为|為|出|答案|项)?[:\s]{0,2}(?:选项|選項|答案)?"),
    ),
    Cue(
        "declared-other",
        _compile(
            r"""(?=[raojcsđоउا정답答正回])(?:(?:respuestas?|r[ée]ponses?|antwort|antwoord|risposta|resposta
                |jawaban|cevap|odpowied[źz]|svar|svaret|correcta|option(?=\s+(?:ist|est)\b))(?![a-zäöü])|đáp\s+án|ответ|उत्तर|الإجابة|정답|답|答え|正解|回答)
                (?:(?!\b(?:no|non|não|nicht|niet|ne|pas|не|nie|bukan|inte|ikke)\b)[^\n.!?:=]){0,30}?
                (?:\b(?:es|est|ist|is|[ée]|è|är|er|lautet|adalah|ialah|to|là)\b|هي|है|[:=]|は|은|는)"""
        ),
        reads_text=False,
        words=_words(
            "respuesta respuestas reponse reponses antwort antwoord risposta resposta jawaban cevap odpowiedz svar "
            "svaret correcta option"
        ),
    ),
    Cue(
        "chosen-other",
        _compile(
            r"""\b(?:je\s+choisis|je\s+prends|ich\s+(?:w[äa]hle|nehme)|elijo|escojo|escolho|scelgo|kies|выбираю|seçiyorum)\b
                (?:\s+(?:l'|d'))?(?:\s?(?:r[ée]ponse|antwort|respuesta|resposta|risposta|ответ|вариант))?"""
        ),
        reads_text=False,
        words=_words("choisis prends wahle nehme elijo escojo escolho scelgo kies"),
    ),
    Cue(
        "answer-line",
        _compile(r"^\s{0,3}A\s?:(?=\s{0,3}\(?[A-Z]\)?\.?\s{0,3}$)"),
        reads_text=False,
        words=_words("a"),
    ),
    Cue(
        "concluded",
        _compile(
            r"""\b(?:it|that|this|which|one)(?:'?s|\s+(?:is|was|must\s+be|should\s+be|has\s+to\s+be|would\s+be|will\s+be|can\s+only\s+be|leaves?|makes?))\b(?:\s+(?:actually|really|probably|most\s+likely|clearly|definitely))?
                |\b(?:so|therefore|thus|hence|ergo|consequently|accordingly|finally|overall|ultimately
                |in\s+conclusion|actually|instead|definitely|probably|final)\b
                |\b(?:corresponds?\s+(?:exactly\s+)?(?:to|with)|match(?:es|ing)?(?:\s+(?:up\s+)?(?:with
                |to))?|points?\s+(?:us\s+)?to|leads?\s+(?:us\s+)?to|leaves?(?:\s+(?:us\s+with|only))?
                |leaving(?:\s+(?:us\s+with|only))?|i\s+(?:think|believe|guess)|(?:statement|one|animal|item
                |thing|value|formula|sentence|description)\s+(?:is|matches)|must\s+be|should\s+be|make\s+it
                |makes\s+it|but\s+rather)\b
                |→|⇒|=>|->|∴
                |所以|因此|因而|综上(?:所述)?|故|于是|可知|可得|应该?是|應該?是|就是|即为?|而是|对应的?(?:是|为)?|符合|我觉得|我认为|我猜|大概是|可能是|那么|显然
                |只有|则|只能是"""
        ),
        Firmness.CONCLUDED,
        reads_text=False,
        words=_words(
            "it its that thats this thiss which whichs one ones so therefore thus hence ergo consequently accordingly "
            "finally overall ultimately in actually instead definitely probably final corresponds correspond match "
            "matches matching points point leads lead leaves leave leaving i statement animal item thing value formula "
            "sentence description must should make makes but => ->"
        ),
    ),
)
NOT_BEFORE = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever|\bwithout|\bavoid|\binstead\s+of|\brather\s+than)(?:\s+(?:to|be|have"
    r"|necessarily|simply|just|really))?(?:\s+(?:think|thinks|believe|say|mean|claim|true|agree))?"
    r"(?:\s+(?:that|with))?(?:\s+(?:the|my|our|this|it|an?))?(?:\s+(?:correct|right|best|final))?\s*$"
    r"|(?:不|别|勿|没有?|并非|非|误|错|排除|未|莫)(?:能|应|應|要|该|可以?|会|是|得|予|该)?\s*$",
    re.IGNORECASE,
)
SUPPOSED_BEFORE = re.compile(
    r"\b(?:if|whether|suppose|supposing|assuming|assume|unless|had|were|say(?=\s+the)"
    r"|imagine)(?:\s+that)?(?:\s+(?:i|we|you|they|one|someone|the|my|our|this|it|a|an))?(?:\s+(?:correct"
    r"|right|best|final|only|were\s+to|was\s+to|instead))?\s*$"
    r"|(?:如果|假如|假设|倘若|若|要是|是否|即使|就算|万一)(?:[你我]|正确|我们|本题|题目)?(?:的)?\s*$",
    re.IGNORECASE,
)
DOUBTED_BEFORE = re.compile(
    r"\b(?:thought|tempt(?:ed|ing)|initially|at\s+first|mistakenly|wrongly|trap|wanted|(?:some"
    r"|many)\s+(?:people|students|might|may|would|could)"
    r"|(?:might|may|could)\s+(?:think|say|argue|believe|assume|expect|guess))\b[^.!?,\n]{0,30}$"
    r"|\b(?:might|may|could|incorrect|wrong|other|previous|earlier|second[- ]best)\s*$"
    r"|(?:有人|很多人|有些人|容易|可能会?|似乎|起初|一开始|误以为|原以为)[^。,\n]{0,8}$|错误的?\s*$",
    re.IGNORECASE,
)
GAP_DENIES = re.compile(
    r"\b(?:not|cannot|never|isn't|wasn't|can't|wouldn't|shouldn't|couldn't|aren't)\b|n't|不(?!正确|对|符)",
    re.IGNORECASE,
)
GAP_DOUBTS = re.compile(r"\b(?:might|may|could|maybe|perhaps|possib\w+)\b|可能|也许|或许", re.IGNORECASE)
VERDICT = _compile(
    r"""(?:(?P<marked>\b(?:option|choice|answer|statement|letter)\s+|选项\s?|[(\["'])|(?<![\w'.])(?<!\d\s))[("'\[]{0,2}(?P<letter>[A-Za-z])(?![A-Za-z0-9_'])[)"'\]]{0,2}
        (?P<gap>[.:,)]?\s?(?:(?!\b(?-i:[A-Z])\b)[^\n.!?;。]){0,60}?)
        (?:\s?(?:,\s)?(?:\b(?:is|would\s+be|must\s+be|should\s+be|seems|appears|looks|has\s+to\s+be
                |remains)(?:\s+to\s+be)?
             (?:\s+(?:indeed|clearly|likely|probably|therefore|thus|most\s+likely|definitely|also|the|my
                |our|an?|only|most|single|one|actually|both|final|obviously))*
             \s+(?:correct|right|best|answer|choice|accurate|appropriate|true|winner|option|one|suitable
                |better|stronger|likelier|pick|guess|selection)\b
           | \b(?:is|seems|looks|appears)\s+(?:the\s+|far\s+|much\s+)?(?:more|most)
             \s+(?:plausible|probable|reasonable|sensible|likely)\b(?![^.\n]{0,60}\b(?:wrong|incorrect|false|not)\b)
           | \smakes\s+(?:the\s+most\s+|more\s+|the\s+best\s+)sense\b
           | (?<=only\s.)\smakes\s+sense\b
           | \s(?:ist|est|es|é|è)\s+(?:richtig|korrekt|exacte?|correcte|correct[ao]|corret[ao]|corretta)\b
           | \s(?:best\s+|correctly\s+|perfectly\s+)?(?:fits|describes|matches|captures|satisfies|remains
                |works|explains)\b
           | \s?(?::|-|–|=|,)?\s?(?:correct(?!\s+(?:answer|option|choice))\b|\?\s?yes\b|✓|✔|✅|☑)
           | (?:选项|項|项|是|才是|为|最|的)*(?:唯一)?(?:正确(?!的?[吗?])|正確|符合题意|符合要求|对的
                |答案|最佳|最合适|最符合|合适|符合题干)))"""
)
COMPARED = re.compile(r"seems|would be|(?:plausible|probable|reasonable|sensible|likely|sense)$", re.IGNORECASE)
"""A verdict with these is a hedged one: "B is more plausible" may be said of the second best."""
VERDICT_WORDS = _words(
    "right best answer choice accurate appropriate true winner option one suitable better stronger likelier pick guess "
    "selection fits describes matches captures satisfies remains works explains yes plausible probable reasonable "
    "sensible likely sense richtig korrekt exact exacte corretta correto correta"
)
"""One of these, or `correct` within a word, stands in every ASCII text with a verdict."""
UNFIT_BEFORE = re.compile(
    r"(?:\bnot|n't|rather\s+than|\bonly\s+if|\bwhy|\bwhether|(?<![A-Za-z])(?-i:[A-Z])[)\"']?\s*(?:,|and|or"
    r"|&|、|和|或|,\s*and)|不|若|如果)\s*(?:option\s*)?$",
    re.IGNORECASE,
)
SEPARATORS_ONLY = re.compile(r"\s*[.:,)\-–—]|\s+\(")
DENIES_NEXT = re.compile(
    r"(?:\b(?:not|nor|neither|never|no|without|unlike|isn't|than|instead\s+of|versus|excludes?|excluding"
    r"|eliminates?|eliminating|except|against|rul(?:es?|ed|ing)\s+out|wrong|incorrect)|n't|cannot\s+be)"
    r"(?:\s+(?:be|a|an|the|like|option|choice|really|any|necessarily|just))*[\s\"'(\[]*$"
    r"|(?:不是|并非|而非|不能|不会|没有|不选|非|不|排除了?|除了)(?:一?[只个条头匹位名张]|选项)?[\s\"'(\[]*$",
    re.IGNORECASE,
)
