"""The table in a terminal: long paths of models lose their middle, never their identity."""

from assay.core import Result
from assay.report import plain_table
from assay.report.table import short_names

LONG = "hf//home/somebody/a/very/long/folder/of/weights/model-instruct.gguf"


def test_a_long_path_keeps_its_backend_and_its_end():
    assert short_names({LONG, "smollm2"}) == {
        LONG: "hf/…/model-instruct.gguf",
        "smollm2": "smollm2",
    }


def test_two_paths_that_would_read_alike_are_shown_whole():
    other = LONG.replace("somebody", "nobody")

    assert short_names({LONG, other}) == {LONG: LONG, other: other}


def test_a_name_from_the_hub_stays_as_it_is():
    assert short_names({"hf/Qwen/Qwen3-8B"}) == {"hf/Qwen/Qwen3-8B": "hf/Qwen/Qwen3-8B"}


def test_the_table_shows_the_short_name_and_what_code_reads_stays_whole():
    result = Result(task="t", model=LONG, metric="m", value=0.5, n=1, n_expected=1)

    assert "hf/…/model-instruct.gguf" in plain_table([result]) and result.model == LONG


def test_numbers_stay_whole_in_a_narrow_terminal():
    result = Result(
        "capitals",
        "my_model.py:generate",
        "score",
        2 / 3,
        3,
        n_expected=3,
        ci=(0.208, 0.939),
        interval="wilson",
    )

    for width in (80, 72, 60):
        lines = plain_table([result], width=width).splitlines()
        row = next(line for line in lines if "0.667" in line)
        assert "[0.208, 0.939]" in row and "3 / 3" in row
        assert all(len(line) <= width for line in lines)
    assert "my_model.py:generate" in plain_table([result], width=80)


def test_a_narrow_terminal_breaks_no_word_and_names_task_and_model_once():
    flag = "interval unreliable: 10 samples"
    results = [
        Result(
            "quickstart_arithmetic",
            "smollm2",
            metric,
            0.417,
            12,
            n_expected=12,
            ci=(0.152, 0.723),
            protocol="quickstart_arithmetic@shuffled_choices=1-3f2a1c",
            outcomes={"scored": 9, "truncated": 3},
            details={"floor": {"value": 0.25, "agent": "chance"}},
            flags=(flag,),
        )
        for metric in ("follows_format", "number")
    ]

    lines = plain_table(results, width=80).splitlines()

    assert lines[:3] == [
        "quickstart_arithmetic@shuffled_choices=1-3f2a1c · smollm2",
        "  follows_format ↑  0.417  [0.152, 0.723]  floor 0.250 (chance)  n 12 / 12",
        f"    failures: 3 truncated ⚑ {flag}",
    ]
    assert lines[3].startswith("  number ↑  0.417") and len(lines) == 5


def test_long_failures_are_folded_between_words_where_the_rest_of_the_row_fits():
    result = Result(
        "capitals",
        "flaky.py:generate",
        "score",
        1.0,
        2,
        n_expected=3,
        ci=(0.158, 1.0),
        outcomes={"scored": 2, "model_error": 1},
        bounds=(0.667, 1.0),
        flags=("unresolved 33.3%: in doubt",),
    )

    heading, row, *more = plain_table([result], width=120).splitlines()

    assert "n / expected  Failures" in heading and "2 / 3  1 model_error" in row
    assert [line.strip() for line in more] == ["33.3%: in doubt"]


def test_why_there_is_no_interval_may_wrap_and_stays_complete():
    result = Result(
        "t",
        "a/long/name/of/a/model.py",
        "score",
        0.5,
        3,
        n_expected=3,
        interval="none: user summarizer",
    )

    shown = plain_table([result], width=60)

    assert {"(user", "summarizer)"} <= set(shown.split())


def test_a_table_of_nothing_has_its_headings():
    assert "95 % interval" in plain_table([])
