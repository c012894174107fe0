"""`assay demo`: one table, the paired line, what each model is, and what to install where a part cannot be run."""

import json

import pytest

import assay.scorers.image.digit_accuracy
import assay.scorers.image.rendered_text
import assay.scorers.speech.heard  # noqa: F401 - their names are registered
from assay.cli import demo, show
from assay.cli.demo import PARTS, Part
from assay.core import UsageError
from assay.models import embedded

KNOWN = {part.name: part for part in PARTS}


@pytest.fixture(autouse=True)
def shipped(monkeypatch, tmp_path):
    """The sets by name, in a folder of their own."""
    monkeypatch.chdir(tmp_path)


def installed(*names: str):
    lines = [line for name in names if (line := KNOWN[name].missing())]
    return pytest.mark.skipif(bool(lines), reason=" && ".join(lines))


def test_the_parts_cover_every_modality_with_models_of_the_catalogue():
    assert [part.name for part in PARTS][:5] == [
        "text",
        "speech-in",
        "speech-out",
        "image-in",
        "image-out",
    ]
    assert all(name in embedded.CATALOGUE for part in PARTS for name in part.everyone)


def test_an_unknown_part_is_refused_with_the_known_ones():
    with pytest.raises(
        UsageError, match="no part 'smell'; fix: one of text, speech-in"
    ):
        demo.command(["smell"])


def test_a_part_whose_model_is_missing_is_named_with_its_line_and_the_rest_runs(
    monkeypatch, capsys
):
    monkeypatch.setattr(embedded.shutil, "which", lambda name: None)
    monkeypatch.setattr(demo, "PARTS", (Part("voice", ("demo_tts",), ("flite",)),))

    code = demo.command([])

    assert code == demo.PARTIAL
    assert "voice: not run; fix: apt-get install -y flite" in capsys.readouterr().out


@pytest.mark.costly
@pytest.mark.embedded
@installed("image-in")
def test_the_table_and_the_line_about_the_model_come_out(capsys):
    code = demo.command(["image-in"])

    said = capsys.readouterr().out
    assert code == 0
    assert (
        "demo_ocr" in said and "read_text.exact" in said and "read_text.ned" not in said
    )
    assert "rapidocr: image in, text out" in said and "Apache-2.0" in said


@pytest.mark.costly
@pytest.mark.embedded
@installed("speech-in")
def test_two_recognisers_are_compared_clip_by_clip(capsys):
    demo.command(["speech-in", "--json"])

    document = json.loads(capsys.readouterr().out)
    rates = {result["model"]: result["value"] for result in document["results"]}
    assert set(rates) == {"moonshine", "pocketsphinx"}
    assert (
        f"{rates['pocketsphinx']:.3f} → {rates['moonshine']:.3f}"
        in document["notes"][0]
    )
    assert (
        "(moonshine against pocketsphinx)" in document["notes"][0]
        and "of 10 common" in document["notes"][0]
    )


def test_the_command_at_the_end_shows_a_run_that_is_there(capsys, monkeypatch):
    parts = [
        Part(name, ("quickstart_facts",), ("scripted",))
        for name in ("text", "speech-in", "image-in")
    ]
    monkeypatch.setattr(demo, "PARTS", tuple(parts))
    monkeypatch.setattr(demo, "about", lambda names: iter(()))
    monkeypatch.setattr(Part, "missing", lambda self: "")

    assert demo.command(["speech-in", "image-in"]) == 0
    line = next(
        line for line in capsys.readouterr().out.splitlines() if " show " in line
    )

    assert "show runs/demo/speech-in " in line
    assert show.command(["runs/demo/speech-in", "--limit", "1"]) == 0
