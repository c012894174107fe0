"""Sounds: decoded as they are, changed only when asked, refused where the file is not what it says."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from made_media import sound, tone

from assay.core import Audio, DataError, UsageError
from assay.media import Limits, decode_audio

SPEECH = Path(__file__).parents[2].parent / "shared" / "data" / "speech_samples"


def header(frames, rate=16_000, channels=1):
    """A WAV header that promises frames of 16 bits."""
    size = frames * channels * 2
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        36 + size,
        b"WAVE",
        b"fmt ",
        16,
        1,
        channels,
        rate,
        rate * channels * 2,
        channels * 2,
        16,
        b"data",
        size,
    )


def test_a_sound_is_decoded_as_it_is_in_the_file():
    made = decode_audio(Audio(sound(tone(), subtype="FLOAT")))

    assert (made.rate, made.channels, made.seconds, made.conversions) == (
        16_000,
        1,
        1.0,
        (),
    )
    assert made.samples.dtype == np.float32
    assert made.samples == pytest.approx(tone().astype(np.float32))


@pytest.mark.parametrize(
    ("format", "subtype"),
    [
        ("WAV", "PCM_16"),
        ("WAV", "PCM_24"),
        ("FLAC", None),
        ("OGG", None),
        ("MP3", None),
    ],
)
def test_formats_that_are_understood(format, subtype):
    made = decode_audio(Audio(sound(tone(seconds=2), format=format, subtype=subtype)))

    assert made.rate == 16_000
    assert made.seconds == pytest.approx(2.0, abs=0.1)
    assert np.sqrt(np.mean(made.samples**2)) == pytest.approx(
        0.5 / np.sqrt(2), abs=0.02
    )


def test_an_mp3_called_wav_is_an_mp3(tmp_path):
    path = tmp_path / "clip.wav"
    path.write_bytes(sound(tone(), format="MP3"))

    assert decode_audio(Audio(path)).seconds == pytest.approx(1.0, abs=0.1)


def test_stereo_is_kept_unless_one_channel_is_asked_for():
    left_only = np.stack([tone(), np.zeros(16_000)], axis=1)
    data = sound(left_only, subtype="FLOAT")

    kept, mixed = decode_audio(Audio(data)), decode_audio(Audio(data), channels=1)

    assert kept.samples.shape == (16_000, 2)
    assert mixed.samples == pytest.approx(tone().astype(np.float32) / 2)
    assert mixed.conversions == ("mixed 2 channels to 1",)


def test_another_rate_is_made_when_asked_for_and_recorded():
    made = decode_audio(
        Audio(sound(tone(44_100), 44_100, subtype="FLOAT")), rate=16_000
    )

    assert (made.rate, len(made.samples)) == (16_000, 16_000)
    assert made.conversions == ("resampled 44100 Hz to 16000 Hz",)


def test_eight_channels_at_192_khz_are_refused_unless_they_are_mixed():
    many = Audio(sound(tone(192_000, 0.1, channels=8), 192_000))

    with pytest.raises(DataError, match="8 channels at 192,000 Hz; fix: mix it down"):
        decode_audio(many)
    assert decode_audio(many, channels=1, rate=16_000).samples.shape == (1600,)


def nan_samples():
    samples = tone().astype(np.float32)
    samples[5:8] = np.nan
    return sound(samples, subtype="FLOAT")


BROKEN = {
    "truncated WAV": (
        lambda: sound(tone())[:16_022],
        "the WAV is cut off: 7989 of 16000 frames",
    ),
    "header only": (lambda: header(16_000), "the WAV is cut off: 0 of 16000 frames"),
    "no data chunk": (lambda: header(0)[:36], "the WAV has a header and no samples"),
    "NaN samples": (nan_samples, "3 of 16000 samples are not finite"),
    "zero length": (lambda: header(0), "the audio has no samples"),
    "0 bytes": (lambda: b"", "the audio is empty: 0 bytes"),
    "web page": (
        lambda: b"<html>404</html>",
        "not an audio: the bytes are those of a web page",
    ),
    "picture": (
        lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 30,
        "not an audio: the bytes are those of a png file",
    ),
    "truncated FLAC": (
        lambda: (d := sound(tone(), format="FLAC"))[: len(d) // 2],
        "the flac (is cut off|cannot be decoded)",
    ),
    "truncated MP3": (
        lambda: (d := sound(tone(seconds=3), format="MP3"))[: len(d) // 2],
        "the mp3 is cut off: .* of 48000",
    ),
    "truncated Ogg": (
        lambda: sound(tone(seconds=3), format="OGG")[:-9],
        "the Ogg is cut off: its last page needs 9 bytes",
    ),
    "format after samples": (
        lambda: b"RIFF\x10\0\0\0WAVEdata\x04\0\0\0abcd",
        "samples but no format",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_sound_is_one_located_line(name, tmp_path):
    make, match = BROKEN[name]
    path = tmp_path / "clip.wav"
    path.write_bytes(make())

    with pytest.raises(DataError, match=match) as caught:
        decode_audio(Audio(path))

    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_sound_longer_than_the_limit_is_refused_by_its_header():
    data = sound(tone(8_000, 3), 8_000)

    with pytest.raises(DataError, match="too long"):
        decode_audio(Audio(data), limits=Limits(seconds=2))
    with pytest.raises(DataError, match="too long"):
        decode_audio(Audio(data), limits=Limits(samples=20_000))


def test_a_wav_written_to_a_pipe_has_no_length_and_is_read_to_its_end():
    whole = sound(tone(), subtype="PCM_16")
    at = whole.index(b"data")
    piped = (
        whole[:4]
        + b"\xff\xff\xff\xff"
        + whole[8 : at + 4]
        + b"\xff\xff\xff\xff"
        + whole[at + 8 :]
    )

    assert len(decode_audio(Audio(piped)).samples) == 16_000


def test_more_channels_than_the_file_has_cannot_be_made():
    with pytest.raises(UsageError, match="cannot make 2 channels"):
        decode_audio(Audio(sound(tone())), channels=2)


@pytest.mark.skipif(
    not SPEECH.exists(), reason="shared/data/speech_samples is not here"
)
@pytest.mark.parametrize("name", ["jfk.flac", "spk1_snt1.wav"])
def test_real_recordings_are_brought_to_16_khz_mono(name):
    made = decode_audio(Audio(SPEECH / name), rate=16_000, channels=1)

    assert (made.rate, made.samples.ndim) == (16_000, 1)
    assert 1 < made.seconds < 12
    assert np.abs(made.samples).max() > 0.01


def stereo(left, right, rate=16000):
    stream = io.BytesIO()
    soundfile.write(stream, np.column_stack([left, right]), rate, format="WAV")
    return Audio(stream.getvalue())


TONE = 0.5 * np.sin(np.arange(1600) / 10)


def test_channels_that_cancel_each_other_are_not_mixed_to_silence():
    made = decode_audio(stereo(TONE, -TONE), channels=1)

    assert np.abs(made.samples).max() > 0.4
    assert made.conversions == ("took channel 1 of 2: mixed, they cancel each other",)


def test_the_louder_of_two_channels_that_cancel_is_taken():
    made = decode_audio(stereo(-0.9 * TONE, TONE), channels=1)

    assert made.conversions[0].startswith("took channel 2 of 2")


@pytest.mark.parametrize("right", [TONE, 0 * TONE, 0.3 * TONE[::-1], -0.5 * TONE])
def test_other_channels_are_mixed(right):
    made = decode_audio(stereo(TONE, right), channels=1)

    assert made.conversions == ("mixed 2 channels to 1",)
    assert np.allclose(made.samples, (TONE + right) / 2, atol=1e-3)


def test_silence_is_mixed_to_silence():
    made = decode_audio(stereo(0 * TONE, 0 * TONE), channels=1)

    assert made.conversions == ("mixed 2 channels to 1",)


def test_speech_that_cancels_beside_a_hum_that_does_not_is_kept():
    hum = 0.2 * TONE[::-1]

    made = decode_audio(stereo(TONE + hum, -TONE + hum), channels=1)

    assert made.conversions[0].startswith("took channel 1 of 2")
    assert np.corrcoef(made.samples, TONE)[0, 1] > 0.9


LONG = np.arange(64_000)
VOICE = 0.3 * np.sin(LONG / 7) * (1 + np.sin(LONG / 3000))
SHARED = {
    "a constant offset": 0.3,
    "a loud hum": 0.4 * np.sin(LONG / 50),
    "noise": 0.2 * np.random.default_rng(0).normal(size=len(LONG)),
}


@pytest.mark.parametrize("name", SHARED)
def test_speech_that_cancels_beside_what_both_channels_share_is_kept(name):
    shared = SHARED[name]

    made = decode_audio(stereo(VOICE + shared, -VOICE + shared), channels=1)

    assert made.conversions[0].startswith("took channel")
    assert abs(np.corrcoef(made.samples, VOICE)[0, 1]) > 0.6


def test_the_channel_with_what_would_be_lost_is_taken():
    noise = 0.5 * np.random.default_rng(0).normal(size=len(LONG))
    stream = io.BytesIO()
    channels = np.column_stack([noise, -VOICE, VOICE])
    soundfile.write(stream, channels, 16000, format="WAV", subtype="FLOAT")

    made = decode_audio(Audio(stream.getvalue()), channels=1)

    assert made.conversions[0].startswith("took channel 2 of 3")


def test_channels_with_two_speakers_or_a_delay_are_mixed():
    first, second = np.random.default_rng(1).normal(0, 0.1, size=(2, 64_000))

    for right in (second, np.roll(first, 16), np.roll(first, 3)):
        made = decode_audio(stereo(first, right), channels=1)
        assert made.conversions == ("mixed 2 channels to 1",)


def test_a_clip_whose_channels_cancel_in_one_half_is_not_mixed():
    long = 0.5 * np.sin(np.arange(64_000) / 10)
    right = np.concatenate([long[:32_000], -long[32_000:]])

    made = decode_audio(stereo(long, right), channels=1)

    assert made.conversions[0].startswith("took channel 1 of 2")
    assert np.abs(made.samples[40_000:]).max() > 0.4


def test_six_channels_of_which_one_speaks_are_mixed():
    stream = io.BytesIO()
    channels = np.zeros((1600, 6))
    channels[:, 2] = TONE
    soundfile.write(stream, channels, 16000, format="WAV")

    made = decode_audio(Audio(stream.getvalue()), channels=1)

    assert made.conversions == ("mixed 6 channels to 1",)
