"""One broken medium among twenty rows: nineteen are scored, the other is one line with file, row and column."""

import base64
import json
import os
import struct

import numpy as np
import pytest
from made_media import animation, bomb, gradient, saved, sound, tone
from PIL import Image as pillow

import assay
from assay.core import DataError
from assay.datasets import open_dataset
from assay.media import decode_audio, decode_image

BAD = 7
CUT_OFF = "fix: get the file again"


class Echo:
    """A model that takes everything and looks at the bytes only."""

    abilities = assay.Abilities(accepts=frozenset({"text", "image", "audio"}))

    def __call__(self, request):
        (medium,) = request.prompt.media
        return str(len(medium.data()))


def header_only():
    return sound(tone())[:44]


def no_samples():
    size = struct.pack("<I", 36)
    return b"RIFF" + size + sound(tone())[8:40] + struct.pack("<I", 0)


def turned():
    exif = pillow.Exif()
    exif[0x0112] = 6
    return saved(gradient(), "JPEG", exif=exif)


BROKEN_IMAGES = {
    "44 truncated JPEG": (
        lambda: saved(gradient((400, 300)), "JPEG")[:-900],
        "the JPEG is cut off",
    ),
    "45 PNG without IEND": (
        lambda: saved(gradient(), "PNG")[:-12],
        "the PNG is cut off",
    ),
    "46 web page called .png": (
        lambda: b"<!DOCTYPE html><p>404",
        "not an image: the bytes are those of a web page",
    ),
    "47 bomb": (bomb, "the image is too large: 14,000 x 14,000 pixels"),
    "48 nothing at all": (lambda: b"", "the image is empty: 0 bytes"),
}
BROKEN_SOUNDS = {
    "51 truncated WAV": (
        lambda: (d := sound(tone()))[: len(d) // 2],
        "the WAV is cut off",
    ),
    "52 header only": (header_only, "the WAV is cut off: 0 of 16000 frames"),
    "56 zero length": (no_samples, "the audio has no samples"),
    "56 zero bytes": (lambda: b"", "the audio is empty: 0 bytes"),
}


def rows_with(tmp_path, kind, good, bad):
    """A dataset of twenty rows that name their files; the seventh is the bad one."""
    suffix = "png" if kind == "image" else "wav"
    lines = []
    for number in range(1, 21):
        data = bad if number == BAD else good
        (tmp_path / f"{number}.{suffix}").write_bytes(data)
        row = {
            "id": f"q{number}",
            kind: f"{number}.{suffix}",
            "question": "How large?",
            "answer": str(len(good)),
        }
        lines.append(json.dumps(row))
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(path, tmp_path):
    return assay.run(
        str(path), Echo(), output=str(tmp_path / "run"), scorers=["exact_match"]
    )


def data_errors(tmp_path):
    lines = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    scores = [line for line in map(json.loads, lines) if line["kind"] == "score"]
    return {
        s["id"]: s["details"]["error"]
        for s in scores
        if s.get("outcome", "scored") == "data_error"
    }


@pytest.mark.parametrize("case", BROKEN_IMAGES)
def test_a_broken_image_costs_its_own_row_only(case, tmp_path):
    make, words = BROKEN_IMAGES[case]
    path = rows_with(tmp_path, "image", saved(gradient(), "PNG"), make())

    result = run(path, tmp_path)

    assert dict(result[0].outcomes) == {"scored": 19, "data_error": 1}
    assert result[0].value == 1.0
    (line,) = data_errors(tmp_path).values()
    assert (
        line.startswith(f"{path}:{BAD}:image: {words}")
        and f"{BAD}.png" in line
        and "\n" not in line
    )


@pytest.mark.parametrize("case", BROKEN_SOUNDS)
def test_a_broken_sound_costs_its_own_row_only(case, tmp_path):
    make, words = BROKEN_SOUNDS[case]
    path = rows_with(tmp_path, "audio", sound(tone()), make())

    result = run(path, tmp_path)

    assert dict(result[0].outcomes) == {"scored": 19, "data_error": 1}
    (line,) = data_errors(tmp_path).values()
    assert line.startswith(f"{path}:{BAD}:audio: {words}") and "\n" not in line


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:40] + "*" + text[41:],
        lambda text: text[:-3],
        lambda text: text + "=",
    ],
    ids=["a stray character", "a cut end", "too much padding"],
)
def test_case_43_bad_base64_costs_its_own_row_only(change, tmp_path):
    good = base64.b64encode(saved(gradient(), "PNG")).decode()
    cells = [change(good) if number == BAD else good for number in range(1, 21)]
    size = len(saved(gradient(), "PNG"))
    rows = [
        {"id": f"q{n}", "image": cell, "question": "?", "answer": str(size)}
        for n, cell in enumerate(cells, 1)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")

    result = run(path, tmp_path)

    assert dict(result[0].outcomes) == {"scored": 19, "data_error": 1}
    assert result[0].value == 1.0
    (line,) = data_errors(tmp_path).values()
    assert (
        line.startswith(f"{path}:{BAD}:image: image is not valid base64")
        and len(line) < 400
    )


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("image", lambda: saved(gradient().convert("CMYK"), "JPEG")),
        ("image", turned),
        ("audio", lambda: sound(tone(), format="MP3")),
        ("audio", lambda: sound(tone(192_000, 0.05, channels=8), 192_000)),
    ],
    ids=["49 CMYK", "49 EXIF", "55 MP3 called .wav", "54 eight channels at 192 kHz"],
)
def test_what_is_only_unusual_is_asked_like_the_others(kind, make, tmp_path):
    good = saved(gradient(), "PNG") if kind == "image" else sound(tone())
    path = rows_with(tmp_path, kind, good, make())

    result = run(path, tmp_path)

    assert dict(result[0].outcomes) == {"scored": 20}


SEEN_WHEN_DECODED = {
    "50 animated GIF": (
        "image",
        lambda: animation("GIF"),
        "the gif has 3 frames where one image is expected",
    ),
    "45 PNG with a wrong checksum": (
        "image",
        lambda: (d := saved(gradient(), "PNG"))[:60] + bytes([d[60] ^ 255]) + d[61:],
        "the png cannot be decoded",
    ),
    "53 NaN samples": (
        "audio",
        lambda: sound(np.array([0.1, np.nan, 0.2]), subtype="FLOAT"),
        "1 of 3 samples are not finite",
    ),
    "54 eight channels": (
        "audio",
        lambda: sound(tone(192_000, 0.05, channels=8), 192_000),
        "the audio has 8 channels at 192,000 Hz; fix: mix it down",
    ),
    "55 MP3 of nothing": (
        "audio",
        lambda: b"ID3" + b"\0" * 400,
        "the mp3 cannot be decoded",
    ),
}


@pytest.mark.parametrize("case", SEEN_WHEN_DECODED)
def test_what_only_decoding_can_see_is_located_where_it_is_decoded(case, tmp_path):
    kind, make, words = SEEN_WHEN_DECODED[case]
    good = saved(gradient(), "PNG") if kind == "image" else sound(tone())
    path = rows_with(tmp_path, kind, good, make())
    decode = decode_image if kind == "image" else decode_audio
    faults = []

    for sample in open_dataset(path):
        try:
            decode(sample.media[0])
        except DataError as error:
            faults.append(str(error))

    (line,) = faults
    assert (
        line.startswith(f"{path}:{BAD}:{kind}: ")
        and words.partition(";")[0] in line
        and "\n" not in line
    )


def test_case_60_a_link_out_of_the_data_folder_is_not_followed(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    path = rows_with(folder, "image", saved(gradient(), "PNG"), b"")
    outside = tmp_path / "secret.png"
    outside.write_bytes(saved(gradient(), "PNG"))
    (folder / f"{BAD}.png").unlink()
    os.symlink(outside, folder / f"{BAD}.png")

    result = run(path, tmp_path)

    assert dict(result[0].outcomes) == {"scored": 19, "data_error": 1}
    (line,) = data_errors(tmp_path).values()
    assert line.startswith(
        f"{path}:{BAD}:image: the image file is outside the data folder, got '{BAD}.png'"
    )


@pytest.mark.parametrize(
    "name", ["../secret.png", "/etc/hostname", "a/../../secret.png"]
)
def test_a_path_that_leaves_the_data_folder_stops_a_run_that_is_to_stop(name, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(saved(gradient(), "PNG"))
    path = rows_with(folder, "image", saved(gradient(), "PNG"), b"")
    path.write_text(path.read_text().replace(f'"{BAD}.png"', json.dumps(name)))

    with pytest.raises(
        DataError, match=rf":{BAD}:image: the image file is outside the data folder"
    ):
        assay.run(str(path), Echo(), output=str(tmp_path / "run"), on_data_error="stop")

    assert not (tmp_path / "run").exists()
