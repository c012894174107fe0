"""A metric file written for Hugging Face `evaluate`."""

import pytest

from assay.core import Output, Sample, ScorerError, UsageError
from assay.registry import scorers
from assay.scorers.hf_metric import HfMetric

METRIC = """
import datasets
import evaluate


class Share(evaluate.Metric):
    def _info(self):
        kind = datasets.Value("{kind}")
        return evaluate.MetricInfo(
            description="", citation="", features=datasets.Features({{"predictions": kind, "references": kind}})
        )

    def _compute(self, predictions, references, scale=1):
        right = sum(p == r for p, r in zip(predictions, references))
        return {{"share": scale * right / len(references), "labels": ["not", "a", "number"]}}
"""


@pytest.fixture
def metric_file(tmp_path):
    pytest.importorskip("evaluate", reason="evaluate is not installed")

    def write(kind):
        folder = tmp_path / "share"
        folder.mkdir()
        (folder / "share.py").write_text(METRIC.format(kind=kind))
        return folder

    return write


ROWS = [
    (Sample(id="a", target="1"), Output.of("1")),
    (Sample(id="b", target="2"), Output.of("3")),
]


def test_the_numbers_of_a_local_metric_come_back_and_the_rest_is_left_out(metric_file):
    folder = metric_file("string")

    assert HfMetric(str(folder / "share.py")).score_all(ROWS) == {"share": 0.5}


def test_a_folder_a_cast_to_numbers_and_options_work(metric_file):
    metric = HfMetric(str(metric_file("int32")), cast="int", options={"scale": 100})

    assert metric.score_all(ROWS) == {"share": 50.0}


def test_an_answer_that_cannot_be_cast_names_its_sample(metric_file):
    metric = HfMetric(str(metric_file("int32")), cast="int")

    with pytest.raises(
        ScorerError, match=r"hf_metric, sample 'a': cannot read 'seven' as int"
    ):
        metric.score_all([(Sample(id="a", target="1"), Output.of("seven"))])


def test_a_file_without_a_metric_is_refused(metric_file):
    folder = metric_file("string")
    (folder / "share.py").write_text("import evaluate\nMetric = evaluate.Metric\n")

    with pytest.raises(
        UsageError, match=r"expected one class derived from evaluate\.Metric, found 0"
    ):
        HfMetric(str(folder)).score_all(ROWS)


def test_a_hub_name_is_refused_before_the_run():
    with pytest.raises(UsageError, match="metrics are not fetched from a hub"):
        HfMetric("accuracy")


def test_an_unknown_cast_is_refused_before_the_run():
    with pytest.raises(UsageError, match="does not know cast='bool'"):
        HfMetric("accuracy", cast="bool")


def test_the_path_is_a_required_option():
    with pytest.raises(UsageError, match="needs the option 'path'"):
        scorers.build("hf_metric")
