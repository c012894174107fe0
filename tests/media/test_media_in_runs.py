"""Media in whole runs: what is refused, what is decoded, what is told in the records."""

import json
import os

import pytest
from made_media import animation, gradient, saved, sound, tone
from test_bad_media_rows import (
    BAD,
    BROKEN_IMAGES,
    BROKEN_SOUNDS,
    Echo,
    data_errors,
    rows_with,
)
from test_generated_media import Painter, Speaker, files_of

import assay
from assay.core import DataError
from assay.media import check_media, decode_image


@pytest.mark.parametrize("case", [*BROKEN_IMAGES, *BROKEN_SOUNDS])
def test_a_broken_medium_stops_a_run_that_is_to_stop_before_anything_is_written(
    case, tmp_path
):
    kind = "image" if case in BROKEN_IMAGES else "audio"
    make, words = {**BROKEN_IMAGES, **BROKEN_SOUNDS}[case]
    path = rows_with(
        tmp_path,
        kind,
        saved(gradient(), "PNG") if kind == "image" else sound(tone()),
        make(),
    )

    with pytest.raises(DataError, match=rf":{BAD}:{kind}: {words}"):
        assay.run(str(path), Echo(), output=str(tmp_path / "run"), on_data_error="stop")

    assert not (tmp_path / "run").exists()


class Looking:
    abilities = assay.Abilities(accepts=frozenset({"text", "image"}))

    def __call__(self, request):
        return str(decode_image(request.prompt.media[0]).width)


def test_what_a_model_finds_broken_while_it_decodes_is_an_error_of_the_data(tmp_path):
    path = rows_with(tmp_path, "image", saved(gradient(), "PNG"), animation("GIF"))

    result = assay.run(
        str(path),
        Looking(),
        output=str(tmp_path / "run"),
        scorers=["exact_match"],
        on_error="stop",
    )

    assert dict(result[0].outcomes) == {"scored": 19, "data_error": 1}
    (line,) = data_errors(tmp_path).values()
    assert line.startswith(f"{path}:{BAD}:image: the gif has 3 frames")


class Hearing:
    abilities = assay.Abilities(
        accepts=frozenset({"text", "audio"}), audio_rate=16_000, audio_channels=1
    )

    def __call__(self, request):
        facts = check_media(request.prompt.media[0])
        return f"{facts.rate} Hz, {facts.channels}"


def test_a_model_that_declares_a_rate_hears_it_and_the_record_says_what_was_done(
    tmp_path,
):
    path = rows_with(
        tmp_path, "audio", sound(tone()), sound(tone(44_100, channels=2), 44_100)
    )

    assay.run(
        str(path), Hearing(), output=str(tmp_path / "run"), scorers=["exact_match"]
    )

    lines = map(
        json.loads, (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    )
    outputs = {line["id"]: line["output"] for line in lines if line["kind"] == "output"}
    assert {output["candidates"][0]["text"] for output in outputs.values()} == {
        "16000 Hz, 1"
    }
    noted = {
        id: output["details"]["audio"]
        for id, output in outputs.items()
        if "audio" in output.get("details", {})
    }
    assert noted == {
        f"q{BAD}": ["mixed 2 channels to 1", "resampled 44100 Hz to 16000 Hz"]
    }


def test_the_user_may_name_the_folder_of_the_media(tmp_path):
    rows, pictures = tmp_path / "rows", tmp_path / "pictures"
    rows.mkdir()
    path = rows_with(rows, "image", saved(gradient(), "PNG"), saved(gradient(), "PNG"))
    os.rename(rows, pictures)
    rows.mkdir()
    os.rename(pictures / "rows.jsonl", path)

    inside = assay.run(
        str(path),
        Echo(),
        output=str(tmp_path / "a"),
        scorers=["exact_match"],
        media_root=str(pictures),
    )
    outside = assay.run(
        str(path), Echo(), output=str(tmp_path / "b"), scorers=["exact_match"]
    )

    assert dict(inside[0].outcomes) == {"scored": 20}
    assert dict(outside[0].outcomes) == {"data_error": 20}


def test_the_record_says_how_large_and_how_long_a_made_medium_is(tmp_path):
    (picture, *_), _ = files_of(tmp_path / "a", Painter(), "image")
    (spoken, *_), _ = files_of(tmp_path / "b", Speaker(), "audio")

    assert (picture["width"], picture["height"]) == (48, 32)
    assert (spoken["seconds"], spoken["rate"], spoken["channels"], spoken["bytes"]) == (
        0.5,
        8000,
        1,
        8044,
    )
