"""What a user's metric is given of a row."""

import pytest

from assay.core import Output, Sample
from assay.dialects.testbed.metrics import FolderMetric
from assay.dialects.testbed.testbed_rows import Reading

COUNT = """
import datasets
import evaluate


class Count(evaluate.Metric):
    def _info(self):
        several = datasets.Sequence(datasets.Value("string"))
        features = datasets.Features({"predictions": datasets.Value("string"), "references": several})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions, references):
        return {"references": sum(len(one) for one in references), "first": float(references[0][0] == "a cat")}
"""


@pytest.fixture
def count(tmp_path):
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    (tmp_path / "count.py").write_text(COUNT)
    return FolderMetric(str(tmp_path / "count.py"), Reading())


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        (
            "a cat",
            {"caption": "a cat", "sentences_raw": ["a cat", "the cat", "one cat"]},
        ),
        (
            "a cat",
            {"answers": [{"answer": "a cat"}, {"answer": "cat"}, {"answer": "cats"}]},
        ),
        ("a cat", {"references": ["a cat", "b", "c"]}),
        (["a cat", "b", "c"], {"answers": ["x"]}),
    ],
)
def test_every_reference_of_a_row_reaches_a_metric_that_takes_several(
    count, target, fields
):
    made = count.score_all([(Sample("1", "q", target, (), fields), Output.of("a dog"))])

    assert made == {"references": 3, "first": 1.0}


def test_a_row_with_one_reference_gives_one(count):
    assert (
        count.score_all(
            [(Sample("1", "q", "a cat", (), {"x": 1}), Output.of("a dog"))]
        )["references"]
        == 1
    )
