"""The demo's sets: whole, small, and measured for real where the models are installed."""

import pytest

import assay.scorers.image.digit_accuracy
import assay.scorers.image.rendered_text
import assay.scorers.speech.heard  # noqa: F401 - their names are registered
from assay.benchmarks.small_sets import (
    demo_asr,
    demo_digits,
    demo_ocr,
    demo_signs,
    demo_tts,
)
from assay.core import Audio, Image, ModalityMismatch, Sample
from assay.datasets import open_dataset
from assay.media import check_media, decode_audio
from assay.models import embedded
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.runner.tasks.locate import find_data

TASKS = {
    task.name: task for task in (demo_asr, demo_tts, demo_ocr, demo_digits, demo_signs)
}


def rows_of(task) -> list[Sample]:
    made = list(
        open_dataset(find_data(task, None), columns=task.columns, tags=task.tags)
    )
    assert all(isinstance(sample, Sample) for sample in made)
    return made


def needs(*names: str) -> list[pytest.MarkDecorator]:
    lines = [
        embedded.CATALOGUE[name].install
        for name in names
        if embedded.CATALOGUE[name].missing
    ]
    return [
        pytest.mark.embedded,
        pytest.mark.skipif(bool(lines), reason=" && ".join(lines)),
    ]


@pytest.mark.parametrize("name", TASKS)
def test_each_set_is_small_whole_and_has_its_targets(name):
    samples = rows_of(TASKS[name])

    assert 6 <= len(samples) <= 12 and all(sample.target for sample in samples)
    assert len({sample.target for sample in samples}) == len(samples)
    for medium in (medium for sample in samples for medium in sample.media):
        check_media(medium)


def test_the_clips_are_short_and_at_sixteen_kilohertz():
    for sample in rows_of(demo_asr):
        [clip] = sample.media
        assert isinstance(clip, Audio) and len(clip.data()) <= 60_000
        assert decode_audio(clip).rate == 16_000


def test_the_images_are_images():
    assert all(isinstance(sample.media[0], Image) for sample in rows_of(demo_ocr))


def test_a_reader_that_knows_the_answers_scores_one(tmp_path):
    known = {sample.media[0].digest: sample.target for sample in rows_of(demo_ocr)}
    model = Scripted(
        lambda request: known[request.prompt.media[0].digest], accepts={"text", "image"}
    )

    result = run(demo_ocr, model, output=str(tmp_path / "run"))

    assert result.value("read_text.exact") == result.value("read_text.ned") == 1.0


def test_a_model_that_only_reads_text_is_refused_before_the_run(tmp_path):
    with pytest.raises(ModalityMismatch, match="task 'demo_asr' sends audio"):
        run(demo_asr, Scripted(["x"], accepts={"text"}), output=str(tmp_path / "run"))


class TestRealNumbers:
    """What is costly here has siblings in tests/models/test_specialists_*.py: the same models on single inputs."""

    @pytest.mark.costly
    @pytest.mark.parametrize(
        "model",
        [
            pytest.param(name, marks=needs(name))
            for name in ("moonshine", "pocketsphinx")
        ],
    )
    def test_recognisers_are_neither_perfect_nor_deaf(self, model, tmp_path):
        pytest.importorskip(
            "whisper_normalizer", reason="pip install whisper-normalizer"
        )

        result = run(demo_asr, model, output=str(tmp_path / "run"))

        assert (
            result.status == "complete" and 0.0 < result.value("wer[whisper-en]") < 0.7
        )

    @pytest.mark.parametrize(
        "model", [pytest.param("espeak", marks=needs("espeak", "moonshine"))]
    )
    def test_synthetic_speech_is_partly_understood(self, model, tmp_path):
        pytest.importorskip(
            "whisper_normalizer", reason="pip install whisper-normalizer"
        )

        result = run(
            demo_tts,
            model,
            judges={"asr": "moonshine"},
            limit=3,
            output=str(tmp_path / "run"),
        )

        assert (
            result.status == "complete" and result.value("spoken_wer[whisper-en]") < 0.7
        )
        assert len(list((tmp_path / "run" / "media").rglob("*.wav"))) == 3

    @pytest.mark.costly
    @pytest.mark.parametrize(
        "model", [pytest.param("rapidocr", marks=needs("rapidocr"))]
    )
    def test_text_in_images_is_mostly_read(self, model, tmp_path):
        result = run(demo_ocr, model, output=str(tmp_path / "run"))

        assert 0.5 <= result.value("read_text.exact") <= 1.0

    @pytest.mark.parametrize(
        "model", [pytest.param("digits-flow", marks=needs("digits-flow"))]
    )
    def test_drawn_digits_are_recognised_and_untrained_ones_are_not(
        self, model, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        little, more = (
            run(
                demo_digits,
                model,
                model_args={"training_steps": steps},
                epochs=3,
                output=str(tmp_path / str(steps)),
            )
            for steps in (1, 400)
        )

        assert little.value("digit_accuracy") < 0.4 < 0.7 < more.value("digit_accuracy")

    @pytest.mark.costly
    @pytest.mark.parametrize(
        "model", [pytest.param("renderer", marks=needs("rapidocr"))]
    )
    def test_plain_letters_can_be_read(self, model, tmp_path):
        result = run(
            demo_signs, model, judges={"ocr": "rapidocr"}, output=str(tmp_path / "run")
        )

        assert result.value("rendered_text.exact") >= 0.8


def test_half_of_the_requests_about_lamps_are_met_by_doing_nothing(tmp_path):
    result = run("demo_tools", Scripted("Hello."), output=str(tmp_path / "run"))

    [row] = result.results
    assert row.value == 0.5
    assert row.details["floor"]["agent"] == "null"
    assert row.flags == ("not above the floor",)
