"""Answers that lack a kind of media the task asks for are counted and reported."""

import assay
from assay.core import Audio, Image


def has_audio(sample, output):
    return float(any(medium.kind == "audio" for medium in output.media))


def run(tmp_path, answer):
    task = assay.Task(
        "any",
        dataset=[{"question": "?", "answer": "x"}] * 2,
        scorers=has_audio,
        produces=("text", "audio", "image"),
    )
    return assay.run(task, lambda messages: answer, output=str(tmp_path / "run"))


def test_a_model_that_only_writes_is_flagged(tmp_path):
    result = run(tmp_path, "It is one.")

    assert result[0].value == 0.0
    lines = [note for note in result.notes if "which the task asks for" in note]
    assert [line.split(" answers ")[0] for line in lines] == [
        "warning: any: 2 of 2"
    ] * 2
    assert "have no audio" in lines[0] and "have no image" in lines[1]


def test_an_answer_with_all_kinds_is_not(tmp_path):
    import numpy as np
    from PIL import Image as pillow

    sound = assay.media.audio_from(np.zeros(160, np.float32), 16_000)
    picture = pillow.new("RGB", (8, 8))

    result = run(
        tmp_path,
        {"text": "It is one.", "audio": Audio(sound.data()), "image": Image(picture)},
    )

    assert result[0].value == 1.0 and not any(
        "asks for" in note for note in result.notes
    )
