"""The forecast of `--dry_run` as ranges: from prompts, from earlier runs, and what nobody can know."""

import json

import pytest

from assay.cli.outlook import Earlier, earlier_runs, outlook
from assay.core import Image, Message, Prompt

PRICES = {"price_input": 2.0, "price_output": 10.0}


def prompt(text, *media):
    return Prompt((Message.of("user", text, *media),))


def earlier(folder="runs/old", *, same=True, **usage):
    from assay.cli.outlook import _Usage

    return Earlier(folder, same, _Usage(**usage))


def test_without_earlier_runs_the_letters_of_the_prompts_are_all_there_is():
    found = outlook([prompt("a" * 300)], 10, 10, 500, PRICES, [])

    assert found.input_tokens == pytest.approx((600, 1000))
    assert found.output_tokens == (10, 500)
    assert found.seconds is None
    assert found.cost == pytest.approx(
        ((600 * 2 + 10 * 10) / 1e6, (1000 * 2 + 500 * 10) / 1e6)
    )


def test_chinese_has_more_tokens_for_its_letters():
    [low, high] = outlook([prompt("漢" * 100)], 1, 1, 5, {}, []).input_tokens

    assert (low, high) == (50, 150)


def test_prompts_of_uneven_length_widen_the_range_of_those_not_seen():
    few = [prompt("a" * size) for size in (30, 300, 3000)]

    seen, unseen = outlook(few, 3, 3, 5, {}, []), outlook(few, 300, 300, 500, {}, [])

    assert unseen.input_tokens[1] > 1.5 * 100 * seen.input_tokens[1]
    assert unseen.input_tokens[0] < 0.5 * 100 * seen.input_tokens[0]


def test_an_earlier_run_of_the_task_says_what_a_request_takes_and_how_fast_the_model_is():
    known = earlier(asked=50, seconds=100.0, input_tokens=5000, output_tokens=1000)

    found = outlook([prompt("a" * 40)], 200, 200, 100_000, PRICES, [known])

    assert found.input_tokens == pytest.approx((100 * 200 / 1.05, 100 * 200 * 1.05))
    assert found.output_tokens == pytest.approx((20 * 200 / 1.25, 20 * 200 * 1.25))
    assert found.seconds == pytest.approx((2 * 200 / 1.25, 2 * 200 * 1.25))
    assert found.known_from == ("runs/old",)


def test_another_task_of_the_model_says_only_how_fast_it_is_and_less_surely():
    known = earlier(same=False, asked=50, seconds=100.0, output_tokens=1000)

    found = outlook([prompt("a" * 40)], 100, 100, None, {}, [known])

    assert found.seconds == pytest.approx((100, 400))
    assert found.output_tokens == (100, None)
    assert "how long answers are (--max_tokens limits them)" in found.unknown


def test_what_is_answered_already_is_not_forecast_again():
    whole = outlook([prompt("a" * 300)], 100, 100, 500, {}, [])
    rest = outlook([prompt("a" * 300)], 100, 100, 500, {}, [], answered=75)

    assert rest.input_tokens[1] == pytest.approx(whole.input_tokens[1] / 4)
    assert rest.output_tokens[1] == 125
    assert next(rest.lines("runs/x")).startswith("answered already in runs/x: 75")
    assert outlook([prompt("a")], 10, 10, 5, {}, [], answered=12).input_tokens == (0, 0)


def test_what_cannot_be_known_is_named():
    found = outlook([prompt("look", Image(b"x"))], 1, 1, 5, {}, [], roles=["judge"])

    assert found.unknown == ("tokens of image", "calls of the judge")
    assert "not counted: tokens of image; calls of the judge" in list(found.lines("x"))


def test_earlier_runs_are_found_beside_the_folder_and_broken_ones_say_nothing(tmp_path):
    usage = {
        "sums/m": {"asked": 40, "seconds": 4.0, "output_tokens": 80},
        "other/m": {"asked": 9, "seconds": 1.0},
        "sums#judge/m": {"asked": 40, "input_tokens": 9},
        "sums/few": {"asked": 2, "seconds": 1.0},
    }
    for name, text in {
        "a": json.dumps({"usage": usage}),
        "b": "{",
        "c": '{"usage": 3}',
        "d": "{}",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.json").write_text(text)

    found = earlier_runs(tmp_path, "sums", "m")

    assert [(one.is_same_task, one.usage.asked) for one in found] == [
        (True, 40),
        (False, 9),
    ]
    assert earlier_runs(tmp_path, "sums", "few") == []
    assert earlier_runs(tmp_path / "nowhere", "sums", "m") == []


def test_a_resumed_run_is_forecast_by_its_own_first_half(assay, folder):
    rows = [{"id": f"s{n}", "question": f"{n}", "answer": "4"} for n in range(40)]
    (folder / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assay(
        "run",
        "many.jsonl",
        "--model",
        "four.py:generate",
        "--limit",
        "10",
        "-o",
        "runs/a",
    )

    said = assay(
        "run",
        "many.jsonl",
        "--model",
        "four.py:generate",
        "-o",
        "runs/a",
        "--dry_run",
        "--json",
    )
    shown = assay(
        "run", "many.jsonl", "--model", "four.py:generate", "-o", "runs/a", "--dry_run"
    )

    found = said.json["cells"][0]["range"]
    assert (
        found["answered"] == 10
        and found["known_from"] == ["runs/a"]
        and found["seconds"] is not None
    )
    assert "answered already in runs/a: 10; the ranges are for the rest" in shown.out


def test_the_cost_is_a_range_and_open_without_a_limit(assay):
    model = (
        "--model",
        "four.py:generate",
        "-a",
        "price_input=1000000,price_output=1000000",
        "--dry_run",
    )

    limited, open_ended = (
        assay("run", "sums.jsonl", *model, "--max_tokens", "10"),
        assay("run", "sums.jsonl", *model),
    )

    assert "cost: 5.4000 to 34.0000" in limited.out
    assert "cost: 5.4000 or more (--max_tokens sets an end)" in open_ended.out
    assert "time: unknown (the folder has no earlier run of this model)" in limited.out


def test_a_rule_that_cannot_be_kept_is_found_as_in_a_run(assay):
    said = assay(
        "run",
        "sums.jsonl",
        "--model",
        "four.py:generate",
        "--until",
        "decided",
        "--dry_run",
    )

    assert said.code == 2 and "no earlier run to decide against" in said.err
