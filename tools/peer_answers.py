"""Answers of our own making that official code is run on, for `make_peer_fixtures.py`.

They were written before the official verdicts were known; three were replaced afterwards. One had a language that
langdetect guesses differently from run to run, one a target that was no option, and one is read otherwise by assay on
purpose: it stands in docs/conformance.md.
"""

from typing import Any

Instructions = list[tuple[str, dict[str, Any]]]

SHORT = "The sea is calm today. We sail at noon."
IFEVAL: list[tuple[Instructions, list[str]]] = [
    (
        [("punctuation:no_comma", {})],
        [SHORT, "The sea is calm, today.", "", "Well,\nthe sea is calm\nno commas"],
    ),
    (
        [("change_case:english_lowercase", {})],
        [
            "the whole of this sentence is written in small letters",
            "One Capital letter is too many for this",
        ],
    ),
    (
        [("change_case:english_capital", {})],
        ["ALL OF IT IS LOUD AND CLEAR", "Not all of it is loud"],
    ),
    (
        [("combination:two_responses", {})],
        ["one answer\n******\nanother answer", "only one answer here"],
    ),
    (
        [("detectable_content:number_placeholders", {"num_placeholders": 2})],
        ["Dear [name], of [town]", "Dear [name]"],
    ),
    (
        [("detectable_content:postscript", {"postscript_marker": "P.S."})],
        ["Bye.\nP.S. Write soon.", "Bye. Write soon."],
    ),
    (
        [("detectable_content:postscript", {"postscript_marker": "P.P.S"})],
        ["Bye.\nP.P.S Write.", "Bye.\nP.S. Write."],
    ),
    (
        [("detectable_format:constrained_response", {})],
        ["My answer is yes.", "My answer is maybe.", "Yes."],
    ),
    (
        [("detectable_format:json_format", {})],
        ['{"a": [1, 2]}', '```json\n{"a": 1}\n```', "{a: 1}"],
    ),
    (
        [
            (
                "detectable_format:multiple_sections",
                {"section_spliter": "Section", "num_sections": 2},
            )
        ],
        ["Section 1\nfirst\nSection 2\nsecond", "Section 1\nfirst and last"],
    ),
    (
        [("detectable_format:number_bullet_lists", {"num_bullets": 2})],
        ["* one\n* two", "* one\n* two\n* three", "- a\n- b"],
    ),
    (
        [("detectable_format:number_highlighted_sections", {"num_highlights": 2})],
        ["a *red* and a *blue* one", "only *one* here", "**bold** and *slanted*"],
    ),
    (
        [("detectable_format:title", {})],
        ["<<The Sea>>\nIt is calm.", "The Sea\nIt is calm."],
    ),
    (
        [("keywords:existence", {"keywords": ["sea", "noon"]})],
        [SHORT, "The SEA, at Noon.", "Nothing of the kind."],
    ),
    (
        [("keywords:forbidden_words", {"forbidden_words": ["sea", "ship"]})],
        ["We sail at noon.", SHORT, "a seaside town"],
    ),
    (
        [
            (
                "keywords:frequency",
                {"keyword": "sea", "frequency": 2, "relation": "at least"},
            )
        ],
        ["sea and sea", "one sea", "sea, Sea and SEA"],
    ),
    (
        [
            (
                "keywords:frequency",
                {"keyword": "sea", "frequency": 2, "relation": "less than"},
            )
        ],
        ["one sea", "sea and sea"],
    ),
    (
        [
            (
                "keywords:letter_frequency",
                {"letter": "z", "let_frequency": 2, "let_relation": "at least"},
            )
        ],
        ["pizza for the zoo", "only a zebra"],
    ),
    (
        [("language:response_language", {"language": "de"})],
        ["Das Meer ist heute ruhig und wir segeln.", SHORT],
    ),
    (
        [("length_constraints:number_paragraphs", {"num_paragraphs": 2})],
        ["first\n***\nsecond", "first\n\nsecond", "first\n***\nsecond\n***\nthird"],
    ),
    (
        [
            (
                "length_constraints:nth_paragraph_first_word",
                {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "then"},
            )
        ],
        ["We wait.\n\nThen we sail.", "We wait.\n\nLater we sail.", "Then we sail."],
    ),
    (
        [("length_constraints:number_words", {"num_words": 8, "relation": "at least"})],
        [SHORT, "too few words"],
    ),
    (
        [
            (
                "length_constraints:number_words",
                {"num_words": 8, "relation": "less than"},
            )
        ],
        [SHORT, "few words"],
    ),
    (
        [("startend:end_checker", {"end_phrase": "That is all."})],
        ["Some text. That is all.", "That is all. No more."],
    ),
    (
        [("startend:quotation", {})],
        ['"All of it is quoted."', 'Only "this" is quoted.'],
    ),
    (
        [("punctuation:no_comma", {}), ("keywords:existence", {"keywords": ["sea"]})],
        [SHORT, "Hello, you!\nThe sea is calm\nBye, you!", "no water at all"],
    ),
]

SENTENCES: list[tuple[int, str]] = [
    (2, SHORT),
    (3, "Is it calm? It is! Then we sail."),
    (1, "no mark at all, and no capital"),
    (2, "Dr. Brown met Mrs. Green at noon. They left for Washington."),
    (3, "We met at 5 p.m. on Friday. It rained. Nobody minded."),
    (2, "The pump costs 3.50 dollars. A hose costs 12.99 more."),
    (4, "1. Buy bread.\n2. Buy milk."),
    (2, "* buy bread\n* buy milk\n\nThat is all. Thank you."),
    (3, '"Where are we?" she asked. Nobody knew.'),
    (2, 'He said "It is late." Then he left.'),
    (1, "Visit www.example.org for more (or write to me)"),
    (3, "Wait! Do you hear that?! It is the sea."),
    (2, "The U.S. team won. The U.K. team lost."),
    (2, "It ran on ideas, e.g. Steam was one."),
    (2, "**Note:** this is bold. *This* is slanted."),
    (3, "# The Sea\n\nIt is calm today. We sail at noon.\n\nThe End"),
    (1, "It was late ... and nobody came."),
    (2, "P.S. Write soon."),
]
"""How many sentences we took each to have before the official code counted; of one we thought 2."""
CAPITALS: list[tuple[int, str]] = [
    (2, "The SEA is CALM today."),
    (0, "nothing loud here"),
    (1, "I am not shouting."),
    (3, "NASA and ESA met in the USA."),
    (1, "An UP-TO-DATE list."),
    (2, "DON'T do that."),
    (2, "STOP! he cried. GO! she said."),
    (1, "It was 5 PM on the 3rd."),
    (2, "**WARNING** and (DANGER) ahead"),
    (1, "Mp3 files on a CD, mostly."),
    (3, "READ THIS: it matters, OK?"),
    (0, "3.14 and 42 are numbers"),
]
"""The same for words in capitals."""


def counted() -> list[tuple[Instructions, list[str]]]:
    """Each text with demands at its count and one above, so that any other count changes a verdict.

    None asks for 0: the harness drops such an argument and draws another at random.
    """
    sentences = (
        ("length_constraints:number_sentences", "num_sentences", "relation", entry)
        for entry in SENTENCES
    )
    capitals = (
        (
            "change_case:capital_word_frequency",
            "capital_frequency",
            "capital_relation",
            entry,
        )
        for entry in CAPITALS
    )
    return [
        ([(check, {amount: wanted, relation: side})], [text])
        for check, amount, relation, (number, text) in (*sentences, *capitals)
        for wanted in (number, number + 1)
        if wanted
        for side in ("at least", "less than")
    ]


BBH: list[tuple[str, str]] = [
    ("True", "not ( True ) and ( True ) is False. So the answer is True."),
    ("False", "We remember that not is applied first. So the answer is True."),
    ("(B)", "The bird is on the left. So the answer is (B)."),
    ("(B)", "So the answer is (A). No wait. So the answer is (B)."),
    ("(A)", "So the answer is (A).\nThe answer follows."),
    ("24", "There are 4 rows of 6. So the answer is 24."),
    ("24", "There are 4 rows of 6, which makes 24."),
    ("apple pear", "Sorted: apple pear. So the answer is apple pear."),
    ("apple pear", "So the answer is pear apple."),
    ("yes", "So the answer is Yes."),
    ("-10", "So the answer is -10."),
    ("3.5", "So the answer is 3.5."),
]

MMLU_PRO: list[tuple[str, str]] = [
    ("C", "Let's think. The answer is (C)."),
    ("C", "The answer is C"),
    ("C", "The answer is (A). On reflection the answer is (C)."),
    ("D", "Step 1: add. Answer: D"),
    ("D", "Answer: A, or rather Answer: D"),
    ("E", "It can only be E"),
    ("E", "Between B and E I take E."),
    ("B", "Between B and E I take E."),
    ("J", "the answer is (J), the last option"),
    ("A", "the answer is (K)"),
    ("A", "nothing to be read here"),
    ("F", "**Answer:** F"),
    ("G", "the correct answer is: G"),
    ("H", "The answer is (H"),
    ("I", "I do not know."),
]

EXISTS: list[tuple[Any, str]] = [
    (["Jupiter"], "The largest planet is Jupiter."),
    (["Jupiter"], "the largest is jupiter, of course"),
    (["Jupiter", "planet Jupiter"], "It is Saturn."),
    (["Mars"], "Marsupials live in Australia."),
    (["new york"], "He lives in New  York, NY."),
    (["new york"], "A new town near York."),
    ([("red", "blue")], "The flag is blue and red."),
    ([("red", "blue")], "The flag is blue."),
    ([("red", ["blue", "navy"])], "A red flag with navy stars"),
    ([("red", ["blue", "navy"]), "white"], "A white flag"),
    (["北京"], "中国的首都是北京。"),
    (["北京"], "北边的京城"),
    (["3.14"], "Pi is about 3.14159."),
    (["3.14"], "Pi is about 3.14 or so."),
    (["1969"], "In July 1969, two people"),
    (["1969"], "in 19690 steps"),
    (["U.S.A."], "It was the USA"),
    (["don't know"], "I dont know"),
    (["twenty one"], "twenty-one people"),
    (["café"], "a CAFÉ in town"),
    (["apple"], ""),
    (["GPT-4"], "this is gpt-4"),
    (["第二"], "他得了第二名"),
]

CHOICES_ZH: list[tuple[str, str, str]] = [
    ("下列哪个是水果？", "A", "答案是A。"),
    ("下列哪个是水果？", "A", "正确的选项是A，苹果。"),
    ("下列哪个是水果？", "A", "综上所述，答案是B。"),
    ("下列哪个是水果？", "B", "所以应该选B。"),
    ("下列哪个是水果？", "C", "因此，正确选项是C。"),
    ("下列哪个是水果？", "D", "我认为答案应该是D。"),
    ("下列哪个是水果？", "A", "苹果是一种水果。"),
    ("下列哪个是水果？", "A", ""),
    ("下列哪个是水果？", "b", "答案为b"),
    ("下列哪个是水果？", "A", "正确答案是(A)。"),
    ("下列哪个是水果？", "C", "最终答案是：C"),
    ("下列哪个是水果？", "C", "答案：是C"),
    ("以下哪项说法是错误的？", "B", "错误的选项是B。"),
    ("以下哪项说法是错误的？", "C", "所以答案是C。"),
    ("以下哪项说法是错误的？", "D", "综上所述，错误的是D。"),
    ("以下哪项说法不正确？", "A", "选项是A，因为它不正确。"),
]

VLM_OPTIONS: list[dict[str, str]] = [
    {"A": "cat", "B": "dog", "C": "bird", "D": "fish"},
    {"A": "Yes", "B": "No"},
    {"A": "12", "B": "15", "C": "18", "D": "21", "E": "24"},
]
VLM_ANSWERS: list[str] = [
    "B", "B.", "(B)", "[B]", "b", "**B**", "B: dog", "Answer: B", "The answer is B", "The answer is B.",
    "the answer is b.",
    "The correct answer is **B**. Here's why: A is wrong because of reasons and C too.",
    "The answer is A. Later I say the answer is B because of this.", "The answer is E", "the answer is **E**.",
    "The answer  is   *B*", "The answer is\nB", "answer is (B)", "Option B", "I would say B here",
    "B because it barks and has four legs",
    "A dog", "It is a dog", "dog", "DOG", "a cat and a dog", "The dog is chasing the cat", "hotdog", "no dog",
    "No", "no", "Yes, it is",
    "A", "A B", "A, B", "A or B", "Both A and B are right", "A cat is sitting on the mat today", "It must be A",
    "A is what I see in the image",
    "Z", "I choose Z", "Z or B", "", " ", "I don't know", "Cannot determine the answer", "I can't process this file.",
    "Sorry, I can't help with images of people yet.", "I'm sorry, but without the image provided I see no B",
    "Failed to obtain answer via API. dog", "Failed to obtain answer via API. B", "18", "18 apples", "15 or 18",
    "The sum is 15.", "E", "D.",
    "The animal that is shown here in the middle of the picture is a dog, as far as anybody can tell from the fur.",
    "The answer is F", "answer is", "my answer is: B", "correct answer is C!", "{B}", "#B#", "B!", "B?", "B;",
    "<B>", "'B'", "Final: B\n\n", "B\nA",
    "The ANSWER IS d", "First the answer is C, then the answer is D.", "答案是B", "B。", "（B）",
]  # fmt: skip
"""Ours, written before upstream's verdicts were known."""

NUMBERS: list[tuple[str, str, float]] = [
    ("The answer is 5 + 10 = 15.", "15", 1.0),
    ("Answer: 20 x 2 = 40", "40", 1.0),
    ("答案是3", "3", 1.0),
    ("一共有12个苹果", "12", 1.0),
    ("答えは12です", "12", 1.0),
    ("1 234 567", "1234567", 1.0),
    ("The total is $1,234.50.", "1234.5", 1.0),
    ("−5", "-5", 1.0),
    ("1.5e3", "1500", 1.0),
    ("1.5 × 10^3", "1500", 1.0),
    ("1.5 x 10^-3", "0.0015", 1.0),
    ("3/4", "0.75", 1.0),
    ("2 1/2", "2.5", 1.0),
    ("½", "0.5", 1.0),
    ("2½", "2.5", 1.0),
    ("２３", "23", 1.0),
    ("٣", "3", 1.0),
    ("१२", "12", 1.0),
    ("第3个", "3", 1.0),
    ("정답은 12입니다", "12", 1.0),
    ("공 12개", "12", 1.0),
    ("La respuesta es 12.", "12", 1.0),
    ("Die Antwort ist 1.234,5", "1234.5", 1.0),
    ("La réponse est 3,5", "3.5", 1.0),
    ("Ответ: 12", "12", 1.0),
    ("The answer is 12 apples and 3 pears left over", "12", 1.0),
    ("\\boxed{\\frac{3}{4}}", "0.75", 1.0),
    ("\\boxed{3\\frac{1}{4}}", "3.25", 1.0),
    ("\\boxed{1{,}234}", "1234", 1.0),
    ("The answer is -3.", "-3", 1.0),
    ("The answer is (−3).", "-3", 1.0),
    ("5×3=15", "15", 1.0),
    ("12 ÷ 4 = 3", "3", 1.0),
    ("so x = 3, the answer is 3*4 = 12 dollars", "12", 1.0),
    ("Answer: 50%", "50%", 1.0),
    ("answer: 1,000,000", "1000000", 1.0),
    ("共3.5米", "3.5", 1.0),
    ("約１２人", "12", 1.0),
    ("6.02×10²³", "6.02e23", 1.0),
    ("\\(1.2\\times 10^{4}\\)", "12000", 1.0),
    ("答案为：$12$", "12", 1.0),
    ("A: 18", "18", 1.0),
    ("#### 18 apples", "18", 1.0),
    ("The answer is 7 (not 8).", "7", 1.0),
    ("The answer is 15 = 5 + 10", "15", 1.0),
    ("answer is x = 4", "4", 1.0),
    ("The answer is 3.", "3", 1.0),
    ("$-5$", "-5", 1.0),
    ("₹1,23,456", "123456", 1.0),
    ("12,345,678.9", "12345678.9", 1.0),
    ("The answer is 2 + 3 = 5 apples.", "5", 1.0),
    ("Answer: 5 apples + 10 apples = 15 apples", "15", 1.0),
    ("The answer is 10 - 4 = 6, so 6.", "6", 1.0),
    ("The answer is 1 + 2 + 3 = 3 + 3 = 6", "6", 1.0),
    ("答案是5+10=15。", "15", 1.0),
    ("The answer is 7 because 3 + 5 = 8 is too large.", "7", 1.0),
    ("The answer is 4 since 2 * 2 = 4.", "4", 1.0),
    ("Answer: 24/2 = 12", "12", 1.0),
    ("The answer is $3 \\times 4 = 12$.", "12", 1.0),
    ("area = 12 m²", "12", 1.0),
    ("5 m/s^2", "5", 1.0),
    ("The answer is 10^3", "1000", 1.0),
    ("答案：３／４", "0.75", 1.0),
    ("The answer is 3 (2+1=3).", "3", 1.0),
    ("The answer is 42. Check: 40 + 2 = 42", "42", 1.0),
    ("The answer is 42.\nCheck: 40 + 3 = 43", "42", 1.0),
    ("总共是 5+7＝12 个", "12", 1.0),
    ("答えは 3 × 4 = 12 個です", "12", 1.0),
    ("A resposta é 12,5.", "12.5", 1.0),
    ("La respuesta correcta es 7.", "7", 1.0),
    ("Réponse : 1 234", "1234", 1.0),
    ("The answer is 18% of 50 = 9", "9", 1.0),
    ("The answer is 5 + 10 = 15.", "5", 0.0),
    ("答案是3", "4", 0.0),
    ("The answer is 7 because 3 + 5 = 8 is too large.", "8", 0.0),
    ("1.5 × 10^3", "3", 0.0),
    ("½", "1", 0.0),
    ("La réponse est 3,5", "5", 0.0),
    ("The answer is 15 = 5 + 10", "10", 0.0),
]
"""An answer, a target, and whether a person calls it right."""
FLOATS: list[tuple[float, str, float]] = [
    *((3.0, said, 1.0) for said in ("3", "3.0", " 3 ", "3\n")), *((3.0, said, 0.0) for said in ("3.5", "30", "",
    "03", "three")),
    *((-2.0, said, 1.0) for said in ("-2", "-2.0")), *((-2.0, said, 0.0) for said in ("2", "2.0")),
    *((0.5, said, 1.0) for said in ("0.5",)), *((0.5, said, 0.0) for said in ("0", "1", ".5")),
    *((0.0, said, 1.0) for said in ("0", "0.0")), *((1000.0, said, 1.0) for said in ("1000", "1000.0")),
    (1000.0, "100", 0.0),
]  # fmt: skip
"""A number as a table holds it, an answer, and whether it is the same number in plain digits."""
NUMBER_WORDS: tuple[tuple[str, str, float], ...] = (
    ("The answer is twelve.", "12", 1.0), ("Twenty-one", "21", 1.0), ("one hundred and five", "105", 1.0),
    ("The answer is two thousand and twelve.", "2012", 1.0), ("three million, four hundred thousand", "3400000", 1.0),
    ("The answer is one.", "1", 1.0), ("one", "1", 1.0), ("Answer: zero", "0", 1.0), ("nineteen apples", "19", 1.0),
    ("a hundred", "100", 1.0), ("The answer is ninety-nine", "99", 1.0), ("fifteen hundred", "1500", 1.0),
    ("答案是二十五", "25", 1.0), ("一百零五", "105", 1.0), ("两万", "20000", 1.0), ("二〇二四", "2024", 1.0),
    ("答案是十二个", "12", 1.0), ("三千五百", "3500", 1.0), ("一亿", "100000000", 1.0), ("答案是一", "1", 1.0),
    ("Die Antwort ist zwölf.", "12", 1.0), ("La réponse est sept.", "7", 1.0), ("La respuesta es nueve.", "9", 1.0),
    ("A resposta é três.", "3", 1.0), ("Ответ: пять", "5", 1.0), ("fünf", "5", 1.0), ("onze", "11", 1.0),
    ("The answer is three million.", "3000000", 1.0), ("3 million", "3000000", 1.0), ("2.5k", "2500", 1.0),
    ("3万", "30000", 1.0), ("1.5亿", "150000000", 1.0), ("5만", "50000", 1.0), ("1.200 €", "1200", 1.0),
    ("1.200 m", "1.2", 1.0), ("x = 10 or so; 2x = 20 confirms it", "10", 1.0), ("The answer is twelve.", "13", 0.0),
    ("二十五", "205", 0.0), ("one hundred and five", "1005", 0.0), ("两万", "2000", 0.0),
    ("fifteen hundred", "115", 0.0), ("1.200 €", "1.2", 0.0),
)  # fmt: skip
"""Numbers in words, and forms that a sign or a scale decides: answer, target, score."""
