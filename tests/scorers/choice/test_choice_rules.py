"""Letter extraction against the labelled corpus, real outputs, random text and hostile text."""

import importlib
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from each_row import each
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scorers.choice.choice_rules import extract_choice

HERE = Path(__file__).resolve().parent
CORPUS = [
    json.loads(line)
    for line in (HERE / "corpus" / "choices.jsonl").read_text("utf-8").split("\n")
    if line
]
MMLU_PRO = HERE.parents[2].parent / "shared" / "data" / "mmlu_pro" / "slice.jsonl"
PETS = {"A": "cat", "B": "dog", "C": "bird", "D": "a fish"}

# `pred` holds a letter for these although the output names several options (it keeps the first) or none.
SEVERAL_NAMED = {4709, 6695}
NO_ANSWER_GIVEN = {
    2959,
    3080,
    3288,
    3706,
    3714,
    3826,
    3845,
    4521,
    6583,
    6758,
    6792,
    6933,
    6988,
    7273,
    7763,
    7772,
    7854,
    8511,
    10416,
    10535,
    10698,
    10700,
    10724,
    10744,
    11257,
    11543,
    11817,
    12135,
}


def test_no_labelled_output_gives_another_letter_than_its_own() -> None:
    found = {row["id"]: extract_choice(row["output"], row["options"]) for row in CORPUS}

    wrong = {
        row["id"]: found[row["id"]]
        for row in CORPUS
        if found[row["id"]].answer not in (None, row["expected"])
    }
    assert wrong == {}


def test_nearly_every_labelled_output_that_takes_an_option_is_read() -> None:
    takes_one = [row for row in CORPUS if row["expected"]]

    unread = [
        row["id"]
        for row in takes_one
        if extract_choice(row["output"], row["options"]).answer is None
    ]

    assert len(unread) <= 0.11 * len(takes_one), unread


def test_labelled_outputs_that_take_no_option_have_their_outcome() -> None:
    rows = [row for row in CORPUS if row["expected"] is None]

    outcomes = {
        row["id"]: extract_choice(row["output"], row["options"]).outcome for row in rows
    }

    assert outcomes == {row["id"]: row["outcome"] for row in rows}


def test_the_corpus_is_large_and_opens_with_the_table_of_metrics() -> None:
    sources = Counter(row["source"] for row in CORPUS)

    assert len(CORPUS) >= 260
    assert [row["source"] for row in CORPUS[:15]] == ["metrics-2.1"] * 15
    assert sources["handwritten-zh"] >= 60
    assert len({row["id"] for row in CORPUS}) == len(CORPUS)


def attacks() -> Iterator[Any]:
    sys.path.insert(0, str(HERE.parents[2] / "bench"))
    rounds = importlib.import_module("extraction_attacks")
    # A part: each phrasing still meets two of its sets of options or more; `bench/extraction.py` tries all.
    parts = (
        itertools.islice(rounds.attacks(), 0, None, 21),
        itertools.islice(rounds.answers(), 0, None, 3),
    )
    return itertools.chain(*parts)


def test_every_round_of_attacks_gives_at_most_one_wrong_letter_in_a_hundred_and_three_unparsed() -> (
    None
):
    verdicts: dict[str, Counter[str]] = {}
    for attack in attacks():
        found = extract_choice(attack.text, attack.options, is_cut=attack.is_cut).answer
        verdict = (
            "right"
            if found == attack.expected
            else "unparsed"
            if found is None
            else "wrong"
        )
        verdicts.setdefault(attack.half, Counter())[verdict] += 1

    # Written in slang and idioms, and in words as free as the writers could find.
    most = {"twelfth": 0.07, "fourteenth": 0.32, "fifteenth": 0.15, "sixteenth": 0.04}
    assert list(verdicts)[-3:] == ["fifteenth", "sixteenth", "seventeenth"]
    assert len(verdicts) == 20
    assert all(one["wrong"] <= 0.01 * one.total() for one in verdicts.values()), (
        verdicts
    )
    assert all(
        one["unparsed"] <= most.get(half, 0.03) * one.total()
        for half, one in verdicts.items()
    ), verdicts


@pytest.mark.parametrize(
    "half",
    [
        "A. cat is the first option. Let us look at it closely, since it may",
        "The answer is A",
        "Let's check each option:\n\nA. cat",
        "So the cat",
        "It is a dog",
    ],
)
def test_an_answer_cut_by_the_token_limit_gives_only_what_it_declared(
    half: str,
) -> None:
    found = extract_choice(half, PETS, is_cut=True)

    assert found.answer is None


@pytest.mark.parametrize(
    "text",
    [
        "B",
        "(B)",
        "B\n",
        "The answer is (B). The reason is th",
        "\\boxed{B} and this was found by",
        "B. dog",
    ],
)
def test_a_cut_answer_keeps_the_letter_it_declared_or_consists_of(text: str) -> None:
    found = extract_choice(text, PETS, is_cut=True)

    assert found.answer == "B"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is B. In the end the answer is C.", "B"),
        ("The answer is B. Wait, the answer is C.", "C"),
        ("The answer is B. Final answer: C", "C"),
        ("The answer is B. The answer is C.", None),
        ("The answer is B. Wait, that's wrong.", None),
        ("The answer is B. Wait, let me check the rest. Yes.", "B"),
    ],
)
def test_the_first_declaration_counts_unless_it_is_corrected_or_another_is_final(
    text: str, answer: str | None
) -> None:
    assert extract_choice(text, PETS).answer == answer


@pytest.mark.parametrize(
    "text",
    [
        "My neighbour swears the answer is B.",
        "Rumour has it that the answer is B.",
        "On Mars, the answer is B; on Earth, it is C.",
        "In the previous edition the answer is B.",
        "The answer is B in the German version.",
        "The usual answer is B.",
        "The answer is B, if you ask my uncle.",
        "I nearly picked B.",
        "Suppose it barks. Then the answer is B.",
        "Imagine a dog. The answer would be B.",
        "Half the class chose B.",
        "Mi tío jura que la respuesta es B.",
        "Auf dem Mars ist die Antwort B.",
        "听说答案是B。",
    ],
)
def test_a_sentence_with_a_word_that_no_table_knows_declares_nothing(text: str) -> None:
    assert extract_choice(text, PETS).answer is None


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for the question! I'll think first.\n\nB. The other animals do not bark.\n\nI hope this helps!",
        "Dogs bark.\n\n**dog**\n\nGood luck!",
        "The answer is A. Wait, no, it is B.\n\nLet me know if you need more.",
        "**Answer: B** If cats were asked for, it would be A.",
        "So A is correct. But wait: it barks. So B is correct.",
        "### A) cat\nDoes not fit.\n\n### C) bird\nDoes not fit.\n\n### B) dog\nFits.\n\n### Verdict\n**B**",
    ],
)
def test_a_preface_a_closing_line_and_headings_do_not_hide_the_answer(
    text: str,
) -> None:
    assert extract_choice(text, PETS).answer == "B"


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{B \\text{ and } C}",
        "I pick B. I also pick C.",
        "B) dog and C) bird",
        "B; C",
        "Answer: B & C",
    ],
)
def test_two_options_named_together_are_none(text: str) -> None:
    assert extract_choice(text, PETS).answer is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "Answer choice A: Too broad.\nAnswer choice B: This fits.\n\nTherefore, the correct answer is B.",
            "B",
        ),
        ("答案A：错误。答案B：正确。所以选B。", "B"),
        ("Antwort A: falsch. Antwort B: richtig.", "B"),
        ("We take A from the bag, leaving C. The answer is B.", "B"),
        ("A ❌ B ✅ C ❌ D ❌", "B"),
        ("A: ❌, B: ✅, C: ❌", "B"),
        ("The result is cat. But it barks, so the answer is dog.", "B"),
        ("(A) ✗ (B) ✓ (C) ✗ (D) ✗", "B"),
        ("The answer is \\boxed{B}, not \\boxed{A}.", "B"),
        ("Not \\boxed{A}, but \\boxed{B}.", "B"),
        ("Answer: A → B (corrected)", "B"),
        ("Example: the answer is A. Now ours: the answer is B.", "B"),
    ],
)
def test_headings_steps_marks_and_denied_boxes_give_no_wrong_letter(
    text: str, answer: str
) -> None:
    assert extract_choice(text, PETS).answer in (answer, None)


LETTERS_ONLY = dict.fromkeys("ABCD", "")
TEN_LETTERS = dict.fromkeys("ABCDEFGHIJ", "")
LENGTHS = {"A": "12 m", "B": "15 m", "C": "18 m", "D": "21 m"}


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{C}\n\nThe final answer is \\boxed{A}.",
        "\\boxed{C}\n\nThe final answer is A.",
        "\\boxed{C}\n\nFinal answer: A",
        "<answer>C</answer>\n\nFinal answer: A",
        "<answer>C</answer>\n\n最终答案：A",
        "<answer>C</answer> My final answer is (A)",
        "<answer>C</answer> The final answer is A.",
        "\\boxed{C} The final answer is A.",
        "$\\boxed{C}$ Final choice: A",
        '{"answer": "C"}\n\nFinal answer: A',
        "\\boxed{C}\n\nSo my final choice is (A).",
        "The answer is (C). Let me re-read the question. It asks for the least. The answer is (A).",
        "The answer is C. Let me look at the question again. The answer is A.",
    ],
)
def test_an_answer_called_final_or_read_again_replaces_a_box_or_an_earlier_answer(
    text: str,
) -> None:
    assert extract_choice(text, LETTERS_ONLY).answer == "A"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Let x be the side; then we have $a", LETTERS_ONLY),
        ("Hence $c", LETTERS_ONLY),
        ("Let $A_1, A_2, A", LETTERS_ONLY),
        ("Therefore a = b", LETTERS_ONLY),
        ("So we get \\(a", LENGTHS),
        ("so we get a", LETTERS_ONLY),
        ("The mass is then = $10^{-12}$ g", TEN_LETTERS),
        ("so $E = 3.2 \\times 10^{-19}$ J", TEN_LETTERS),
        ("The charge is $3 \\times 10^{-6} \\, \\text{C}", LETTERS_ONLY),
        ("a) Given binary number 1010, we convert it to decimal", LENGTHS),
        ("(a) Given the data, we compute the mean", LENGTHS),
        ("Let me consider each.\n\nA. cat: a small animal that", PETS),
        ("A. cat: a small animal", PETS),
        ("Option A: cat. It is a small animal that", PETS),
        ("Answer 1: A\nAnswer 2: C", LETTERS_ONLY),
        ("The complement is 9990.\n\n(b)", LETTERS_ONLY),
        ("The ratio is not equal to 1. Option (D) is", LETTERS_ONLY),
        ("It depends on the diameter.\n(D", LETTERS_ONLY),
        ("The closest option is 15 m, which is not the correct answer.", LENGTHS),
        ("The closest option is (B) 15 m. However, this is not correct.", LENGTHS),
        ("The best match is B, but that is wrong.", LETTERS_ONLY),
    ],
)
def test_formulas_units_cut_lists_and_denied_answers_name_no_option(
    text: str, options: dict[str, str]
) -> None:
    assert extract_choice(text, options).answer is None


def test_a_list_of_correct_answers_does_not_hide_the_answer_that_follows() -> None:
    text = "The correct answers are (a) 4 and (b) 8.\n\nThe answer is (D)."

    assert extract_choice(text, LETTERS_ONLY).answer == "D"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("In the short run, the answer is B.", PETS),
        ("Assuming no friction, the answer is B.", PETS),
        ("Under common law, the correct answer is B.", PETS),
        ("For this reaction, the correct option is B, because it is fast.", PETS),
        ("A. no\nB. yes\nC. no\nD. no", LETTERS_ONLY),
        ("A. cat: no\nB. dog: yes\nC. bird: no\nD. a fish: no", PETS),
        ("A. Incorrect\nB. Correct\nC. Incorrect\nD. Incorrect", LETTERS_ONLY),
        ("A: Incorrect, it meows.\nB: Correct, it barks.\nC: Incorrect.", PETS),
        ("| A | Incorrect |\n| B | Correct |\n| C | Incorrect |", LETTERS_ONLY),
        ("(A) No (B) Yes (C) No (D) No", LETTERS_ONLY),
        ("A：错误\nB：正确\nC：错误\nD：错误", LETTERS_ONLY),
        ("Ich würde B wählen, da es am besten passt.", LETTERS_ONLY),
        ("Meine endgültige Antwort lautet B.", LETTERS_ONLY),
        ("Je choisirais B.", LETTERS_ONLY),
        ("正解はBになります。", LETTERS_ONLY),
        ("正解はBとなります。", LETTERS_ONLY),
        ("\\boxed{15}, i.e. option B", LETTERS_ONLY),
        ("\\boxed{15 m}, i.e. option B", LENGTHS),
        ("It is a dog, obviously.", PETS),
    ],
)
def test_clear_answers_with_a_condition_a_marked_list_or_in_other_languages_are_read(
    text: str, options: dict[str, str]
) -> None:
    assert extract_choice(text, options).answer == "B"


@pytest.mark.parametrize(
    "text",
    [
        "Under common law, the answer is B. Under the code, it is C.",
        "Assuming no friction, the answer would be B.",
        "If there is no friction, the answer is B.",
        "A. Correct\nB. Incorrect\nC. Correct\nD. Incorrect",
    ],
)
def test_conditions_that_decide_and_lists_with_two_right_entries_give_no_letter(
    text: str,
) -> None:
    assert extract_choice(text, LETTERS_ONLY).answer is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('{"respuesta": "B", "respuesta_incorrecta": "A"}', "B"),
        ('{"wrong_answer": "A", "answer": "B"}', "B"),
        ('{"wrong_answer": "B"}', None),
        ('{"错误答案": "B"}', None),
        ('{"答案": "A或B"}', None),
        ("Bạn hãy xem lại. Đáp án: C", "C"),
        ("A seçeneği doğrudur.", "A"),
        ("A seçeneği doğru değildir.", None),
        ("ข้อ A ผิด ข้อ B ถูก", None),
        ("Jawaban yang salah: B", None),
        ("Salah satu jawaban adalah B.", None),
        ("答案由A改为B。", None),
    ],
)
def test_answers_of_several_languages_with_right_and_wrong_options(
    text: str, letter: str | None
) -> None:
    assert extract_choice(text, LETTERS_ONLY).answer == letter


@pytest.mark.parametrize(
    ("name", "count", "unparsed_share"),
    [
        ("fresh", 321, 0.02),
        ("audit", 338, 0.07),
        ("styles", 325, 0.04),
        ("mixed", 325, 0.06),
        ("texts", 120, 0.06),
        ("recent", 319, 0.06),
        ("later", 115, 0.04),
        ("everyday", 102, 0.03),
        ("varied", 99, 0.05),
        ("unseen", 247, 0.049),
        ("general", 300, 0.047),
    ],
)
def test_answers_written_before_the_rules_were_run_on_them_are_read(
    name: str, count: int, unparsed_share: float
) -> None:
    lines = (HERE / "corpus" / f"{name}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    wrong, unparsed = [], []
    for row in rows:
        is_cut = row.get("is_cut", False)
        result = extract_choice(row["output"], row["options"], is_cut=is_cut)
        if result.answer is None and row["expected"]:
            unparsed.append(row["id"])
        elif result.answer != row["expected"]:
            wrong.append(row["id"])

    assert len(rows) == count
    assert wrong == []
    assert len(unparsed) <= unparsed_share * len(rows), unparsed


def test_usual_answers_by_a_writer_who_did_not_know_the_rules_are_read():
    lines = (HERE / "corpus" / "usual.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    results = {
        row["id"]: (row["expected"], extract_choice(row["output"], row["options"]))
        for row in rows
    }
    unparsed = [
        name
        for name, (expected, result) in results.items()
        if expected and result.answer is None
    ]
    wrong = [
        name
        for name, (expected, result) in results.items()
        if result.answer not in (None, expected)
    ]

    assert len(results) == 300
    # An answer that the token limit cut within a list of options; nothing in it says so.
    assert wrong == ["usual-176"]
    assert len(unparsed) <= 0.06 * 300, unparsed


@pytest.mark.parametrize(
    "text",
    [
        r"The correct answer is \(B\).",
        r"So the correct option is \(\mathbf{B}\).",
        r"\[B\]",
        r"The answer is \(\boxed{B}\).",
        "A. no – not a match.\nC. Some hold that it is true.\n\nB",
    ],
)
def test_letters_between_marks_of_formulas_and_on_a_line_of_their_own_are_read(text):
    assert extract_choice(text, LETTERS_ONLY).answer == "B"


def test_conclusions_in_many_words_and_languages_are_read():
    lines = (HERE / "corpus" / "conclusions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    results = {
        row["id"]: extract_choice(row["output"], row["options"]).answer for row in rows
    }

    wrong = [
        row["id"] for row in rows if results[row["id"]] not in (None, row["expected"])
    ]
    unparsed = [
        row["id"] for row in rows if row["expected"] and results[row["id"]] is None
    ]

    assert len(rows) == 164
    # "So the first step gives 12." is read as the option 12.
    assert wrong == ["conclusions-096"]
    assert len(unparsed) <= 7, unparsed


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("It is not A but D.", "D"),
        ("Not Paris, as many think, but Rome.", "B"),
        ("The answer isn't A, it's C.", "C"),
        ("It is not A but it is not B either.", None),
        ("Not only B but C and D as well.", None),
        ("Hence C. If you think A is right, recall that Paris is in France.", "C"),
        ("So it could be B. If the text had said north, A would be right.", None),
        ("The answer is A. Let me check. So B is my final answer.", "B"),
        ("The answer is A. So D is correct.", None),
        ("The answer is A. Some would say that B is my final answer, but no.", "A"),
        ("It was long ago, and the answer is D.", "D"),
        ("Were it hotter, the answer would be C.", None),
        ("That leaves C.", "C"),
        ("That leaves Rome. We now add the first number", None),
        ("Of the four cities, only D lies in Switzerland.", "D"),
        ("Only option B mentions Italy. Let me check the others.", None),
        ("Only B can be excluded safely.", None),
        ("Everyone says only B is right.", None),
        ("Option C explains the text best.", "C"),
        ("Option A is the most expensive. Option B is the most popular.", None),
        ("The most likely place is option D.", "D"),
        ("So the midpoint of AB is C.", None),
        ("Of these, I find B most convincing.", "B"),
        ("I find B most confusing.", None),
        ("The correct option is the third one.", "C"),
        ("The last option is right.", "D"),
        ("Option 2", "B"),
        ("Option 5", None),
        ("2", "B"),
        ("The first option is wrong, and so is the second one.", None),
        ("The first letter is right.", None),
        ("Answer: the first and the third option.", None),
        ("Answer: the first option or the third one.", None),
        ("A drug of first choice is Rome.", "B"),
        ("Paris (A) lies in France. Therefore it is Bern.", "D"),
        ("So Bern it is.", "D"),
        ("A. In France ✗\nB. In Italy ✗\nC. In Norway ✓\nD. Elsewhere ✗", "C"),
        ("A. In France ✗\nB. In Italy ✓\nC. In Norway ✓\nD. Elsewhere ✗", None),
    ],
)
def test_conclusions_and_remarks_about_options_that_are_not_taken(
    text: str, letter: str | None
) -> None:
    assert extract_choice(text, CITIES).answer == letter


def test_a_whole_answer_may_be_the_text_of_an_option_in_one_letter() -> None:
    roman = {"A": "I", "B": "II", "C": "III", "D": "IV"}
    bases = {"A": "C", "B": "A", "C": "G", "D": "T"}

    assert extract_choice("I.", roman).answer == "A"
    assert extract_choice("T", bases).answer == "D"
    assert extract_choice("A", bases).answer == "A"


def test_a_root_may_be_written_with_or_without_braces() -> None:
    options = {"A": "$\\sqrt{3}$", "B": "$2\\sqrt{3}$"}

    assert extract_choice(r"The length is $\boxed{2\sqrt3}$.", options).answer == "B"
    assert extract_choice(r"The length is $\boxed{5\sqrt3}$.", options).answer is None


def test_few_answers_that_talk_about_an_option_without_taking_it_give_its_letter():
    lines = (HERE / "corpus" / "undecided.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]

    read = [
        row["id"]
        for row in rows
        if extract_choice(row["output"], row["options"]).answer
    ]

    assert len(rows) == 108
    assert len(read) <= 12, read


CITIES = {"A": "Paris", "B": "Rome", "C": "Oslo", "D": "Bern"}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The treaty was signed in Rome.", "B"),
        ("Rome has seven hills.", "B"),
        ("Not Paris, not Oslo. It has to be Bern.", "D"),
        ("Paris and Oslo are ruled out. The most likely place is Bern.", "D"),
        ("Paris. Actually, it's Rome.", "B"),
        ("Paris. Wait, that is not it.", None),
        ("It rained in Oslo. Therefore Bern won the match.", "D"),
        ("It is Rome because the river is the Tiber.", "B"),
        ("Rome (option B), as the river is the Tiber.", "B"),
        ("Daher ist C richtig.", "C"),
        ("Doğru cevap C'dir.", "C"),
        ("Ce n'est ni A, ni D. Il s'agit de B : Rome.", "B"),
        *(
            (text, None)
            for text in (
                "The question mentions Paris.",
                "Let me think about Paris first.",
                "We can rule out Paris.",
                "Eliminate Paris.",
                "All but Rome.",
                "So we discard Rome.",
                "Therefore Rome drops out.",
                "Everything besides Paris.",
                "Paris is a candidate.",
                "Is it Paris?",
                "Paris and others.",
                "It is smaller, unlike Rome.",
                "Some people think of Rome.",
                "Rome lacks a harbour.",
                "This happened in 44 B.C. in Rome",
            )
        ),
    ],
)
def test_an_option_that_is_named_by_its_text_alone_is_read_where_it_is_taken(
    text: str, letter: str | None
) -> None:
    assert extract_choice(text, CITIES).answer == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Yes, it is possible, because the intervals overlap.", "A"),
        ("No. There is not a single source for it.", "B"),
        ("No – the text says the opposite.", "B"),
        ("Yes, but only if it rains.", None),
        ("Yes or no?", None),
        ("Yes, no, maybe.", None),
        ("Yes. Wait, it says the opposite.", None),
    ],
)
def test_an_answer_that_opens_with_yes_or_no_takes_it(
    text: str, letter: str | None
) -> None:
    options = {"A": "Yes", "B": "No", "C": "Maybe"}

    assert extract_choice(text, options).answer == letter


@pytest.mark.parametrize(
    ("options", "opening", "negation"),
    [
        (("نعم", "لا"), "لا، النص يقول غير ذلك.", "لا يمكنني تحديد الإجابة."),
        (("हाँ", "नहीं"), "नहीं, पाठ कुछ और कहता है।", "यह नहीं बताया जा सकता।"),
        (("Да", "Нет"), "Нет, в тексте другое.", "Нет данных для ответа."),
        (("Tak", "Nie"), "Nie, tekst mówi coś innego.", "Nie można tego ustalić."),
        (("Ya", "Tidak"), "Tidak, teks berbeda.", "Tidak dapat ditentukan."),
        (("Có", "Không"), "Không, văn bản nói khác.", "Không thể xác định."),
    ],
)
def test_a_word_for_no_that_also_negates_is_an_answer_only_before_a_sign(
    options: tuple[str, str], opening: str, negation: str
) -> None:
    yes_or_no = dict(zip("AB", options, strict=True))

    assert extract_choice(opening, yes_or_no).answer == "B"
    assert extract_choice(negation, yes_or_no).answer is None


@pytest.mark.parametrize(
    ("dog", "stated", "denied"),
    [
        ("كلب", "هذا كلب.", "هذا ليس كلب."),
        ("कुत्ता", "यह कुत्ता है।", "यह कुत्ता नहीं है।"),
        ("pies", "To jest pies.", "To nie jest pies."),
        ("anjing", "Ini anjing.", "Ini bukan anjing."),
        ("köpek", "Bu bir köpek.", "Bu bir köpek değil."),
        ("con chó", "Đây là con chó.", "Đây không phải là con chó."),
        ("hond", "Het is een hond.", "Het is geen hond."),
        ("hund", "Det är en hund.", "Det är inte en hund."),
        ("собаки", "На снимке собаки.", "Собаки на снимке нет."),
    ],
)
def test_an_option_that_a_sentence_denies_is_not_taken_in_any_language(
    dog: str, stated: str, denied: str
) -> None:
    options = {"A": "cat", "B": dog}

    assert extract_choice(stated, options).answer == "B"
    assert extract_choice(denied, options).answer is None


def test_a_common_word_a_part_of_a_word_and_a_number_among_others_are_not_taken() -> (
    None
):
    directions = {"A": "left", "B": "right"}
    animals = {"A": "猫", "B": "狗"}
    numbers = {"A": "3", "B": "4"}

    assert extract_choice("OK, right, here we go.", directions).answer is None
    assert extract_choice("图中是熊猫。", animals).answer is None
    assert extract_choice("With 3 of them 7 remain.", numbers).answer is None
    assert extract_choice("The equation has 3 roots.", numbers).answer == "A"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("I'm not entirely sure, but I think it's a dog (B).", "B"),
        ("What barks and runs is a dog: option B.", "B"),
        ("Cats meow. It barks, therefore the animal is a dog.", "B"),
        ("It could be a dog (B).", None),
        ("It is not a dog (B).", None),
        ("It barks like a dog (C).", None),
        ("It is a dog (B) or a bird (C).", None),
        ("If it barks, the animal is a dog (B).", None),
        ("It barks. Therefore it is not a dog.", None),
        ("It is a cat (A). Wait, it barks.", None),
        ("B is my answer... scratch that, it flies: C.", None),
    ],
)
def test_a_text_with_its_letter_or_at_the_end_of_a_conclusion_is_read(
    text: str, letter: str | None
) -> None:
    options = {"A": "cat", "B": "dog", "C": "bird", "D": "a fish"}

    assert extract_choice(text, options).answer == letter


def test_an_option_whose_text_begins_with_initials_is_read_as_a_text() -> None:
    writers = {
        "A": "Jules Verne",
        "B": "H. G. Wells",
        "G": "a Roman",
        "H": "Mary Shelley",
    }

    assert extract_choice("H. G. Wells", writers).answer == "B"


def test_the_bench_reads_published_outputs_of_both_kinds(tmp_path: Path) -> None:
    sys.path.insert(0, str(HERE.parents[2] / "bench"))
    published = importlib.import_module("extraction_published").published
    rows = [
        {"options": ["cat", "dog"], "generated_text": "So the answer is (B)."},
        {"options": ["cat"], "pred": "A"},
    ]
    (tmp_path / "mmlu.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    outputs = [
        {
            "input": "Q: x\n(A) z\nQ: y\n(A) cat\n(B) dog",
            "prediction": "None",
            "target": "(B)",
        }
    ]
    (tmp_path / "bbh.json").write_text(json.dumps({"outputs": outputs}), "utf-8")

    found = [*published(tmp_path / "mmlu.jsonl"), *published(tmp_path / "bbh.json")]

    assert [(one.declared, one.options) for one in found] == [
        ("B", {"A": "cat", "B": "dog"}),
        (None, {"A": "cat", "B": "dog"}),
    ]


@pytest.mark.skipif(
    not MMLU_PRO.exists(), reason="shared/data/mmlu_pro is not beside this checkout"
)
def test_real_outputs_agree_with_the_published_letters_but_for_the_explained_rows() -> (
    None
):
    rows = [
        json.loads(line) for line in MMLU_PRO.read_text("utf-8").split("\n") if line
    ]

    found = {
        row["question_id"]: extract_choice(
            row["generated_text"], dict(zip("ABCDEFGHIJ", row["options"], strict=False))
        )
        for row in rows
    }

    differing = {
        row["question_id"]
        for row in rows
        if found[row["question_id"]].answer != row["pred"]
    }
    assert differing == SEVERAL_NAMED | NO_ANSWER_GIVEN
    assert all(found[key].outcome == "unparsed" for key in differing)
    assert {found[key].rule for key in SEVERAL_NAMED} == {"ambiguous"}


@each("letter", "ABCD")
@each(
    "form",
    [
        "The answer is {}.",
        "Answer: ({})",
        "答案是{}。",
        "\\boxed{{{}}}",
        "**{}**",
        "故选{}",
        "I choose {}.",
    ],
)
def test_every_letter_is_read_alike_in_every_form(form: str, letter: str) -> None:
    found = extract_choice(form.format(letter), PETS)

    assert found.answer == letter


FILLER = st.text(
    alphabet=st.sampled_from("bdefghklmnoprstuvwyz ,\n北京天气很好"), max_size=300
).map(
    lambda text: re.sub(
        r"\b[a-z]\b", "", text
    )  # no second letter: "en b", "e b" and "lub b" say "and b" and "or b"
)


@settings(max_examples=150, deadline=None)
@given(before=FILLER, after=FILLER, letter=st.sampled_from("ABCD"))
def test_a_declared_letter_is_found_inside_any_filler(
    before: str, after: str, letter: str
) -> None:
    found = extract_choice(
        f"{before}.\nThe answer is ({letter}).\n{after}", dict.fromkeys("ABCD", "")
    )

    assert (found.answer, found.outcome) == (letter, "scored")


@settings(max_examples=300, deadline=None)
@given(
    text=st.text(max_size=400),
    options=st.dictionaries(st.sampled_from("ABCDEFGHIJ"), st.text(max_size=30)),
)
def test_any_text_gives_an_option_or_none_and_never_raises(
    text: str, options: dict[str, str]
) -> None:
    found = extract_choice(text, options)

    assert found.answer is None or found.answer in options
    assert (found.outcome == "scored") == (found.answer is not None)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        "\x00B\x00",
        "\u202eB\u202c",
        "👩‍👩‍👧 B 🇫🇷",
        "\ud83d answer is \udc36",
        "ﷺ" * 50,
        "<think>" * 20,
        "</think>" * 20,
        "\\boxed{",
        "{" * 99,
    ],
)
def test_broken_unicode_and_markup_never_raise(text: str) -> None:
    found = extract_choice(text, PETS)

    assert found.outcome in {"scored", "unparsed", "refused"}


@pytest.mark.parametrize(
    "bait",
    [
        "a",
        " ",
        "A ",
        "(",
        "answer is ",
        "the answer ",
        "not ",
        "**",
        "A, ",
        "选",
        "答案",
        "\n",
        "<think>",
        "\\boxed{",
        "~~",
        "dog ",
        "I can ",
        "{A",
    ],
)
def test_a_megabyte_of_bait_is_read_to_the_end(bait: str) -> None:
    noise = bait * (1_000_000 // len(bait))

    found = extract_choice("</think>" + noise + "</think>\nThe answer is (C).", PETS)

    assert found.answer == "C"


@pytest.mark.parametrize(
    "bait", ["answer is ", "A, B, ", "option A ", "选A", "<think>", "not a dog "]
)
def test_a_megabyte_of_bait_alone_gives_no_exception(bait: str) -> None:
    found = extract_choice(bait * (1_000_000 // len(bait)), PETS)

    assert found.outcome in {"scored", "unparsed"}


def test_case_of_the_option_keys_does_not_matter() -> None:
    found = extract_choice("The answer is B.", {"a": "cat", "b": "dog"})

    assert found.answer == "B"


def test_an_option_letter_is_never_taken_from_a_word_of_the_refusal() -> None:
    found = extract_choice("I cannot answer", dict.fromkeys("ABCDEFGHIJ", ""))

    assert (found.answer, found.rule) == (None, "refusal")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is B. A", "B"),
        ("The answer is (B) (A)", "B"),
        ('The answer is (B) "A"', "B"),
        ("答案 B A", "B"),
        ("The answer is B. C", None),
        ("The answer is (B) (C)", None),
        ("The answer is (A) (B)", None),
    ],
)
def test_a_letter_that_is_the_text_of_the_one_before_is_not_a_second_answer(
    text: str, answer: str | None
) -> None:
    blood_groups = dict(zip("ABCD", "CADB", strict=True))

    assert extract_choice(text, blood_groups).answer == answer


@each("letter", "ABCD")
@each(
    "form",
    [
        "{}",
        "({})",
        "{}.",
        "The answer is {}.",
        "Answer: {}",
        "So the answer is ({})",
        "ANSWER: {}\n",
    ],
)
def test_a_short_answer_is_read_at_once_as_the_rules_would_read_it(
    form: str, letter: str
) -> None:
    short = extract_choice(form.format(letter), PETS)

    by_the_rules = extract_choice("<think></think>" + form.format(letter), PETS)

    assert (short.answer, short.rule, short.outcome) == (
        by_the_rules.answer,
        by_the_rules.rule,
        by_the_rules.outcome,
    )


def test_a_letter_with_its_text_opens_an_answer_that_names_no_other_and_denies_nothing() -> (
    None
):
    options = {"A": "steam", "B": "lava", "C": "ice", "D": "soup"}
    answers = {
        "C. ice is the coldest.": "C",
        "C. ice - it is the coldest of all.": "C",
        "A. steam is not cold": None,
        "A. steam is a gas. B. lava is hot. C. ice is cold. D. soup is warm.": None,
        "The answer is C. A and B are both hot.": "C",
        "Answer: A. C.": None,
    }

    assert {text: extract_choice(text, options).answer for text in answers} == answers


def test_answers_from_later_rounds_are_read() -> None:
    options = {"A": "steam", "B": "lava", "C": "ice", "D": "a snowman"}
    answers = {
        '"Ice" is the best answer.': "C",  # a verdict on a text
        "The table shows that C is right.": "C",
        "None of the given options (A–D) matches the result.": None,
        "The answer isn't C, it's A.": "A",
        "The answer is B. Hmm, the units don't match, so it should be A instead.": "A",
        "So the answer is D. No, I made a sign error. With the right sign we get lava, which is option B.": None,
        "Suppose the sample were larger. Then it would be B.": None,  # the sentence before supposes
        "A is correct. B is also correct.": None,
        "Die richtige Antwort lautet C.": "C",  # one letter behind a word of the table
        "The answer, therefore, is C.": "C",
        "**A** is too hot.\n\nC is the most plausible option.": "C",
    }

    assert {text: extract_choice(text, options).answer for text in answers} == answers
    assert (
        extract_choice(
            "Based on the passage, option I fits best.", dict.fromkeys("ABCDEFGHIJ", "")
        ).answer
        == "I"
    )


def test_options_and_their_texts_in_lists_duplicates_and_other_scripts() -> None:
    animals = {"A": "a dog", "B": "a cat", "C": "a bird", "D": "a fish"}
    rates = {"A": "9.8%", "B": "12%", "C": "True, False", "D": "5"}
    cities = {"A": "İstanbul", "B": "Ankara"}
    colours = {"A": "red", "B": "red", "C": "blue"}
    answers = [
        ("Therefore, the most likely one is:\n\nC. a bird", animals, "C"),
        (
            "The options are:\n\nA. a dog\n\nB. a cat\n\nC. a bird\n\nD. a fish",
            animals,
            None,
        ),
        ("It shows a dog and a cat playing.", animals, None),
        (
            "The closest answer is 9.8% (option A), but it is not right. The answer is (B).",
            rates,
            "B",
        ),
        ("- A. Wrong: incorrect.\n- C. True, False: correct.", rates, "C"),
        (
            "We proceed as follows:\n\n5. For the last term, the rate doubles.",
            rates,
            None,
        ),
        ("Doğru cevap: B) Ankara. İstanbul değil.", cities, "B"),
        ("Doğru cevap: İstanbul", cities, "A"),
        ("The correct answer is A. red", colours, "A"),
        ("The answer is red.", colours, None),
        (
            "The answer is (B). The reflection coefficient is zero, so no power is reflected.",
            rates,
            "B",
        ),
        ('{"answer": "$12%"}', rates, "B"),
    ]

    found = [extract_choice(text, options).answer for text, options, _ in answers]
    assert found == [letter for _, _, letter in answers]


ORGANELLES = {
    "A": "osmosis",
    "B": "diffusion",
    "C": "active transport",
    "D": "endocytosis",
}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Water follows the salt. This is an example of osmosis, not diffusion.", "A"),
        ("Pumps need ATP.\n\nThe process is best seen as active transport.", "C"),
        (
            "Cells swell.\n\nThat would be **osmosis**. Diffusion needs no membrane.",
            "A",
        ),
        ("The vesicle matches option D.", "D"),
        ("Particles are engulfed, which points to endocytosis (D).", "D"),
        # Named, but not taken.
        ("**Osmosis** is found in plants. Diffusion is found everywhere.", None),
        ("I hope this helps you understand osmosis!", None),
        ("This rules out option B.", None),
        ("The options include option B.", None),
        ("In contrast to diffusion, this needs energy.", None),
        ("Is it osmosis?", None),
        ("The question asks about **diffusion**.", None),
        ("A: osmosis moves water.\nB: diffusion moves solutes.", None),
    ],
)
def test_the_one_option_that_an_answer_states_is_read(
    text: str, answer: str | None
) -> None:
    assert extract_choice(text, ORGANELLES).answer == answer


@pytest.mark.parametrize(
    ("text", "options", "answer"),
    [
        ("P = 1 - 0.25 = 0.75", {"A": "0.25", "B": "0.75"}, "B"),
        ("a = F/m = 20 N / 5 kg = 4 m/s²", {"A": "2 m/s²", "B": "4 m/s²"}, "B"),
        ("We get a = 12, b = 15", {"A": "12", "B": "15"}, None),
        (r"The chance is $\boxed{\frac{1}{2}}$", {"A": "1/3", "B": "1/2"}, "B"),
        ("A kilogram has 1,000 grams.", {"A": "100", "B": "1000"}, "B"),
        ("The sum of 12 and 24 is 36.", {"A": "12", "B": "24", "C": "36"}, "C"),
        ("B<br>Paris", {"A": "Rome", "B": "Paris"}, "B"),
        ("O órgão é o coração.", {"A": "o coração", "B": "o fígado"}, "A"),
    ],
)
def test_results_and_other_spellings_of_an_options_text_are_read(
    text: str, options: dict[str, str], answer: str | None
) -> None:
    assert extract_choice(text, options).answer == answer
