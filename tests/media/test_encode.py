"""Arrays and images as media."""

import numpy as np
import pytest
from made_media import RED, tone
from PIL import Image as pillow

from assay.core import UsageError
from assay.media import audio_from, decode_audio, decode_image, image_from


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 1), (4, 6, 3), (4, 6, 4)])
def test_an_array_comes_back_as_the_image_it_was(shape):
    pixels = np.random.RandomState(0).randint(0, 256, shape).astype(np.uint8)
    if shape[-1] == 4:
        pixels[..., 3] = 255

    image = image_from(pixels)

    expected = pixels.reshape(4, 6, -1)[:, :, :3]
    assert image.format == "png"
    assert np.array_equal(
        np.asarray(decode_image(image)), np.broadcast_to(expected, (4, 6, 3))
    )


def test_floats_from_zero_to_one_are_bytes():
    assert decode_image(image_from(np.array([[0.0, 0.5, 1.0]]))).getpixel((1, 0)) == (
        128,
        128,
        128,
    )


def test_a_pillow_image_is_saved_as_it_is():
    assert (
        decode_image(image_from(pillow.new("RGB", (2, 2), RED))).getpixel((1, 1)) == RED
    )


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 4, 6)),
        np.zeros((0, 4)),
        np.zeros(4),
        np.full((2, 2), 2.0),
        np.full((2, 2), np.nan),
        np.zeros((2, 2), np.int32),
    ],
)
def test_an_array_that_is_not_an_image_is_refused(array):
    with pytest.raises(UsageError, match="no image can be made of"):
        image_from(array)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    ("subtype", "error"), [("PCM_16", 1 / 32_768), ("FLOAT", 1e-7)]
)
def test_samples_come_back_as_the_sound_they_were(subtype, error, channels):
    samples = tone(22_050, channels=channels)

    made = decode_audio(audio_from(samples, 22_050, subtype=subtype))

    assert made.rate == 22_050
    assert made.samples == pytest.approx(samples, abs=error)


def test_integers_of_16_bits_are_kept_exactly():
    samples = np.array([-32_768, -1, 0, 32_767], np.int16)

    assert (
        decode_audio(audio_from(samples, 8_000)).samples * 32_768
    ).tolist() == samples.tolist()


def test_equal_sounds_have_equal_digests():
    assert (
        audio_from(tone(), 16_000, subtype="FLOAT").digest
        == audio_from(tone(), 16_000, subtype="FLOAT").digest
    )


def test_a_file_of_floats_keeps_values_above_one():
    assert (
        decode_audio(
            audio_from(np.array([0.0, 2.5]), 8_000, subtype="FLOAT")
        ).samples.max()
        == 2.5
    )


@pytest.mark.parametrize(
    ("samples", "rate", "match"),
    [
        (
            np.array([0.0, 1.5]),
            8_000,
            "samples up to 1.5 would be cut at 1; fix: scale them",
        ),
        (np.array([np.nan]), 8_000, "not finite"),
        (np.zeros(0), 8_000, "shape"),
        (np.zeros((2, 2, 2)), 8_000, "shape"),
        (np.zeros((2, 16_000)), 8_000, "frames by channels"),
        (np.zeros(2, np.uint8), 8_000, "uint8 samples"),
        (np.zeros(2), 0, "sampling rate"),
    ],
)
def test_an_array_that_is_not_sound_is_refused(samples, rate, match):
    with pytest.raises(UsageError, match=match):
        audio_from(samples, rate)
