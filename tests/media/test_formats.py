"""Formats beyond the usual: named as what they are, decoded or refused with what helps; none breaks a decoder."""

import importlib.util
import io

import numpy as np
import pytest
from each_row import each

from assay.core import Audio, DataError, Image, MissingExtra
from assay.core.media import sniff
from assay.media import decode_audio, decode_image
from assay.media.checks import check_media

soundfile = pytest.importorskip("soundfile")
TONE = (0.3 * np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)).astype(np.float32)
HEADERLESS = {"RAW", "SD2"}
"""Files that say nothing of what they are; writing SD2 leaves a second file in the current folder."""
has_av = importlib.util.find_spec("av") is not None
has_heif = importlib.util.find_spec("pi_heif") is not None


def written(name: str, subtype: str) -> bytes:
    buffer = io.BytesIO()
    rate = 8_000 if subtype in ("GSM610", "G721_32", "G723_24") else 16_000
    soundfile.write(buffer, TONE, rate, format=name, subtype=subtype)
    return buffer.getvalue()


def all_formats():
    for name in soundfile.available_formats():
        if name not in HEADERLESS:
            for subtype in soundfile.available_subtypes(name):
                yield name, subtype


@each(("name", "subtype"), all_formats())
def test_all_that_libsndfile_writes_is_read_again(name, subtype):
    try:
        data = written(name, subtype)
    except Exception:
        pytest.skip("libsndfile does not write it")
    try:
        reference, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    except Exception:
        pytest.skip("libsndfile does not read what it wrote")

    sound = decode_audio(Audio(data))

    assert sound.rate == rate and np.allclose(sound.samples, reference, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["AIFF", "AU", "W64", "RF64", "NIST", "WAV", "SVX", "CAF"]
)
@pytest.mark.parametrize("part", [0.66, 0.995])
def test_a_file_that_was_cut_is_refused_and_named(name, part):
    data = written(name, "PCM_16")

    assert check_media(Audio(data))
    with pytest.raises(DataError, match=r"is cut off"):
        check_media(Audio(data[: int(len(data) * part)]))


@pytest.mark.parametrize(
    "rate", [8_000, 11_025, 12_000, 16_000, 24_000, 32_000, 44_100, 48_000]
)
def test_an_mp3_of_any_rate_is_one_without_a_tag_too(rate):
    buffer = io.BytesIO()
    soundfile.write(buffer, TONE, rate, format="MP3")

    assert sniff(buffer.getvalue()[:64]) == "mp3"
    assert decode_audio(Audio(buffer.getvalue())).rate == rate


def test_a_packed_sphere_file_says_how_to_unpack_it():
    header = (
        "NIST_1A\n   1024\nchannel_count -i 1\nsample_count -i 16000\nsample_rate -i 16000\nsample_n_bytes -i 2\n"
        "sample_coding -s26 pcm,embedded-shorten-v2.00\nend_head\n"
    )

    with pytest.raises(
        DataError,
        match=r"packed \(pcm,embedded-shorten-v2.00\): unpack it, with `w_decode`",
    ):
        decode_audio(Audio(header.encode().ljust(1024) + b"\0" * 9000))


CONTAINERS = [
    ("mp4", "aac", "mp4"),
    ("ipod", "aac", "m4a"),
    ("webm", "libopus", "webm"),
    ("matroska", "aac", "matroska"),
    ("adts", "aac", "aac"),
    ("asf", "wmav2", "asf"),
    ("amr", "libopencore_amrnb", "amr"),
    ("mp2", "mp2", "mp2"),
]


def in_container(container: str, codec: str) -> bytes:
    import av

    buffer = io.BytesIO()
    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV does not write {codec}")
    rate = {"libopus": 48_000, "wmav2": 44_100, "libopencore_amrnb": 8_000}.get(
        codec, 16_000
    )
    with av.open(buffer, "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate, layout="mono")
        stream.bit_rate = 12_200 if container == "amr" else 64_000
        frame = av.AudioFrame.from_ndarray(
            (TONE[None] * 32_767).astype(np.int16), format="s16", layout="mono"
        )
        frame.sample_rate = 16_000
        kind = stream.codec_context.format.name
        resampler = av.AudioResampler(
            kind, "mono", rate, stream.codec_context.frame_size or 1024
        )
        for piece in [*resampler.resample(frame), *resampler.resample(None)]:
            file.mux(stream.encode(piece))
        file.mux(stream.encode(None))
    return buffer.getvalue()


@pytest.mark.skipif(not has_av, reason="pip install 'assay[media]'")
@pytest.mark.parametrize(("container", "codec", "name"), CONTAINERS)
def test_audio_in_a_container_is_heard(container, codec, name):
    data = in_container(container, codec)

    sound = decode_audio(Audio(data), rate=16_000, channels=1)

    assert sniff(data[:64]) == name
    assert 0.95 < sound.seconds < 1.2
    strongest = np.argmax(np.abs(np.fft.rfft(sound.samples[2000:10_000]))) * 2
    assert abs(int(strongest) - 440) <= 4


@pytest.mark.skipif(not has_av, reason="pip install 'assay[media]'")
@pytest.mark.parametrize(("container", "codec", "name"), CONTAINERS)
def test_a_container_that_was_spoiled_is_a_fault_of_the_row(container, codec, name):
    data = in_container(container, codec)
    noise = bytes(np.random.default_rng(3).integers(0, 256, len(data), dtype=np.uint8))

    for spoiled in (data[:80], data[:40] + noise[40:]):
        try:
            decode_audio(Audio(spoiled))
        except DataError as error:
            assert "the decoder broke down" not in str(error)


@pytest.mark.skipif(not has_av, reason="pip install 'assay[media]'")
@pytest.mark.parametrize(
    ("container", "codec"), [("webm", "libopus"), ("matroska", "aac"), ("mp4", "aac")]
)
@pytest.mark.parametrize("part", [0.3, 0.66, 0.995])
def test_a_container_that_was_cut_is_refused_and_no_shorter_clip(
    container, codec, part
):
    data = in_container(container, codec)

    with pytest.raises(DataError, match="is cut off"):
        decode_audio(Audio(data[: int(len(data) * part)]))


@pytest.mark.parametrize("name", ["m4a", "webm", "aac", "amr"])
def test_without_the_library_the_extra_is_named(name, monkeypatch):
    from assay.media import audio
    from assay.media.media_headers import DEFAULT_LIMITS

    monkeypatch.setitem(__import__("sys").modules, "av", None)

    with pytest.raises(
        MissingExtra, match=rf"the audio of {name} files.*pip install 'assay\[media\]'"
    ):
        audio.read_container(Audio(b""), name, DEFAULT_LIMITS)


def picture(name: str, **options) -> bytes:
    from PIL import Image as pillow

    buffer = io.BytesIO()
    pillow.new("RGB", (48, 32), (200, 30, 30)).save(buffer, format=name, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("AVIF", "avif"), ("JPEG2000", "jp2"), ("PPM", "ppm"), ("ICO", "ico")],
)
def test_rarer_images_are_decoded(name, expected):
    from PIL import features

    if name == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow does not write AVIF")
    data = picture(name)

    found = decode_image(Image(data))

    assert sniff(data[:64]) == expected and check_media(Image(data)).format == expected
    red, green, blue = found.getpixel((found.width // 2, found.height // 2))
    assert red > 150 and green < 80 and blue < 80


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 100


@pytest.mark.skipif(not has_heif, reason="pip install 'assay[media]'")
def test_a_broken_heic_is_called_one():
    with pytest.raises(DataError, match="the heic cannot be decoded"):
        decode_image(Image(HEIC))


@pytest.mark.skipif(has_heif, reason="pi-heif is installed")
def test_heic_without_its_library_names_the_extra():
    with pytest.raises(
        MissingExtra,
        match=r"pi-heif, which reads HEIC, is not installed.*assay\[media\]",
    ):
        decode_image(Image(HEIC))


def test_jpeg_xl_is_named_and_says_how_to_convert_it():
    with pytest.raises(
        DataError, match=r"JPEG XL cannot be decoded here; fix: convert it to PNG"
    ):
        decode_image(Image(b"\x00\x00\x00\x0cJXL \r\n\x87\n" + b"\0" * 40))


@pytest.mark.parametrize(
    ("brand", "others", "name"),
    [
        (b"isom", b"avc1", "mp4"),
        (b"mif1", b"avif", "avif"),
        (b"mif1", b"heic", "heic"),
        (b"M4A ", b"isom", "m4a"),
    ],
)
def test_boxes_are_distinguished_by_their_brands(brand, others, name):
    assert sniff(b"\0\0\0\x14ftyp" + brand + b"\0\0\0\0" + others) == name


def test_a_tiff_of_several_pages_says_so():
    from PIL import Image as pillow

    page = pillow.new("RGB", (8, 8))
    buffer = io.BytesIO()
    page.save(buffer, format="TIFF", save_all=True, append_images=[page])

    with pytest.raises(
        DataError,
        match="the tiff has 2 pages where one image is expected; fix: save the intended page",
    ):
        decode_image(Image(buffer.getvalue()))


def test_an_unknown_file_is_not_sent_in_a_circle():
    with pytest.raises(
        DataError,
        match=r"no known format.*fix: convert it to WAV or FLAC, or leave the row out",
    ):
        check_media(Audio(b"\x07\x07\x07\x07 whatever this is"))
