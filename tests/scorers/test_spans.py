"""Scorers say where in an answer they read: the place shows what was read, in the answer as the model wrote it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import Output, Sample
from assay.scorers.choice.choice import Choice
from assay.scorers.choice.single_choice_zh import SingleChoiceZh
from assay.scorers.math.numbers import Gsm8k, NumberMatch
from assay.scorers.spans import evidence_span, occurrence_span
from assay.scorers.text.bbh import Bbh
from assay.scorers.text.match import Regex

CORPUS = Path(__file__).parent / "choice" / "corpus"
SAMPLE = Sample("s", choices=("cat", "dog", "fish", "bird"), target="B")


@pytest.mark.parametrize(
    ("scorer", "target", "text", "read"),
    [
        (Choice(), "B", "It is not A. The answer is B.", "B"),
        (Choice(), "B", "It is not A. The answer is **B**.", "B"),
        (Choice(), "B", "B. Because A and C and B are animals, too.", "B"),
        (Choice(), "B", "So the answer is dog.", "answer is dog"),
        (NumberMatch(), "72", "First 36, so 72 apples. Check: 36 + 36 is 72", "72"),
        (NumberMatch(), "72", "The answer is 72. (36 and 36 make it.)", "72"),
        (NumberMatch(), "1234", "It costs $1,234 in all.", "$1,234"),
        (Gsm8k(), "72", "36 + 36 = 72\n#### 72", "72"),
        (Regex(r"<a>(.*?)</a>", group=1), "x", "<a> x </a>", "x"),
        (Bbh(), "(B)", "Let us see. So the answer is (B).", "(B)"),
        (SingleChoiceZh(), "B", "A不对，所以应该选B", "B"),
    ],
)
def test_the_span_contains_what_was_read(scorer, target, text, read):
    sample = Sample("s", choices=SAMPLE.choices, target=target)

    score = scorer(sample, Output.of(text))

    start, end = score.details["span"]
    assert text[start:end] == read


def test_the_declaration_is_marked_and_not_a_later_mention():
    text = "The answer is 72. To check: 36 + 36 makes 72 again, because 72 is even."

    start, _ = NumberMatch()(Sample("s", target="72"), Output.of(text)).details["span"]

    assert start == text.index("72")


def test_every_span_in_the_corpus_of_choices_is_the_letter_or_its_evidence():
    wrong = []
    for line in (CORPUS / "choices.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        options = row["options"]
        if not row["expected"] or list(options) != list("ABCDEFGHIJ"[: len(options)]):
            continue
        sample = Sample("s", choices=tuple(options.values()), target=row["expected"])
        output = Output.of(row["output"])
        score = Choice()(sample, output)
        if score.answer is None or "span" not in score.details:
            continue
        start, end = score.details["span"]
        shown = output.text[start:end]
        if shown != score.answer and shown != score.details["evidence"]:
            wrong.append((row["id"], shown, score.answer))
    assert wrong == []


def test_most_letters_of_the_corpus_have_a_span():
    found = total = 0
    for line in (CORPUS / "choices.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if not row["expected"] or list(row["options"]) != list(
            "ABCDEFGHIJ"[: len(row["options"])]
        ):
            continue
        sample = Sample(
            "s", choices=tuple(row["options"].values()), target=row["expected"]
        )
        score = Choice()(sample, Output.of(row["output"]))
        is_within = score.answer is not None and len(row["output"]) > 8
        total += is_within
        found += is_within and "span" in score.details
    assert total > 100 and found / total > 0.9


def test_a_doubtful_span_is_left_out():
    assert evidence_span("nothing of it", "The answer is B", "B") is None
    assert occurrence_span("５ and 5", "5 and 5", 6, "5") is None


@given(
    st.text(max_size=40),
    st.text(min_size=1, max_size=20),
    st.sampled_from("ABC"),
    st.booleans(),
)
def test_a_span_is_always_within_the_text(text, evidence, answer, first):
    span = evidence_span(text, evidence, answer, comes_first=first)

    assert span is None or 0 <= span[0] < span[1] <= len(text)
    assert span is None or text[span[0] : span[1]] in (answer, evidence)
