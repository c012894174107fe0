"""The table in a terminal: long paths of models lose their middle, never their identity."""

from assay.core import Result
from assay.report import plain_table
from assay.report.table import short_names

LONG = "hf//home/somebody/a/very/long/folder/of/weights/model-instruct.gguf"


def test_a_long_path_keeps_its_backend_and_its_end():
    assert short_names({LONG, "smollm2"}) == {LONG: "hf/…/model-instruct.gguf", "smollm2": "smollm2"}


def test_two_paths_that_would_read_alike_are_shown_whole():
    other = LONG.replace("somebody", "nobody")

    assert short_names({LONG, other}) == {LONG: LONG, other: other}


def test_a_name_from_the_hub_stays_as_it_is():
    assert short_names({"hf/Qwen/Qwen3-8B"}) == {"hf/Qwen/Qwen3-8B": "hf/Qwen/Qwen3-8B"}


def test_the_table_shows_the_short_name_and_what_code_reads_stays_whole():
    result = Result(task="t", model=LONG, metric="m", value=0.5, n=1, n_expected=1)

    assert "hf/…/model-instruct.gguf" in plain_table([result]) and result.model == LONG
