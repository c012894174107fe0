"""MM-Vet's table: each item once for every capability it needs, and once for its combination."""

from summary_context import Context

from assay.core import ScoreRecord
from assay.summarizers.benchmark_tables import MmVet


def test_means_of_100_by_capability_by_combination_and_overall():
    grades = {"1": (1.0, "ocr"), "2": (0.5, "rec,ocr"), "3": (0.0, "rec,ocr")}
    records = [
        ScoreRecord(
            "t",
            "m",
            name,
            "mmvet",
            "d",
            {"mmvet": grade},
            "scored",
            tags={"category": category},
        )
        for name, (grade, category) in grades.items()
    ]

    (result,) = MmVet()(records, Context(scorer="mmvet"))

    assert (result.metric, result.value) == ("mmvet", 50.0)
    assert {name: part.value for name, part in result.groups["capability"].items()} == {
        "rec": 25.0,
        "ocr": 50.0,
    }
    assert {
        name: part.value for name, part in result.groups["combination"].items()
    } == {"ocr": 100.0, "rec,ocr": 25.0}
