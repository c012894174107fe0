"""The result of a run: lookups, notebooks, data frames."""

import asyncio
import sys
from pathlib import Path

import pytest

import assay
from assay.core import MissingExtra


@pytest.fixture
def result(tmp_path: Path) -> assay.RunResult:
    rows = [{"id": "1", "question": "<b>q</b>", "answer": "x"}]
    task = assay.Task("<script>alert(1)</script>", dataset=rows, scorers="exact_match")
    return assay.run(task, lambda messages: "x", output=str(tmp_path / "run"))


def test_a_value_is_found_by_its_metric(result: assay.RunResult):
    assert result.value("exact_match") == 1.0
    with pytest.raises(KeyError, match="there are exact_match"):
        result.value("f1")


def test_a_notebook_gets_an_escaped_table(result: assay.RunResult):
    shown = result._repr_html_()

    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert (
        shown.count("<svg") == 2
        and 'aria-label="1.000, 95 % interval no interval"' in shown
    )


def test_it_prints_as_a_table(result: assay.RunResult):
    assert "exact_match" in repr(result)
    assert "complete" in repr(result)


def test_it_becomes_a_data_frame(result: assay.RunResult):
    pytest.importorskip("pandas", reason="the extra guests is not installed")

    frame = result.frame()

    assert list(frame["metric"]) == ["exact_match"]


def test_without_pandas_one_line_says_what_to_install(
    result: assay.RunResult, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pandas", None)  # hidden

    with pytest.raises(MissingExtra, match="pip install 'assay\\[guests\\]'"):
        result.frame()


def test_a_run_inside_a_running_loop_gives_its_result_or_raises_its_fault(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n')

    async def run(task):
        return assay.run(task, model=lambda messages: "4", output="r")

    assert asyncio.run(run("q.jsonl")).status == "complete"
    with pytest.raises(assay.AssayError, match="no such file"):
        asyncio.run(run("missing.jsonl"))
