"""Long recordings are cut at pauses, whole and in order; where there is none, nothing is guessed."""

import numpy as np
import pytest

from assay.core import ModelError
from assay.models.specialists.recognisers import split_recording

RATE = 16_000
RANDOM = np.random.default_rng(7)


def speech(
    *seconds: float, pause: float = 0.4, random: np.random.Generator = RANDOM
) -> np.ndarray:
    """Noise for speech, with a faint hiss in the pauses."""
    parts = []
    for length in seconds:
        parts.append(random.normal(0, 0.1, int(length * RATE)))
        parts.append(random.normal(0, 0.002, int(pause * RATE)))
    return np.concatenate(parts).astype(np.float32)


def test_what_is_short_enough_is_left_as_it_is():
    samples = speech(5, 5)

    [piece] = split_recording(samples, RATE, 30)

    assert piece is samples


@pytest.mark.parametrize("longest", [5, 12, 30])
def test_pieces_are_the_recording_in_order_and_none_is_too_long(longest):
    samples = speech(*RANDOM.uniform(0.5, 2, 60))

    pieces = split_recording(samples, RATE, longest)

    assert np.array_equal(np.concatenate(pieces), samples)
    assert len(pieces) > 1 and max(map(len, pieces)) <= longest * RATE


def test_every_cut_is_in_a_pause():
    samples = speech(*RANDOM.uniform(0.5, 2, 60))

    pieces = split_recording(samples, RATE, 12)

    for piece in pieces[:-1]:
        assert np.abs(piece[-RATE // 50 :]).max() < 0.02


def test_a_recording_without_a_pause_is_refused_and_not_cut_through_a_word():
    with pytest.raises(
        ModelError,
        match="cannot hear 40 s at once, and finds no pause to cut at between 15 and 30 s",
    ):
        split_recording(speech(40, pause=0), RATE, 30)


def test_silent_pieces_are_left_out():
    silence = np.zeros(60 * RATE, np.float32)

    assert split_recording(silence, RATE, 30) == []
    [said] = split_recording(np.concatenate([silence, speech(3)]), RATE, 30)
    assert len(said) < 30 * RATE and np.abs(said).max() > 0.1


@pytest.mark.parametrize("gain", [1.0, 0.1, 0.005])
def test_a_faint_recording_is_heard_as_whole_as_a_loud_one(gain):
    samples = speech(*RANDOM.uniform(0.5, 2, 60))

    pieces = split_recording((gain * samples).astype(np.float32), RATE, 30)

    assert sum(map(len, pieces)) == len(samples)


@pytest.mark.parametrize("hiss", [0.0005, 0.003])
def test_a_recording_in_which_hardly_anybody_speaks_is_cut_all_the_same(hiss):
    samples = RANDOM.normal(0, hiss, 300 * RATE).astype(np.float32)
    said = speech(2, pause=0)
    samples[170 * RATE : 170 * RATE + len(said)] += said

    pieces = split_recording(samples, RATE, 30)

    [loud] = [piece for piece in pieces if np.abs(piece).max() > 0.1]
    assert np.count_nonzero(np.abs(loud) > 0.05) == np.count_nonzero(
        np.abs(samples) > 0.05
    )


def test_a_recording_that_is_shifted_off_zero_is_cut_at_the_same_pauses():
    # Of pauses that are about as quiet rounding may choose another: these are the same each time.
    random = np.random.default_rng(5)
    samples = speech(*random.uniform(0.5, 2, 60), random=random)

    pieces, shifted = (
        split_recording(samples, RATE, 30),
        split_recording(samples + np.float32(0.1), RATE, 30),
    )

    assert [len(piece) for piece in shifted] == [len(piece) for piece in pieces]


@pytest.mark.parametrize("more", [1, 100, 319, 321])
def test_a_rest_shorter_than_a_frame_is_accepted(more):
    samples = np.concatenate([speech(29.5, pause=0.5), np.zeros(more, np.float32)])

    pieces = split_recording(samples, RATE, 30)

    assert len(samples) - sum(map(len, pieces)) <= RATE // 2 + more
