"""`assay power` from assumptions and from a run, and the word of `assay run` where `--limit` is too small."""

import json

import pytest


@pytest.fixture
def many(folder):
    rows = [{"question": f"{n}", "answer": "4", "id": f"s{n}"} for n in range(700)]
    (folder / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "many.jsonl"


def test_assumptions_are_answered_in_a_few_lines(assay):
    said = assay(
        "power", "--n", "200", "--rate", "0.7", "--pairs", "0.2", "--difference", "0.05"
    )

    assert said.code == 0
    assert said.out.splitlines() == [
        "right or wrong: 70.0% right, and two runs differ on 20.0% of samples (assumed)",
        "  200 samples give the value to ± 0.063 and show a difference of 0.087 between two runs",
        "  a difference of 0.05 takes about 630 samples",
    ]


def test_a_run_is_a_pilot_for_other_counts(assay):
    assay(
        "run",
        "sums.jsonl",
        "--model",
        "four.py:generate",
        "--scorer",
        "exact_match",
        "-o",
        "pilot",
    )

    [scores] = assay("power", "pilot", "--n", "50", "--n", "500", "--json").json

    assert scores["name"] == "sums.exact_match"
    assert [shown["n"] for shown in scores["shown"]] == [50, 500]
    assert scores["shown"][0]["half_width"] > 2.5 * scores["shown"][1]["half_width"]


FAULTS = [
    ("--n 1", "--n 1 is not a number of samples from 2 on"),
    ("--rate 2 --n 20", "--rate 2 is not a share between 0 and 1"),
    ("--pairs 0 --n 20", "--pairs 0 is not a share between 0 and 1"),
    ("--n 20 --difference 0", "--difference 0 is not a number above 0"),
    ("--n 20 --sd -1", "--sd -1 is not a number above 0"),
    ("--n 20 --sd 1 --rate 0.5", "--sd is for scores that are not right or wrong"),
    ("--n 20 --baseline runs", "--baseline needs a run to compare"),
    ("run --rate 0.5", "--rate and --sd are assumptions, and a run was given"),
    ("", "neither a run nor an assumption"),
    ("nothing", "not a run folder"),
    ("--pars 0.2", "unknown option --pars; fix: did you mean --pairs?"),
]


@pytest.mark.parametrize(
    ("typed", "said"), FAULTS, ids=[typed or "nothing typed" for typed, _ in FAULTS]
)
def test_a_wrong_assumption_is_one_line(assay, typed, said):
    done = assay("power", *typed.split())

    assert done.code in (1, 2) and said in done.err and done.err.count("\n") == 1


def test_a_limit_without_a_useful_value_is_reported_with_one_that_works(assay, many):
    said = assay("run", many, "--model", "four.py:generate", "--limit", "20", "-o", "a")

    assert (
        "--limit 20: 20 samples give a value to ± 20 points; --limit 400 to ± 5"
        in said.err
    )


def test_a_limit_too_small_to_distinguish_models_is_reported(assay, many):
    two = ("--model", "four.py:generate", "--model", "adder.py:generate")

    said = assay("run", many, *two, "--limit", "100", "-o", "a")

    assert (
        "--limit 100: 100 samples show a difference of 12 points between models; --limit 630 shows 5"
        in said.err
    )


@pytest.mark.parametrize("limit", ["3", "10", "200", "0.5"])
def test_a_trial_and_a_sufficient_limit_are_let_be(assay, many, limit):
    said = assay(
        "run", many, "--model", "four.py:generate", "--limit", limit, "-o", "a"
    )

    assert "points" not in said.err


def test_a_baseline_says_what_a_limit_is_meant_for(assay, many):
    assay("run", many, "--model", "four.py:generate", "--limit", "5", "-o", "a")

    said = assay(
        "run",
        many,
        "--model",
        "adder.py:generate",
        "--limit",
        "5",
        "-o",
        "b",
        "--baseline",
        "a",
    )

    assert "5 samples show no difference that is likely between models" in said.err
