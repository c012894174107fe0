"""What a user's metric or post-process returns: anything but numbers is explained with file and line."""

import json

import pytest

from assay.cli.main import main
from assay.core import Output, Sample, ScorerError
from assay.dialects.testbed.metrics import FolderMetric
from assay.dialects.testbed.testbed_rows import Accuracy, Reading

METRIC = """
import datasets
import evaluate


class Odd(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": text})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions, references):
        return RETURNED
"""
ROWS = [(Sample("1", "q", "a cat"), Output.of("a dog"))]


def metric(folder, returned):
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    file = folder / "odd.py"
    file.write_text(METRIC.replace("RETURNED", returned))
    return FolderMetric(str(file), Reading())


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            "{'odd': 'x'}",
            r"metric 'odd', odd.py:12: returned no numbers: \{'odd': 'x'\}",
        ),
        ("[1, 2]", r"metric 'odd', odd.py:12: returned a list: \[1, 2\]"),
        ("'good'", r"metric 'odd', odd.py:12: returned a str: 'good'"),
        ("None", r"metric 'odd', odd.py:12: returned a NoneType"),
    ],
)
def test_a_metric_that_returns_no_numbers_is_named_with_its_line(
    tmp_path, returned, message
):
    with pytest.raises(ScorerError, match=message):
        metric(tmp_path, returned).score_all(ROWS)


def test_a_metric_that_returns_nan_is_warned_of_with_its_line(tmp_path):
    with pytest.warns(UserWarning, match=r"odd.py:12: returned nan for 'odd'"):
        made = metric(tmp_path, "{'odd': float('nan'), 'fine': 1.0}").score_all(ROWS)
    assert made["fine"] == 1.0


def test_a_metric_of_numbers_is_returned_whole(tmp_path):
    made = metric(tmp_path, "{'odd': 0.5, 'name': 'x'}").score_all(ROWS)

    assert made == {"odd": 0.5, "name": "x"}


def test_arrays_and_texts_beside_a_number_are_left_out(tmp_path, monkeypatch, capsys):
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "testbed" / "evaluate" / "odd"
    folder.mkdir(parents=True)
    returned = "{'a': numpy.float32(0.5), 'rows': numpy.array([1, 2]), 'name': numpy.str_('x')}"
    text = METRIC.replace("RETURNED", returned)
    (folder / "odd.py").write_text(f"import numpy\n{text}")
    write_dataset(tmp_path)

    code = main(
        [
            "run",
            "my_dataset.py",
            "--scorer",
            "odd",
            "--model",
            "yes.py:answer",
            "--json",
        ]
    )

    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (code, row["metric"], row["value"]) == (0, "odd.a", 0.5)


def nan_of(text):
    return float("nan") if text == "a dog" else 1.0


def test_a_prediction_that_a_postprocess_reads_as_nan_is_unparsed():
    score = Accuracy(Reading(nan_of))(*ROWS[0])

    assert score.outcome == "unparsed"
    assert "returned nan (test_returned.py:" in score.details["rule"]


def test_a_target_that_a_postprocess_reads_as_nan_is_a_fault_of_the_data():
    sample = Sample("1", "q", "a dog")

    score = Accuracy(Reading(nan_of))(sample, Output.of("a cat"))

    assert score.outcome == "data_error"


def write_dataset(folder):
    (folder / "my_dataset.py").write_text(
        "from testbed.data import register_dataset_retriever\n\n\n"
        "@register_dataset_retriever('d')\n"
        "def retriever(item, is_last: bool):\n"
        "    last = {'role': 'assistant'} if is_last else {'role': 'assistant', 'content': item['label']}\n"
        "    return [{'role': 'user', 'content': item['text']}, last]\n"
    )
    rows = [{"text": f"t{n}", "label": "yes"} for n in range(12)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "d.jsonl").write_text(text)
    (folder / "yes.py").write_text("def answer(prompt):\n    return 'yes'\n")


def test_a_file_is_measured_as_upstream_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path)

    code = main(
        [
            "run",
            "my_dataset.py@upstream",
            "-f",
            "2",
            "--model",
            "yes.py:answer",
            "--json",
        ]
    )

    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (code, row["protocol"], row["n"]) == (0, "d@upstream", 4)


@pytest.mark.parametrize("name", ["my_dataset.py@upstream", "my_dataset.py:d@upstream"])
def test_upstream_can_be_named_in_check_and_show(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path)

    assert main(["check", name]) == 0
    assert "no fault found" in capsys.readouterr().out
    assert main(["show", name]) == 0
    assert "protocol: d@upstream" in capsys.readouterr().out
