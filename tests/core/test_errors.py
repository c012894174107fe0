"""Errors: one line that says what happened, where, and how to fix it."""

import json

import pytest

from assay.core import (
    AssayError,
    DataError,
    DiskFull,
    FolderInUse,
    MissingExtra,
    PlanError,
    ScorerError,
    UnknownName,
    UsageError,
    blame,
    nearest,
    shorten,
)


def test_an_error_is_one_line_with_place_and_remedy():
    error = AssayError("it broke\nbadly", where="a.yaml", fix="mend it")

    assert str(error) == "a.yaml: it broke badly; fix: mend it"


def test_what_a_row_wrote_cannot_steer_the_terminal():
    error = DataError(
        "bad cell \x1b[2J\x07\x9b31m\u202egnp.exe", file="a\x1b]8;;.tsv", row=3
    )

    assert str(error) == "a]8;;.tsv:3: bad cell [2J31mgnp.exe"


def test_a_data_error_is_located_and_shows_at_most_sixty_characters():
    error = DataError("not a number", file="a.csv", row=2, column="x", got="9" * 500)

    assert str(error).startswith("a.csv:2:x: not a number, got '999")
    assert len(str(error)) < 100


def test_the_nearest_name_forgives_case_and_dashes():
    assert nearest("Exact-Mach", ["includes", "exact_match"]) == "exact_match"
    assert nearest("zzz", ["includes"]) is None


def test_an_unknown_name_suggests_the_nearest():
    error = UnknownName("scorer", "wre", ["wer", "f1"], where="t.yaml, key `scorer`")

    assert str(error) == (
        "t.yaml, key `scorer`: unknown scorer 'wre'; fix: did you mean 'wer'? `assay ls scorers` prints all 2"
    )


def test_a_missing_library_names_the_pip_line():
    assert str(MissingExtra("sacrebleu", "'assay[metrics]'")).endswith(
        "fix: pip install 'assay[metrics]'"
    )
    assert str(MissingExtra("x", "assay[hf] accelerate")).endswith(
        "fix: pip install 'assay[hf]' accelerate"
    )


def test_all_faults_of_a_plan_are_listed_one_a_line():
    error = PlanError([UsageError("one\nthing"), UsageError("another")])

    assert str(error) == "one thing\nanother"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (AssayError, 1),
        (UsageError, 2),
        (DiskFull, 74),
        (FolderInUse, 75),
        (DataError, 2),
    ],
)
def test_each_kind_has_its_exit_code(kind, code):
    assert kind("x").exit_code == code


def test_a_plain_error_is_blamed_on_its_component_sample_and_line():
    place = r"scorer 'x', sample 's1': ZeroDivisionError: .*\(test_errors\.py:\d+\)"
    with (
        pytest.raises(ScorerError, match=place),
        blame(ScorerError, "scorer 'x'", "s1"),
    ):
        1 / 0


def test_an_error_that_says_enough_passes_as_it_is():
    with pytest.raises(UsageError, match=r"^wrong$"), blame(ScorerError, "scorer 'x'"):
        raise UsageError("wrong")


def test_shortening_keeps_to_one_line():
    assert shorten("a\n" * 100, 20) == "'a\\na\\na\\na\\na\\na\\n…"
    assert len(shorten(list(range(1000)))) == 60


def test_the_line_named_is_the_users_own_and_not_that_of_a_library_it_called():
    place = r"JSONDecodeError: .*\(test_errors\.py:\d+\)"
    with pytest.raises(ScorerError, match=place), blame(ScorerError, "scorer 'x'"):
        json.loads("{")
