"""FID through the scorer: features kept with each sample, one distance of all of them."""

import asyncio
import base64
import json
import struct

import numpy as np
import pytest

from assay.core import (
    Image,
    Outcome,
    Output,
    Sample,
    ScoreRecord,
    SummaryContext,
    UsageError,
)
from assay.runner.scoring.scoring import Scoring
from assay.runner.summary.table_rows import checked_result
from assay.scorers.image.fid import (
    Fid,
    FrechetSummary,
    frechet_distance,
    packed,
    unpacked,
)

MADE, WANTED = Image(b"\x89PNG made"), Image(b"\x89PNG wanted")


class Eyes:
    """Gives the features it was told to, by the picture."""

    def __init__(self, features):
        self.features, self.asked = features, []

    async def ask(self, prompt, options=None):
        self.asked.append(prompt)
        return Output.of(
            json.dumps({"features": self.features[prompt.media[0].digest]})
        )


def scored(output, sample=Sample("a", target=WANTED), features=None, **options):
    eyes = Eyes(features or {MADE.digest: [1.0, 2.0], WANTED.digest: [3.0, 4.0]})
    return asyncio.run(Fid(models={"features": eyes}, **options)(sample, output)), eyes


def record(made, reference, id="a"):
    details = {
        "made": [packed(list(row)) for row in made],
        "reference": [packed(list(row)) for row in reference],
    }
    return ScoreRecord("t", "m", id, "fid", "", {}, Outcome.SCORED, details=details)


def summed(records, statistics=""):
    context = SummaryContext("t", "m", "fid@test", "fid", len(records), 0, False)
    return list(FrechetSummary(statistics)(records, context))


def test_features_of_every_image_and_of_the_target_are_stored():
    score, eyes = scored(Output.of(MADE, MADE))

    assert [list(unpacked(text)) for text in score.details["made"]] == [[1.0, 2.0]] * 2
    assert [list(unpacked(text)) for text in score.details["reference"]] == [[3.0, 4.0]]
    assert (
        score.outcome is Outcome.SCORED and score.details["shown"] == [MADE.digest] * 2
    )
    assert eyes.asked[0].messages[0].parts[1].text == '{"features": true}'


def test_the_distance_is_that_of_all_features_together():
    rng = np.random.default_rng(0)
    made, reference = (
        rng.normal(size=(40, 3)).astype("f4"),
        rng.normal(1, 2, size=(40, 3)).astype("f4"),
    )

    (result,) = summed(
        [record(made[n : n + 4], reference[n : n + 4], str(n)) for n in range(0, 40, 4)]
    )

    assert result.value == pytest.approx(frechet_distance(made, reference, fewest=3)[0])
    assert (result.n, result.higher_is_better) == (
        10,
        False,
    ) and result.interval.startswith("none")
    assert result.details == {"pictures": 40, "reference": 40, "features": 3}
    assert any("fewer than 10000" in flag for flag in result.flags)


def test_a_set_smaller_than_its_features_is_refused():
    with pytest.raises(
        UsageError, match="a Fréchet distance of 2 images says more about their number"
    ):
        summed([record([[1, 2, 3], [2, 3, 4]], [[1, 2, 3], [2, 3, 4]])])


def test_the_reference_may_be_known_by_its_statistics_alone(tmp_path):
    np.savez(tmp_path / "s.npz", mu=np.zeros(2), sigma=np.eye(2))
    made = np.array([[3, 4], [4, 4], [3, 5], [2, 3]], "f4")
    score, eyes = scored(
        Output.of(MADE), Sample("a"), statistics=str(tmp_path / "s.npz")
    )

    (result,) = summed([record(made, [])], str(tmp_path / "s.npz"))

    assert score.details["reference"] == [] and len(eyes.asked) == 1
    mean, covariance = made.mean(0), np.cov(made, rowvar=False)
    root = np.linalg.eigvalsh(covariance)
    expected = mean @ mean + np.trace(covariance) + 2 - 2 * np.sqrt(root).sum()
    assert result.value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"mu": np.zeros(3), "sigma": np.eye(3)}, "of 3 features, images of 2"),
        ({"mu": np.zeros(2)}, "cannot read mu"),
    ],
)
def test_statistics_of_another_width_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "s.npz", **arrays)

    with pytest.raises(UsageError, match=message):
        summed([record([[1, 2], [2, 3], [3, 3]], [])], str(tmp_path / "s.npz"))


def test_a_missing_statistics_file_is_reported_before_the_run(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        Fid(statistics=str(tmp_path / "none.npz"))


NOT_A_NUMBER = base64.b64encode(struct.pack("<f", float("nan"))).decode()


@pytest.mark.parametrize("features", ["???", NOT_A_NUMBER, [], [[1.0]], 7])
def test_unusable_features_are_a_judge_error(features):
    score, _ = scored(
        Output.of(MADE), features={MADE.digest: features, WANTED.digest: [1.0]}
    )

    assert score.outcome is Outcome.JUDGE_ERROR


def test_without_an_image_or_a_reference_nothing_is_compared():
    assert scored(Output.of("words"))[0].outcome is Outcome.MODEL_ERROR
    assert scored(Output.of(MADE), Sample("a"))[0].outcome is Outcome.DATA_ERROR


def test_samples_without_an_image_are_flagged():
    rng = np.random.default_rng(0)
    made, reference = (
        rng.normal(size=(8, 2)).astype("f4"),
        rng.normal(size=(8, 2)).astype("f4"),
    )
    lost = ScoreRecord("t", "m", "lost", "fid", "", {}, Outcome.MODEL_ERROR)
    refused = ScoreRecord("t", "m", "refused", "fid", "", {"fid": 0.0}, Outcome.REFUSED)

    (result,) = summed([record(made, reference), lost, refused])

    assert (result.n, result.n_expected) == (1, 3)
    assert "1 answers have no image and are left out" in result.flags
    assert checked_result(result).flags[-1] == "unresolved 33.3%: in doubt"


def test_without_any_image_there_is_a_row_without_a_value():
    lost = ScoreRecord("t", "m", "lost", "fid", "", {}, Outcome.MODEL_ERROR)

    (result,) = summed([lost])

    assert (result.value, result.n, result.outcomes) == (None, 0, {"model_error": 1})


def test_samples_with_features_and_no_value_are_scored():
    eyes = Eyes({MADE.digest: [1.0, 2.0], WANTED.digest: [3.0, 4.0]})
    scoring = Scoring.of("fid", Fid(), "t", "m").given({"features": eyes})

    score = asyncio.run(
        scoring.score_async(Sample("a", target=WANTED), Output.of(MADE))
    )

    assert (score.value, score.outcome) == (None, Outcome.SCORED) and score.details[
        "made"
    ]
