"""Letter extraction against the labelled corpus, real outputs, random text and hostile text."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scorers.choice_rules import RULES, extract_choice

HERE = Path(__file__).resolve().parent
CORPUS = [json.loads(line) for line in (HERE / "corpus" / "choices.jsonl").read_text("utf-8").split("\n") if line]
MMLU_PRO = HERE.parents[1].parent / "shared" / "data" / "mmlu_pro" / "slice.jsonl"
PETS = {"A": "cat", "B": "dog", "C": "bird", "D": "a fish"}

# `pred` holds a letter for these although the output names several options (it keeps the first) or none.
SEVERAL_NAMED = {4709, 6695}
NO_ANSWER_GIVEN = {
    2959, 3080, 3288, 3706, 3714, 3826, 3845, 4521, 6583, 6758, 6792, 6933, 6988, 7273, 7763, 7772, 7854, 8511,
    10416, 10535, 10698, 10700, 10724, 10744, 11257, 11543, 11817, 12135,
}  # fmt: skip


@pytest.mark.parametrize("row", CORPUS, ids=[row["id"] for row in CORPUS])
def test_a_labelled_output_gives_its_letter_and_outcome(row: dict[str, Any]) -> None:
    found = extract_choice(row["output"], row["options"])

    assert (found.answer, found.outcome) == (row["expected"], row["outcome"]), found


def test_the_corpus_is_large_and_opens_with_the_table_of_metrics() -> None:
    sources = Counter(row["source"] for row in CORPUS)

    assert len(CORPUS) >= 260
    assert [row["source"] for row in CORPUS[:15]] == ["metrics-2.1"] * 15
    assert sources["handwritten-zh"] >= 60
    assert len({row["id"] for row in CORPUS}) == len(CORPUS)


def test_precision_per_rule_is_printed_and_every_scoring_rule_is_exercised(capsys: pytest.CaptureFixture[str]) -> None:
    fired: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in CORPUS:
        found = extract_choice(row["output"], row["options"])
        fired[found.rule] += 1
        right[found.rule] += found.answer == row["expected"]

    with capsys.disabled():
        print("\nrule              fired  right  precision")
        for rule, count in fired.most_common():
            print(f"{rule:<16} {count:>6} {right[rule]:>6} {right[rule] / count:>10.4f}")

    assert len(fired) >= len(RULES)
    assert all(right[rule] == count for rule, count in fired.items())


@pytest.mark.skipif(not MMLU_PRO.exists(), reason="shared/data/mmlu_pro is not beside this checkout")
def test_real_outputs_agree_with_the_published_letters_but_for_the_explained_rows() -> None:
    rows = [json.loads(line) for line in MMLU_PRO.read_text("utf-8").split("\n") if line]

    found = {
        row["question_id"]: extract_choice(row["generated_text"], dict(zip("ABCDEFGHIJ", row["options"], strict=False)))
        for row in rows
    }

    differing = {row["question_id"] for row in rows if found[row["question_id"]].answer != row["pred"]}
    assert differing == SEVERAL_NAMED | NO_ANSWER_GIVEN
    assert all(found[key].outcome == "unparsed" for key in differing)
    assert {found[key].rule for key in SEVERAL_NAMED} == {"ambiguous"}


@pytest.mark.parametrize("letter", "ABCD")
@pytest.mark.parametrize(
    "form", ["The answer is {}.", "Answer: ({})", "答案是{}。", "\\boxed{{{}}}", "**{}**", "故选{}", "I choose {}."]
)
def test_every_letter_is_read_alike_in_every_form(form: str, letter: str) -> None:
    found = extract_choice(form.format(letter), PETS)

    assert found.answer == letter


FILLER = st.text(alphabet=st.sampled_from("bdefghklmnoprstuvwyz ,\n北京天气很好"), max_size=300)


@settings(max_examples=150, deadline=None)
@given(before=FILLER, after=FILLER, letter=st.sampled_from("ABCD"))
def test_a_declared_letter_is_found_inside_any_filler(before: str, after: str, letter: str) -> None:
    found = extract_choice(f"{before}.\nThe answer is ({letter}).\n{after}", dict.fromkeys("ABCD", ""))

    assert (found.answer, found.outcome) == (letter, "scored")


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=400), options=st.dictionaries(st.sampled_from("ABCDEFGHIJ"), st.text(max_size=30)))
def test_any_text_gives_an_option_or_none_and_never_raises(text: str, options: dict[str, str]) -> None:
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


@pytest.mark.parametrize("bait", ["answer is ", "A, B, ", "option A ", "选A", "<think>", "not a dog "])
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
        ("The answer is B. A", "B"), ("The answer is (B) (A)", "B"), ('The answer is (B) "A"', "B"), ("答案 B A", "B"),
        ("The answer is B. C", None), ("The answer is (B) (C)", None), ("The answer is (A) (B)", None),
    ],
)  # fmt: skip
def test_a_letter_that_is_the_text_of_the_one_before_is_no_second_answer(text: str, answer: str | None) -> None:
    blood_groups = dict(zip("ABCD", "CADB", strict=True))

    assert extract_choice(text, blood_groups).answer == answer
