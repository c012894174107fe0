"""Texts that look the same are equal to every scorer that compares text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.core import Output, Sample
from assay.registry import scorers
from assay.scorers.plain_text import plain_text

CAFE = "Café au lait"
LOOK_ALIKES = {
    "NFD": unicodedata.normalize("NFD", CAFE),
    "byte order mark": "\ufeff" + CAFE,
    "zero-width space at the end": CAFE + "\u200b",
    "zero-width joiner inside": "Ca\u200dfé au lait",
    "soft hyphen": "Ca\u00adfé au lait",
    "no-break space": "Café\u00a0au\u202flait",
    "direction marks": "\u200e" + CAFE + "\u200f",
}
RIGHT = {
    "exact_match": 1.0,
    "quasi_exact": 1.0,
    "includes": 1.0,
    "f1": 1.0,
    "wer": 0.0,
    "cer": 0.0,
    "mer": 0.0,
}


@pytest.mark.parametrize("scorer", RIGHT)
@pytest.mark.parametrize("form", LOOK_ALIKES)
def test_texts_that_look_the_same_are_equal_for_every_scorer(scorer, form):
    build, other = scorers.get(scorer), LOOK_ALIKES[form]

    answered = build()(Sample("1", "q", target=CAFE), Output.of(other))
    wanted = build()(Sample("1", "q", target=other), Output.of(CAFE))

    assert answered.value == wanted.value == RIGHT[scorer]


@pytest.mark.parametrize("answer", ["３", "3.0", "Cafe au lait", "café au lait"])
def test_visible_characters_are_not_changed(answer):
    assert plain_text(answer) == answer
    target = "3" if "3" in answer or "３" in answer else CAFE
    score = scorers.get("exact_match")()(Sample("1", "q", target), Output.of(answer))
    assert score.value == 0.0


@given(st.text())
def test_a_plain_text_stays_as_it_is(text):
    assert plain_text(plain_text(text)) == plain_text(text)


def note(tmp_path, target, answer, scorer="exact_match"):
    rows = [{"id": str(n), "question": f"q{n}", "answer": target} for n in range(3)]

    def same(text: str) -> str:
        return answer

    task = assay.Task("t", dataset=rows, scorers=scorer)
    return " ".join(assay.run(task, same, output=str(tmp_path)).notes)


@pytest.mark.parametrize("scorer", ["exact_match", "includes", "f1", "wer"])
@pytest.mark.parametrize(
    ("target", "answer", "words"),
    [
        (CAFE, LOOK_ALIKES["NFD"], "3 answers equal a target only in another Unicode"),
        ("3.0", "3", "3 answers equal a target as numbers but not as text"),
        ("1000", "1,000", "3 answers equal a target as numbers but not as text"),
        ("３", "3", "3 answers equal a target but for full-width"),
        (
            "['x', 'y']",
            "x",
            "3 targets are a list written as text (['x', 'y']), which counts as one answer",
        ),
    ],
)
def test_notes_report_answers_that_differ_only_in_spelling(
    tmp_path, scorer, target, answer, words
):
    assert words in note(tmp_path, target, answer, scorer)


@pytest.mark.parametrize(
    ("target", "answer"),
    [("don't", "don’t"), ('"x"', "“x”"), ("-5", "−5"), ("1-2", "1–2"), ("3", "３")],
)
def test_notes_report_answers_that_differ_in_typographic_marks_or_width(
    tmp_path, target, answer
):
    notes = note(tmp_path, target, answer, "exact_match")

    assert "3 answers equal a target but for full-width, typographic" in notes


@pytest.mark.parametrize(
    "scorer", ["bleu", "chrf", "ter", "rouge", "anls", "relaxed_accuracy", "caption"]
)
def test_notes_report_unicode_forms_that_an_official_rule_keeps(tmp_path, scorer):
    notes = note(tmp_path, CAFE, LOOK_ALIKES["NFD"], scorer)

    assert "in another Unicode form than the target" in notes
    assert f"which the official rule of {scorer} counts as different" in notes


def test_no_note_is_made_where_both_have_the_same_form(tmp_path):
    assert "Unicode form" not in note(tmp_path, CAFE, f"un {CAFE}", "chrf")


def test_notes_report_answers_that_differ_in_case_and_punctuation(tmp_path):
    notes = note(tmp_path, "Hello, World.", "hello world", "exact_match")

    assert "3 answers equal a target but for case, punctuation or articles" in notes
    assert "`quasi_exact`" in notes


@pytest.mark.parametrize(
    ("target", "answer", "scorer"),
    [("3", "3", "exact_match"), ("3.0", "3", "number"), ("[a]", "b", "exact_match")],
)
def test_other_runs_have_no_such_note(tmp_path, target, answer, scorer):
    notes = note(tmp_path, target, answer, scorer)

    assert "equal a target" not in notes
    assert "written as text" not in notes


@pytest.mark.parametrize("scorer", RIGHT)
@pytest.mark.parametrize("answer", ["3", "3.0"])
def test_a_target_that_is_a_number_accepts_both_spellings(scorer, answer):
    score = scorers.get(scorer)()(Sample("1", "q", target=3.0), Output.of(answer))

    assert score.value == RIGHT[scorer]
