"""Images and sounds that a model made lie in the run's folder as ordinary files, named by their content."""

import hashlib
import json

import numpy as np
import pytest
from made_media import gradient, tone
from PIL import Image as pillow

import assay
from assay.core import Audio
from assay.media import audio_from, decode_audio, image_from


class Painter:
    abilities = assay.Abilities(produces=frozenset({"image"}))

    def __call__(self, request):
        return image_from(gradient())


class Speaker:
    abilities = assay.Abilities(produces=frozenset({"audio"}))

    def __call__(self, request):
        return audio_from(tone(8000, 0.5), 8000)


def made(sample, output):
    return float(len(output.media))


def files_of(tmp_path, model, kind):
    rows = [{"id": str(n), "question": "make it", "answer": "x"} for n in range(3)]
    task = assay.Task("made", dataset=rows, scorers=(made,), produces=(kind,))
    result = assay.run(task, model, output=str(tmp_path / "run"))
    assert result[0].value == 1.0
    lines = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    parts = [
        json.loads(line)["output"]["candidates"][0]["parts"][0]
        for line in lines
        if '"kind":"output"' in line[:20]
    ]
    return parts, [
        path for path in (tmp_path / "run" / "media").rglob("*") if path.is_file()
    ]


@pytest.mark.parametrize(
    ("model", "kind", "format"), [(Painter, "image", "png"), (Speaker, "audio", "wav")]
)
def test_what_a_model_made_is_one_file_that_every_record_names(
    tmp_path, model, kind, format
):
    parts, (file,) = files_of(tmp_path, model(), kind)

    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert file.name == f"{digest}.{format}"
    assert [(part["type"], part["sha256"], part["format"]) for part in parts] == [
        (kind, digest, format)
    ] * 3


def test_the_files_open_in_any_program(tmp_path):
    _, (picture,) = files_of(tmp_path / "a", Painter(), "image")
    _, (sound,) = files_of(tmp_path / "b", Speaker(), "audio")

    assert np.array_equal(np.asarray(pillow.open(picture)), np.asarray(gradient()))
    assert decode_audio(Audio(sound)).seconds == 0.5
