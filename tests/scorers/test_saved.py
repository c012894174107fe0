"""Where the saved answers of a specialist are looked for."""

import pytest

from assay.core import Candidate, Image, Json, Outcome, Output, Sample
from assay.scorers.answers import no_verdict
from assay.scorers.saved_media import read_json, saved

ROW = Sample(id="a", fields={"detections": '{"dog": []}'})


def test_the_outputs_own_json_comes_first():
    output = Output.of(Json({"detections": {"cat": []}}))

    assert saved(ROW, output, "detections") == {"cat": []}


def test_details_come_before_the_row():
    assert saved(ROW, Output(details={"detections": {"bird": []}}), "detections") == {
        "bird": []
    }


def test_a_column_of_json_text_is_read():
    assert saved(ROW, Output(), "detections") == {"dog": []}


def test_json_with_an_image_belongs_to_that_candidate():
    candidates = tuple(
        Candidate((Image(b"x"), Json({"cosine": value}))) for value in (0.1, 0.2)
    )

    assert saved(ROW, Output(candidates).only(1), "cosine") == 0.2


def test_nothing_saved_is_none():
    assert saved(Sample(id="a"), Output.of("text"), "detections") is None


@pytest.mark.parametrize(
    ("cell", "value"), [("[1]", [1]), ("plain", "plain"), (3, 3), ("", "")]
)
def test_text_that_is_not_json_stays_text(cell, value):
    assert read_json(cell) == value


def test_a_missing_reply_of_a_specialist_is_a_judge_error():
    score = no_verdict("no cosine")

    assert (score.value, score.outcome, score.details) == (
        None,
        Outcome.JUDGE_ERROR,
        {"reason": "no cosine"},
    )
