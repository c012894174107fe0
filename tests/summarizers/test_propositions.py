"""DPG-Bench over a run."""

import pytest
from summary_context import Context, record

from assay.core import Json, Output, Sample
from assay.scorers.image.dpg import Dpg
from assay.summarizers.benchmark_tables import dpg


def scored(name, answers, parents, categories):
    questions = [
        {
            "proposition_id": key,
            "dependency": parents.get(key, 0),
            "category_broad": categories[key],
        }
        for key in answers
    ]
    score = Dpg()(
        Sample(id=name, fields={"questions": questions}), Output.of(Json(answers))
    )
    return record(name, score.value, str(score.outcome), details=score.details)


RECORDS = [
    scored(
        "a",
        {1: "no", 2: "yes", 3: "yes", 4: "yes"},
        {2: 1},
        {1: "entity", 2: "color", 3: "entity", 4: "global"},
    ),
    scored("b", {1: "yes"}, {}, {1: "entity"}),
]


def test_images_and_questions_weigh_differently():
    values = {result.metric: result.value for result in dpg(RECORDS, Context())}

    assert values == pytest.approx({"dpg": (0.5 + 1) / 2, "dpg_questions": 3 / 5})


def test_categories_count_answers_as_given():
    categories = next(iter(dpg(RECORDS, Context()))).details["categories"]

    assert categories == {
        "color": {"value": 1.0, "n": 1},
        "entity": {"value": pytest.approx(2 / 3), "n": 3},
        "global": {"value": 1.0, "n": 1},
    }


def test_an_image_without_answers_is_not_a_wrong_one():
    lost = record("c", None, "judge_error", details={"reason": "no answers"})

    result = next(iter(dpg([*RECORDS, lost], Context())))

    assert (result.value, result.n) == (0.75, 2)
    assert result.outcomes == {"scored": 2, "judge_error": 1}
