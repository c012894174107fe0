"""Patterns over the word classes of an answer (see `choice_words.WordClass`).

The answer "So the answer is (B)." is the string `kfaim.`, one letter for each word.
Patterns are assembled from named parts: `any_of("IS WOULD")` is the character class
`[iw]`. Each pattern has example sentences, which a test matches. `‸` in an example
marks where the match begins; an example without it may match anywhere.
"""

import re

from .choice_mentions import LETTER_MARKS, OWN_TEXT, TEXT_MARKS
from .choice_words import (
    ENDS,
    SAME_SENTENCE,
    SENTENCE_BEGINS,
    SENTENCE_ENDS,
    STATEMENT_ENDS,
    after,
    any_of,
    before,
    either,
    letters,
    named,
    none_of,
    not_after,
    not_before,
    word,
)

EXAMPLES: dict[str, tuple[str, ...]] = {}
"""Example sentences of each pattern. Their options are A cat, B dog, C bird, D a fish."""


def pattern(
    regex: str,
    *examples: str,
    flags: int = 0,
) -> re.Pattern[str]:
    """Compile a pattern, and register its example sentences for the tests."""
    EXAMPLES[regex] = examples
    return re.compile(regex, flags)


ANSWER = word("ANSWER")
OPTION_WORD = word("OPTION_WORD")
RIGHT = word("RIGHT")
IS = word("IS")
FITS = word("FITS")
FILLER = word("FILLER")
CONCLUDES = word("CONCLUDES")
BECAUSE = word("BECAUSE")
COMPARES = word("COMPARES")
DENIES = word("DENIES")
IS_NOT_BUT = word("IS_NOT_BUT")
CONTRASTS = word("CONTRASTS")
SUPPOSES = word("SUPPOSES")
REPORTS = word("REPORTS")
WOULD = word("WOULD")
DECLINES = word("DECLINES")
QUESTION = word("QUESTION")
CORRECTS = word("CORRECTS")
JOINS = word("JOINS")
LETTER = word("LETTER")
TEXT = word("TEXT")
BOX = word("BOX")
NUMBER = word("NUMBER")
UNKNOWN = word("UNKNOWN")
COLON = word("COLON")
COMMA = word("COMMA")
DASH = word("DASH")
LINE = word("LINE")
PARAGRAPH = word("PARAGRAPH")

IS_ASKED = SAME_SENTENCE + r"{0,200}\?"
OPTION = any_of("LETTER TEXT")
FILLERS = any_of("FILLER OPTION_WORD") + "*"

SENTENCE_END = pattern(any_of(ENDS), "It barks. It is", "Which one?")
TWO_SENTENCES = pattern(any_of(ENDS) + ".", "It barks. It is a dog", "It barks.\nA dog")

# --- options that are named by their place

PLACES = letters("FIRST SECOND THIRD FOURTH FIFTH LAST")
PLACED_OPTION = pattern(
    # "the first and the third option" name two
    not_after(word("LIMITS"))
    + f"{named('another', f'[{PLACES}]{OPTION_WORD}?{COMMA}?{JOINS}{FILLER}*')}?"
    + either(
        f"{named('before', f'[{PLACES}]')}{OPTION_WORD}",
        f"{OPTION_WORD}{named('behind', f'[{PLACES}]')}",
        f"{OPTION_WORD}{named('number', NUMBER)}" + not_before(any_of("COLON NUMBER")),
    ),
    "the third option",
    "Option 3",
)
"""Matches an option that is named by its position in the list: "the third option"."""

# --- options that are denied in favor of another

# "A", "A or B", "A nor B"
_OPTIONS = f"{OPTION}(?:{any_of('JOINS COMMA DENIES')}{{1,3}}{FILLERS}{OPTION}){{0,9}}"
# "but", ", as many guess, but"
_BUT = (
    f"(?:{COMMA}{none_of(f'LETTER TEXT COMMA {ENDS}')}{{1,8}})?{COMMA}?"
    + CONTRASTS
    + any_of("CONTRASTS FILLER IS OPTION_WORD COMMA")
    + "*"
)
# ", it's"
_IT_IS = f"{COMMA}{FILLER}{IS}{FILLERS}"
NOT_BUT = pattern(
    either(
        # "not", "n'est pas"
        f"{DENIES}(?:{IS}{DENIES})?"
        + any_of("IS WOULD FILLER OPTION_WORD")
        + f"*{_OPTIONS}{either(_BUT, _IT_IS)}",
        f"{_OPTIONS}{FILLERS}{either(IS_NOT_BUT, f'{DENIES}{COMMA}?{CONTRASTS}')}"
        + any_of("COMMA FILLER")
        + "*",
    )
    + before(OPTION),
    "It is ‸not A but B.",
    "‸Not a cat, as many think, but B.",
    "答えはAではなくBです。",
    "The answer ‸isn't A, it's B.",
)
"""Matches options that are denied just before the right one: "not A but" in "not A but B"."""

# --- declarations

# "the option that fits best is"
_RELATIVE_CLAUSE = (
    any_of("FILLER BECAUSE")
    + any_of("FILLER LIMITS RIGHT OPTION_WORD UNKNOWN TEXT NUMBER FITS COMPARES IS")
    + "{1,7}"
    + IS
)
# "the answer", "the right … option", "option right", "the option that fits best is"
_SUBJECT = either(
    ANSWER,
    RIGHT
    + any_of("FILLER RIGHT OPTION_WORD UNKNOWN TEXT NUMBER")
    + "{0,4}"
    + OPTION_WORD,
    OPTION_WORD + RIGHT,
    OPTION_WORD + before(_RELATIVE_CLAUSE),
)
# "to this question", "which describes the graph"
_ASIDE = either(
    any_of("FILLER LIMITS COMPARES RIGHT OPTION_WORD CONCLUDES")
    + any_of(
        "FILLER LIMITS RIGHT OPTION_WORD UNKNOWN TEXT NUMBER FITS COMPARES BECAUSE CONCLUDES"
    )
    + "{0,6}",
    any_of("FILLER BECAUSE")
    + any_of("FILLER LIMITS RIGHT OPTION_WORD UNKNOWN TEXT FITS NUMBER IS")
    + "{1,6}",
)
_VERB = any_of("IS WOULD COLON DASH") + "+"
_DECLARED = "|".join(
    (
        # "the answer is", "the answer, to this question, is"
        f"{_SUBJECT}(?:{COMMA}?{_ASIDE}{COMMA}?)?{_VERB}",
        # "answer B", "answer isn't A but B"
        ANSWER + before(f"{FILLERS}{CONTRASTS}?{OPTION}"),
        # "is the answer: B"
        not_after(any_of("IS WOULD"))
        + any_of("IS WOULD")
        + "+"
        + any_of("FILLER RIGHT")
        + "*"
        + ANSWER
        + before(any_of("FILLER OPTION_WORD COLON") + "*" + OPTION),
        # "Correct: B"
        f"{SENTENCE_BEGINS}{any_of('FILLER RIGHT')}*{RIGHT}{COLON}",
        # "correct option B"
        f"{RIGHT}{any_of('FILLER RIGHT')}*{OPTION_WORD}" + before(OPTION),
    )
)
_GAP = (
    any_of(
        "FILLER RIGHT OPTION_WORD ANSWER IS WOULD CONTRASTS CORRECTS CONCLUDES BOX COLON COMMA DASH"
    )
    + "{0,12}"
)
_CUE = either(
    named("declared", _DECLARED),
    named("chosen", either(word("TAKES"), word("LEAVES") + before(_GAP + LETTER))),
    named("boxed", BOX),
)
CLAIM = pattern(
    before(
        named("all", f"{_CUE}{_GAP}{OPTION}") + not_before(IS_ASKED),
    ),
    "So the answer is (B).",
    "I choose option C.",
    "\\boxed{B}",
)
"""Matches a cue ("the answer is", "I choose", a box) and then an option, in a sentence that is not a question."""

LEAD = pattern(
    rf"(?:\"|{named('opener', '.*')}{any_of('COMMA COLON DASH')})?"
    + either(
        any_of(
            "FILLER RIGHT OPTION_WORD JOINS WOULD CONCLUDES NUMBER ANSWER BECAUSE TEXT"
        ),
        after(RIGHT) + UNKNOWN + not_before(none_of("ANSWER OPTION_WORD")),
        after(RIGHT + FILLER) + UNKNOWN + before("$"),
        IS + before(any_of("FILLER RIGHT") + "*" + FILLER),
    )
    + "*",
    "In the short run,",
    "So it is clear that",
)
"""Text that may precede a cue such as "the answer is": a clause with a final comma (`opener`), then filler words."""
NEW_THOUGHT = pattern(
    any_of("CONTRASTS CORRECTS CONCLUDES"),
    "At first I thought A, but",
    "Wait, the",
)
"""A word that begins a new thought. Only the words between the last such word and the option are read."""
# "if", "many", "were it a cat": but not "it was raining, so"
_DOUBTING_WORD = f"{any_of('SUPPOSES REPORTS')}|^{word('WAS')}"
DOUBTS = pattern(_DOUBTING_WORD, "If it barks", "Many students think")
"""Matches a clause that makes a supposition or reports an opinion, so that the sentence is not a declaration."""
LIMITS_OR_DOUBTS = pattern(
    f"^{word('LIMITS')}{not_before(f'{FILLERS}$')}|{_DOUBTING_WORD}",
    "In the short run",
    "If it barks",
)
"""Matches a clause that supposes something, reports others' opinions, or limits the statement to one case."""
SUPPOSITION_BEFORE = pattern(
    any_of("SUPPOSES REPORTS WAS")
    + f"{SAME_SENTENCE}*{any_of(ENDS)}+{SAME_SENTENCE}*$",
    "Suppose it barks. Then the answer",
    "If it barks, it is a pet. It",
)
"""Matches if the sentence before the last one has a supposition or a report."""
TAIL = pattern(
    "|".join(
        (
            "$",
            any_of("BECAUSE COMPARES CONTRASTS"),
            either(
                f'[{letters("COMMA COLON CORRECTS CONCLUDES NUMBER")}\\"-]',
                any_of("FILLER OPTION_WORD RIGHT ANSWER")
                + "+"
                + before(f"$|{any_of('COMMA BECAUSE COLON')}"),
                f"{JOINS}?{FILLERS}{DENIES}{FILLERS}{LETTER}",
            )
            + none_of("SUPPOSES BECAUSE COMPARES CONTRASTS WOULD")
            + "*"
            + either(any_of("BECAUSE COMPARES CONTRASTS WOULD"), "$"),
        )
    ),
    "The answer is B‸ because it barks",
    "The answer is B‸, not A",
)
"""Text that may follow the option in its sentence: the end, a reason, a comparison, or a denial of another option."""
AGAIN = pattern(
    f"{any_of('COMMA FILLER OPTION_WORD')}*{LETTER}"
    f"|{any_of('STOP LINE')}{LETTER}{SENTENCE_ENDS}",
    "The answer is B‸, option B.",
    "The answer is B‸\nB",
)
"""Matches another mention of an option. The caller checks that it is the same option."""
JOINED = pattern(
    "|".join(
        (
            f"{any_of('COMMA FILLER')}*{JOINS}{any_of('FILLER OPTION_WORD COMMA')}*{LETTER}"
            + not_before(any_of("IS DENIES FITS RIGHT")),
            f"{any_of('COMMA COLON')}?{FILLERS}{LETTER}"
            + not_before(none_of(f"{ENDS} COMMA JOINS COLON")),
            JOINS + LETTER,
            f"{CONCLUDES}{any_of('FILLER OPTION_WORD CORRECTS')}*{LETTER}",
            f"{SAME_SENTENCE}*{any_of('STOP LINE')}{LETTER}{SENTENCE_ENDS}",
        )
    ),
    "The answer is B‸ and C.",
    "The answer is B‸, C.",
)
"""Matches a second option next to the first one: "and C" in "B and C". Neither is then chosen."""
ROW = pattern(
    f"{any_of('CONCLUDES COMMA STOP COLON DASH')}*{FILLER}?"
    f"|{any_of('STOP LINE')}?{none_of(f'LETTER {ENDS} COMPARES')}*{JOINS}{none_of(f'LETTER {ENDS} COMPARES')}*",
    "The answer is B‸. The answer is C.",
    "I pick B‸. I also pick C.",
)
"""Matches the words between two declarations in sequence, such as "I also pick" in "I pick B. I also pick C."."""
NUMBERED_HEADING = pattern(
    f"{SENTENCE_BEGINS}{any_of('DASH COMMA')}?{any_of('NUMBER OPTION_WORD')}*{ANSWER}{FILLERS}{LETTER}"
    + any_of("COLON DASH"),
    "Answer A: too broad.",
    "Answer choice B: this fits.",
)
"""Matches a heading that names an option. Several such headings form a list."""
DENIED = pattern(
    any_of("COMMA STOP LINE")
    + "*"
    + either(BECAUSE, f"{CONTRASTS}{COMMA}?{FILLER}+")
    + f"{IS}?{DENIES}"
    + either(
        FILLERS + any_of("RIGHT ANSWER"),
        not_before(none_of(f"{ENDS} COMMA")),
    ),
    "The closest option is B‸, which is not the correct answer.",
    "The best match is B‸. However, this is not correct.",
)
"""Matches a denial directly after a declaration: "The best match is B. However, this is not correct."."""
DENIED_BOX = pattern(
    f"{IS}{FILLER}*{DENIES}",
    "\\boxed{A‸} is not it",
    "\\boxed{B‸} is the wrong one",
)
NEGATED_BEFORE = pattern(
    f"{DENIES}{any_of('IS FILLER OPTION_WORD COMMA')}*$",
    "It is not",
    "not the option,",
)
HEADS_A_DENIAL = pattern(
    any_of("COLON DASH")
    + any_of("FILLER IS")
    + f"*{DENIES}"
    + not_before(FILLERS + LETTER),
    "Answer B‸: this is wrong",
    "Answer B‸: not at all",
)
ANSWER_NUMBER = pattern(
    ANSWER + NUMBER + any_of("COLON DASH"),
    "Answer 1: A",
    "Answer 2 - C",
)

# --- answers without a declaration

_TEXT_BEFORE = f"(?:{none_of('LETTER')}*{any_of(ENDS)})?"
# "A. dog cat" and "A: x, B" begin a list or name something else.
_NO_LIST = not_before(
    rf"\.{UNKNOWN}{any_of('UNKNOWN FILLER LETTER')}{{0,2}}{SENTENCE_ENDS}"
    f"|{any_of('COLON COMMA DASH')}*{UNKNOWN}{{0,2}}{COMMA}?{LETTER}"
)
_AFTER_LEADING_LETTER = either(
    f"{COLON}{not_before(DENIES)}",
    any_of("COMMA DASH") + either(any_of("CORRECTS CONTRASTS FILLER"), STATEMENT_ENDS),
    f"{any_of('COMMA DASH')}?{DENIES}{FILLERS}{LETTER}",
)
LEADING = pattern(
    _TEXT_BEFORE
    + named(
        "head",
        any_of("OPTION_WORD FILLER IS TAKES LEAVES NUMBER RIGHT CONTRASTS COLON DASH")
        + "*",
    )
    + LETTER
    + _NO_LIST
    + either(
        STATEMENT_ENDS,
        f"{any_of('COLON COMMA DASH')}?{any_of('BECAUSE COMPARES')}",
        _AFTER_LEADING_LETTER
        + none_of(f"SUPPOSES REPORTS WAS {ENDS}")
        + f"*(?:{BECAUSE}|{STATEMENT_ENDS})",
    ),
    "B because it barks.",
    "Thanks!\n\nB. dog",
)
"""Matches an answer whose first sentence about an option opens with the option's letter."""
ALONE = pattern(
    _TEXT_BEFORE
    + named(
        "head", any_of("OPTION_WORD FILLER IS TAKES LEAVES NUMBER COLON DASH") + "*"
    )
    + LETTER
    + none_of(f"LETTER DENIES SUPPOSES {ENDS}")
    + f"*(?:{any_of('STOP LINE PARAGRAPH')}{none_of('LETTER')}*)?$",
    "B. dog is the friendliest of all.",
    "B. dog chases its tail. It barks.",
)
"""Matches an answer that opens with an option's letter and text, and names no other option."""
LIST_FOLLOWS = pattern(
    COLON + any_of("LINE PARAGRAPH") + "$",
    "Let me look at them:\n",
    "I see:\n\n",
)
ENTRY = pattern(
    f"{SENTENCE_BEGINS}{any_of('NUMBER OPTION_WORD')}*{LETTER}"
    + not_before(none_of(f"{ENDS} COLON COMMA DASH")),
    "A: no.\nB: yes.",
    "Option C, the bird",
)
"""Matches a sentence or a line that begins with an option, like an entry of a list."""
OPTION_TEXT = pattern(
    not_after(none_of("PARAGRAPH"))
    + named(
        "lead",
        none_of(f"LETTER TEXT DENIES SUPPOSES REPORTS WAS {ENDS}")
        + "*"
        + any_of("IS FITS COLON"),
    )
    + f"?{any_of('FILLER CONCLUDES')}*{TEXT}"
    + either(
        either(
            f"{COMMA}{JOINS}?{FILLERS}{DENIES}", f"{COMMA}?{JOINS}?{FILLERS}{COMPARES}"
        )
        + none_of(f"{ENDS} TEXT")
        + "*",
        f"{COMMA}?{OPTION_WORD}?{LETTER}",
        f"{COMMA}?{FILLER}+",
        f"{COMMA}?{BECAUSE}{none_of(f'LETTER TEXT SUPPOSES DENIES {ENDS}')}*",
    )
    + f"?{STATEMENT_ENDS}",
    "It is a dog.",
    "dog, nothing else",
)
"""Matches a paragraph that is the text of an option, perhaps with words before it that introduce it."""
TEXT_AND_LETTER = pattern(
    TEXT
    + any_of("COMMA COLON DASH")
    + "?"
    + any_of("FILLER OPTION_WORD")
    + "{0,3}"
    + named("letter", LETTER)
    + either(STATEMENT_ENDS, f"{COMMA}?{BECAUSE}"),
    "The animal in it seems to be a dog (B).",
    "What barks is a dog: option B",
)
"""Matches an option's text with a letter after it. The caller checks that both name the same option."""
_SAYS_NO_MORE = none_of(f"LETTER TEXT DENIES SUPPOSES REPORTS WAS CONCLUDES {ENDS}")
CONCLUDED_TEXT = pattern(
    either(
        CONCLUDES + _SAYS_NO_MORE + "{0,20}",
        # "It has to be", "The most likely diagnosis is"
        SENTENCE_BEGINS
        + any_of("FILLER CONCLUDES CORRECTS COMMA")
        + "*"
        + either(
            f"{RIGHT}{any_of('FILLER RIGHT UNKNOWN')}{{1,5}}{any_of('IS COLON')}+",
            f"{FILLER}{any_of('IS LEAVES COLON')}*",
        )
        + FILLER
        + "*",
        # "The sum of 12 and 24 is"
        either("^", after(PARAGRAPH))
        + none_of(f"LETTER DENIES SUPPOSES REPORTS WAS CONTRASTS IS COLON {ENDS}")
        + "+"
        + any_of("IS COLON")
        + FILLER
        + "*",
    )
    + named("text", TEXT)
    # "So a dog it is.", "So a dog, not a cat."
    + f"(?:{FILLER}{IS})?"
    + f"(?:{COMMA}?{JOINS}?{FILLER}*{any_of('DENIES COMPARES')}{FILLER}*{OPTION})?"
    + any_of("STOP LINE")
    + "*$",
    "It barks. Therefore the animal is a dog.",
    "It barks. So a dog it is, not a cat.",
    "So what you hear is a bird",
    "Not a cat, not a bird. It has to be a dog.",
    "A cat is unlikely. The most likely animal is a dog.",
)
"""Matches a last sentence that concludes ("so") and ends in an option's text."""
LEAVES_OPEN = pattern(
    any_of("TEXT QUESTION SUPPOSES REPORTS WAS DECLINES CONTRASTS"),
    "If it barks",
    "It is a dog, but",
)
"""Matches words after "yes" or "no" that make the answer unclear."""
BREAKS_OFF = pattern(
    any_of(ENDS) + none_of(f"LETTER TEXT {ENDS}") + "+$",
    "It is a dog. The second one",
    "It is a dog.\nIt needs",
)
"""Matches an answer of several sentences whose last sentence is incomplete."""
MAY_NOT_ANSWER = pattern(
    any_of("QUESTION SUPPOSES"),
    "Is it a dog?",
    "If it barks, it is a dog",
)
"""Matches a question or a supposition: an answer with one may name an option without choosing it."""
CONCLUSION = pattern(
    SENTENCE_BEGINS
    + either(word("CONCLUDES"), not_after(none_of("PARAGRAPH QUESTION")))
    + f"{SAME_SENTENCE}*{any_of('STOP LETTER TEXT')}{any_of('LINE')}*$",
    "Cats do not bark.\n\n‸It is a dog.",
    "It barks. ‸So a dog is here.",
)
"""Matches the last sentence, if it begins with a word such as "so" or is a separate paragraph."""
OPENS = pattern(
    f"(?:^|{any_of(ENDS)}|{any_of('COLON DASH')}){FILLERS}$",
    "It barks. The",
    "Step 1:",
)
"""Matches the words between the beginning of a sentence and its option."""
SET_ASIDE = pattern(
    f"{after(OPTION)}{COMMA}?{JOINS}?{FILLER}*{any_of('DENIES COMPARES')}"
    + f"(?:{any_of('JOINS COMMA FILLER LIMITS OPTION_WORD')}*{OPTION})+",
    "It is a dog‸, not a cat",
    "It is a dog‸ rather than a cat or a bird",
)
"""Matches options that are rejected after the chosen one: ", not a cat", " rather than a cat"."""
MAY_NOT_TAKE = pattern(
    any_of("DENIES SUPPOSES")
    + f"|{any_of('JOINS COMPARES')}{FILLER}*{OPTION}"
    + f"|{OPTION}{COMMA}?{any_of('JOINS CONTRASTS')}",
    "It is not a dog",
    "It is smaller than a dog",
    "A dog and others",
)
"""Matches words around an option's text that deny it, compare it, or add another
option, so that it may not be chosen.
"""
LIMITED = pattern(
    any_of("IS UNKNOWN"),
    "Option B‸ is smaller",
    "Option B‸ barks",
)
"""Matches the predicate of a statement about an option that does not choose it: "Option B is smaller"."""
DENIES_OR_DOUBTS = pattern(
    any_of("DENIES SUPPOSES REPORTS WAS"),
    "It is not",
    "If it barks, it may be",
)
_IS_CALLED_RIGHT = (
    any_of("IS WOULD")
    + "+"
    + before(
        any_of("FILLER RIGHT WOULD JOINS CONCLUDES") + "*" + any_of("RIGHT ANSWER")
    )
    + either(
        any_of("FILLER RIGHT WOULD ANSWER JOINS CONCLUDES"), after(RIGHT) + UNKNOWN
    )
    + f"*+{OPTION_WORD}?+"
)
VERDICT = pattern(
    # "✅ C", "Correct B"
    either(
        after(any_of(ENDS) + RIGHT),
        after("^" + RIGHT),
    )
    + LETTER
    + not_before(none_of(f"{ENDS} COLON COMMA DASH"))
    # "Daher ist C richtig"
    + f"|{after(any_of('IS CONCLUDES'))}{LETTER}{RIGHT}{STATEMENT_ENDS}"
    + f"|{OPTION}{OPTION_WORD}?"
    + either(
        # "B is the correct answer"
        _IS_CALLED_RIGHT,
        # "B, the correct option"
        f"{BECAUSE}?{FILLER}*{RIGHT}+{FILLER}*{any_of('ANSWER OPTION_WORD')}",
        # "B is the one"
        any_of("IS WOULD")
        + f"{FILLER}+{OPTION_WORD}"
        + before(f"{FILLER}*{FITS}|{any_of('STOP COMMA LINE PARAGRAPH')}|$"),
        # "B fits"
        FITS,
        # "B it is", "A is not the answer; B is."; an output that ends in "B is" was cut
        after(LETTER)
        + either(
            f"{FILLER}{IS}(?:{COMMA}?{WOULD})?{SENTENCE_ENDS}",
            IS + before(any_of("STOP LINE PARAGRAPH")),
        ),
        # "B: correct"
        any_of("COLON DASH")
        + f"*{RIGHT}"
        + not_before(none_of(f"{ENDS} COMMA BECAUSE")),
    )
    + not_before(
        f"{any_of('FILLER OPTION_WORD IS')}*{any_of('LIMITS SUPPOSES REPORTS WAS DENIES')}"
        f"|{COMMA}?{CONTRASTS}|{IS_ASKED}"
    ),
    "B is the correct answer.",
    "C: correct",
)
"""Matches a statement that one option is right."""
_PLAIN_WORD = none_of(
    f"LETTER DENIES SUPPOSES REPORTS CONTRASTS COMPARES WOULD CORRECTS {ENDS}"
)
_PLAIN_WORDS = _PLAIN_WORD + "{0,40}"
PLAIN_WORDS = pattern(_PLAIN_WORD + "+", "Of the four animals", "In this list")
SINGLED_OUT = pattern(
    either(
        # "only B barks", "only option B"
        after(RIGHT) + f"{OPTION_WORD}?{LETTER}" + not_before(JOINS) + _PLAIN_WORDS,
        # "Option B best explains the text"
        after(OPTION_WORD)
        + LETTER
        + before(RIGHT + any_of("UNKNOWN FITS"))
        + _PLAIN_WORDS,
        # "Option B fits the text best"
        after(OPTION_WORD)
        + named("praised", LETTER)
        + not_before(any_of("COLON DASH"))
        + f"{_PLAIN_WORDS}{RIGHT}{_PLAIN_WORDS}",
        # "the most likely animal is B", "So the animal is option B", "I'd say the animal is B"
        any_of("RIGHT CONCLUDES TAKES")
        + any_of("FILLER RIGHT IS UNKNOWN NUMBER TEXT LIMITS OPTION_WORD")
        + f"{{1,8}}{IS}{FILLERS}{LETTER}"
        + f"(?:{any_of('COMMA BECAUSE')}{_PLAIN_WORDS})?",
        # "D is the one I'd choose"
        LETTER + f"{IS}{FILLER}+{OPTION_WORD}{FILLERS}{WOULD}?{word('TAKES')}",
        # "I find C most convincing"
        after(FILLER) + LETTER + f"{RIGHT}+",
    )
    + STATEMENT_ENDS,
    "All of them are pets, but only B barks.",
    "Option B best explains it.",
    "Option B describes it best.",
    "The most likely animal is B.",
    "Therefore the animal that barks is option B.",
    "B is the one I'd pick.",
    "Of these, I find B most convincing.",
)
"""Matches a sentence that singles one option out ("only B") without calling it the answer."""
LAST_VERDICT = pattern(
    f"{CONCLUDES}{COMMA}?{FILLERS}"
    + named("option", LETTER)
    + f"{IS}{any_of('FILLER RIGHT OPTION_WORD')}*{any_of('RIGHT ANSWER OPTION_WORD')}{any_of('STOP LINE')}*$",
    "So a cat is out. So B is correct.",
    "Therefore, C is the answer.",
)
"""Matches a final conclusion that an option is right: "So B is correct."."""
LAST = pattern(
    f"{any_of('FILLER CONTRASTS')}*(?:{COMMA}?{JOINS}?{FILLERS}"
    + either(f"{DENIES}{FILLERS}{LETTER}", COMPARES)
    + f"{SAME_SENTENCE}*)?"
    + f"(?:{any_of('STOP LINE')}*(?:{PARAGRAPH}|$))",
    "So it must be C‸.",
    "So it must be C‸, not A.\n\nI hope this helps!",
)
"""Matches the text between an option and the end of its paragraph, such as "." or ", not A."."""
BESIDE_ANOTHER = pattern(
    f"{not_after(COMMA)}{JOINS}$"
    f"|(?:^|{none_of('DENIES COMPARES IS FILLER OPTION_WORD')})"
    f"{any_of('IS FILLER OPTION_WORD')}*{LETTER}{any_of('COMMA COLON JOINS FILLER OPTION_WORD')}*$",
    "A and",
    "So it is A,",
)
"""Matches words that join an option with the one before it: "A and" in "A and B"."""
REST_AFTER_LAST_LETTER = pattern(
    f"{LETTER}{any_of('FILLER COMMA')}*{JOINS}?{FILLERS}"
    + either(f"{DENIES}{FILLERS}{LETTER}", f"{COMPARES}.*")
    + "$",
    "C, not A",
    "C rather than A",
)
"""Matches a last option that is followed only by rejected ones: "C, not A"."""
LISTS_OPTIONS = pattern(
    f"{OPTION_WORD}{any_of('FILLER IS')}*{COLON}.$",
    "The options are:\n",
    "Options:\n",
)
RETRACTION = pattern(
    f"{DENIES}|{CORRECTS}{COMMA}?{CORRECTS}",
    "Wait, that's not it",
    "No, wait, actually",
)

# --- the text itself, with marks for the options

_RIGHT_WORDS = (
    "yes|correct|true|right|ja|richtig|korrekt|sí|correct[oa]|oui|vrai|sim|certo|vero|да|верно"
    "|正确|正確|对|正しい|맞|✅|✓|✔"
)
_WRONG_WORDS = (
    "no|not|incorrect|false|wrong|nein|falsch|incorrect[oa]|non|faux|não|errad[oa]|falso|нет|неверно"
    "|错误|錯誤|错|誤|不|틀|❌|✗|✘"
)
MARKED_ENTRY = pattern(
    r"(?im)(?:(?<!\w)|(?<=option )|(?<=choice ))"
    + f"{named('name', f'[{LETTER_MARKS}]')}{OWN_TEXT}*+[项項]?+"
    + rf"[^\w{LETTER_MARKS}\n✅✓✔❌✗✘]*+"
    + either(named("yes", _RIGHT_WORDS), named("no", _WRONG_WORDS))
    + "(?![a-zß-ÿа-я])",
    "A. cat: no",
    "| B | Correct |",
)
"""Matches an entry of a list that is marked as right or wrong after its letter: "A: wrong"."""
MARKED_LINE = pattern(
    r"(?im)^[^\w\n]*(?:(?:option|choice) )?"
    + f"{named('name', f'[{LETTER_MARKS}]')}{OWN_TEXT}*"
    + rf"[^{LETTER_MARKS}\n]*[^\w\n✅✓✔❌✗✘]"
    + either(named("yes", _RIGHT_WORDS), named("no", _WRONG_WORDS))
    + r"[\s.!)\]*|]*$",
    "A. It says miaow. ✗",
    "- Option B barks: correct",
)
"""Matches a line of a list that is marked as right or wrong at its end."""
RESULT = pattern(
    r"^(?:(?!,|\band\b).)*=\s?"
    + rf"{named('text', f'[{TEXT_MARKS}]')}{OWN_TEXT}*[\s.)$\\\]]*\Z",
    "3 - 2 = cat.",
    "$ x = y = bird $",
    flags=re.MULTILINE,
)
"""Matches a last line that is one equation whose right side is the text of an option."""
CALLED_FINAL = pattern(
    "final|endgültig|definitiv|最终|最終|최종|окончательн",
    "Final answer: B",
    "最终答案：B",
    flags=re.IGNORECASE,
)
ENDS_ON_LINK_WORD = pattern(
    r"\b(?:the|an?|of|to|and|or|with|for|by|from|that|which|because|he|she|they)\Z",
    "a small animal that",
    "It is one of",
)
"""Matches an output that ends with a link word such as "the". No complete sentence does, so the output was cut off."""
UNFINISHED = pattern(r"[\w,(]$", "a small animal", "small, furry,")
"""Matches an output that does not end with a full stop or another mark of a sentence's end."""
NUMBERED_STEP = pattern(r"\d+[.)]\s+\S", "1. First", "2) Then")
