"""What an endpoint does not take is sent as PNG or WAV, and the record says so."""

import io

import numpy as np
import pytest

from assay.core import Audio, Image, Message, Prompt
from assay.media import audio_from, decode_audio
from assay.media.prompt_media import PLAIN_AUDIO, WEB_IMAGES, needs_change, portable

FORMATS = {"image": WEB_IMAGES, "audio": PLAIN_AUDIO}


def picture(name: str) -> Image:
    from PIL import Image as pillow

    buffer = io.BytesIO()
    pillow.new("RGB", (8, 8), (200, 30, 30)).save(buffer, format=name)
    return Image(buffer.getvalue())


def sound(name: str) -> Audio:
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    soundfile.write(
        buffer, np.linspace(-0.5, 0.5, 1600), 16_000, format=name, subtype="PCM_16"
    )
    return Audio(buffer.getvalue())


@pytest.mark.parametrize("name", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_is_taken_is_sent_byte_for_byte(name):
    prompt = Prompt((Message.of("user", picture(name), "?"),))

    assert not needs_change(prompt, FORMATS)
    assert portable(prompt, FORMATS) == (prompt, ())


@pytest.mark.parametrize("name", ["BMP", "TIFF", "PPM", "JPEG2000"])
def test_other_images_become_png(name):
    changed, done = portable(Prompt((Message.of("user", picture(name), "?"),)), FORMATS)

    assert changed.media[0].format == "png" and changed.messages[0].text == "?"
    assert done == (f"converted {picture(name).format} to png",)


@pytest.mark.parametrize("name", ["AIFF", "AU", "NIST"])
def test_other_audio_becomes_wav_sample_for_sample(name):
    changed, done = portable(Prompt((Message.of("user", sound(name)),)), FORMATS)

    [made] = changed.media
    assert made.format == "wav" and done == (f"converted {sound(name).format} to wav",)
    assert np.array_equal(decode_audio(made).samples, decode_audio(sound(name)).samples)


def test_bytes_of_no_known_format_are_left_to_the_checks():
    prompt = Prompt((Message.of("user", Image(b"whatever")),))

    assert not needs_change(prompt, FORMATS)


def test_a_loud_recording_is_not_clipped():
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    soundfile.write(
        buffer, np.array([2.0, -2.0] * 80), 16_000, format="AIFF", subtype="FLOAT"
    )

    changed, _ = portable(
        Prompt((Message.of("user", Audio(buffer.getvalue())),)), FORMATS
    )

    assert decode_audio(changed.media[0]).samples.max() == 2.0
    assert audio_from(np.zeros(10, np.float32), 16_000).format == "wav"
