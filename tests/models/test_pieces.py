"""Long recordings are cut at pauses, whole and in order; where there is none, nothing is guessed."""

import numpy as np
import pytest

from assay.core import ModelError
from assay.models.specialists.pieces import in_pieces

RATE = 16_000
RANDOM = np.random.default_rng(7)


def speech(*seconds: float, pause: float = 0.4) -> np.ndarray:
    """Noise for speech, with a faint hiss in the pauses."""
    parts = []
    for length in seconds:
        parts.append(RANDOM.normal(0, 0.1, int(length * RATE)))
        parts.append(RANDOM.normal(0, 0.002, int(pause * RATE)))
    return np.concatenate(parts).astype(np.float32)


def test_what_is_short_enough_is_left_as_it_is():
    samples = speech(5, 5)

    [piece] = in_pieces(samples, RATE, 30)

    assert piece is samples


@pytest.mark.parametrize("longest", [5, 12, 30])
def test_pieces_are_the_recording_in_order_and_none_is_too_long(longest):
    samples = speech(*RANDOM.uniform(0.5, 2, 60))

    pieces = in_pieces(samples, RATE, longest)

    assert np.array_equal(np.concatenate(pieces), samples)
    assert len(pieces) > 1 and max(map(len, pieces)) <= longest * RATE


def test_every_cut_is_in_a_pause():
    samples = speech(*RANDOM.uniform(0.5, 2, 60))

    pieces = in_pieces(samples, RATE, 12)

    for piece in pieces[:-1]:
        assert np.abs(piece[-RATE // 50 :]).max() < 0.02


def test_a_recording_without_a_pause_is_refused_and_not_cut_through_a_word():
    with pytest.raises(ModelError, match="cannot hear 40 s at once, and finds no pause to cut at between 15 and 30 s"):
        in_pieces(speech(40, pause=0), RATE, 30)


def test_silent_pieces_are_left_out():
    silence = np.zeros(60 * RATE, np.float32)

    assert in_pieces(silence, RATE, 30) == []
    [said] = in_pieces(np.concatenate([silence, speech(3)]), RATE, 30)
    assert len(said) < 30 * RATE and np.abs(said).max() > 0.1
