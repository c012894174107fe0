"""Digit accuracy: the judge knows real digits, and what it knows comes from its labels."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="pip install scikit-learn")

from assay.core import Outcome, Output, Sample
from assay.media import image_from
from assay.media.digits import digits
from assay.scorers.image.digit_accuracy import (
    DARKEST,
    DigitAccuracy,
    judge_accuracy,
    train_classifier,
)


def real(position: int) -> tuple[Output, str]:
    half = digits().drawing
    return Output.of(image_from(half.pixels[position].reshape(8, 8))), str(
        half.labels[position]
    )


def accuracy(judge) -> float:
    half = digits().drawing
    return float((judge.predict(half.pixels * DARKEST) == half.labels).mean())


def test_real_digits_it_was_not_trained_on_are_recognised():
    scores = [
        DigitAccuracy()(Sample("a", target=label), output)
        for output, label in map(real, range(100))
    ]

    assert sum(score.value for score in scores) >= 97
    assert judge_accuracy() > 0.97


def test_a_digit_that_was_not_asked_for_scores_zero():
    output, label = real(0)

    score = DigitAccuracy()(Sample("a", target=str((int(label) + 1) % 10)), output)

    assert score.value == 0.0 and score.answer == label


def test_the_score_names_the_data_its_judge_was_trained_on():
    output, label = real(0)

    score = DigitAccuracy()(Sample("a", target=label), output)

    assert score.details["split"] == digits().digest[:16]
    assert score.details["judge_on_real_digits"] == judge_accuracy()


def test_a_judge_trained_on_permuted_labels_is_at_chance():
    half = digits().judging
    permuted = np.random.default_rng(0).permutation(half.labels)

    assert accuracy(train_classifier(half.pixels, half.labels)) > 0.97
    assert accuracy(train_classifier(half.pixels, permuted)) < 0.3


def test_an_output_without_an_image_counts_as_zero():
    score = DigitAccuracy()(Sample("a", target="3"), Output.of("a three"))

    assert score.value == 0.0 and score.outcome is Outcome.UNPARSED


def test_noise_is_right_about_as_often_as_chance():
    rng = np.random.default_rng(0)
    outputs = [Output.of(image_from(rng.random((8, 8)))) for _ in range(50)]

    right = sum(
        DigitAccuracy()(Sample("a", target=str(i % 10)), output).value
        for i, output in enumerate(outputs)
    )

    assert right < 15
