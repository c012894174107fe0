"""Guest models: what they are told, what they may return, and the sounds they hear and make."""

import json
from pathlib import Path

import pytest

from assay.core import UsageError
from assay.runner.run import run

AUDIO = [{"role": "user", "content": {"audio": "{{audio}}"}}]
SPEAKER = """
    def generate_once(self, audio, **kwargs):
        import wave
        path = kwargs["pred_audio"]
        with wave.open(path, "wb") as sound:
            sound.setnchannels(1); sound.setsampwidth(2); sound.setframerate(16000)
            sound.writeframes(b"\\x01\\x00" * 800)
        return {"pred": "spoken", "pred_audio": path}
"""
TELLER = """
    def generate_once(self, audio, **kwargs):
        return {"pred": json.dumps({"audio": audio, **kwargs})}
"""


@pytest.fixture
def spoken(project):
    """One question that is heard."""
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": AUDIO}
    )
    sound = project.wav("data/a.wav")
    project.rows(
        {"key": "a", "audio": str(sound), "query": "what is said", "answer": "x"}
    )
    project.model(TELLER)
    return project


def told(project, place=0, output="out"):
    return json.loads(project.records(output)[place]["output"]["candidates"][0]["text"])


def test_generate_once_gets_the_words_of_the_contract(spoken):
    spoken.run("task")

    assert told(spoken) == {
        "audio": str(spoken.root / "data/a.wav"),
        "type": "single_turn",
        "query": None,
        "assistant": None,
        "instruct": "",
        "system": None,
        "reverse_spkr": False,
        "use_model_history": True,
        "save_latest_only": False,
    }


def test_every_role_of_a_template_reaches_the_model(spoken):
    roles = [
        {"role": "system", "content": {"text": "be kind"}},
        {"role": "instruct", "content": {"text": "answer: {{query}}"}},
        {"role": "user", "content": {"audio": "{{audio}}", "text": "{{query}}"}},
        {"role": "assistant", "content": {"text": "begun"}},
    ]
    spoken.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": roles}
    )

    spoken.run("task")

    words = told(spoken)
    assert (words["system"], words["instruct"]) == ("be kind", "answer: what is said")
    assert (words["query"], words["assistant"]) == ("what is said", "begun")


def test_relative_sounds_start_beside_the_registry(spoken):
    spoken.rows({"key": "a", "audio": "data/a.wav", "query": "q", "answer": "x"})

    spoken.run("task")

    assert told(spoken)["audio"] == str((spoken.root / "data/a.wav").resolve())


def test_a_stereo_sound_at_another_rate_is_converted_and_the_record_says_so(spoken):
    spoken.wav("data/a.wav", rate=44100, channels=2)
    spoken.model(
        "    def generate_once(self, audio, **kwargs):\n"
        "        import wave\n"
        "        with wave.open(audio) as sound:\n"
        "            return {'pred': f'{sound.getnchannels()} at {sound.getframerate()}'}\n"
    )

    spoken.run("task")

    output = spoken.records()[0]["output"]
    assert output["candidates"][0]["text"] == "1 at 16000"
    assert output["details"]["audio"] == [
        "mixed 2 channels to 1",
        "resampled 44100 Hz to 16000 Hz",
    ]


def test_a_sound_that_cannot_be_read_is_the_fault_of_its_row_alone(spoken):
    broken = spoken.write("data/broken.wav", "no sound at all")
    good = {"key": "a", "audio": str(spoken.root / "data/a.wav"), "answer": "audio"}
    spoken.rows(
        good,
        {**good, "key": "b", "audio": str(broken)},
        {**good, "key": "c", "audio": "data/missing.wav"},
    )

    result = spoken.run("task")

    assert (result.status, result.results[0].value) == ("partial", 1.0)
    assert result.results[0].outcomes == {"scored": 1, "data_error": 2}


def test_a_model_that_returns_text_gets_an_error_that_names_it(project):
    project.model(
        "    def generate_once(self, audio, **kwargs):\n        return 'just text'\n"
    )

    result = project.run("task", on_error="continue")

    assert result.status == "failed"
    assert any(
        "Echo.generate_once returned 'just text'; it must return a dict" in note
        and "(echo.py:" in note
        for note in result.notes
    )


def test_a_model_that_forgets_pred_gets_an_error_that_names_it(project):
    project.model(
        "    def generate_once(self, audio, **kwargs):\n        return {'text': 'x'}\n"
    )

    result = project.run("task", on_error="continue")

    assert any("a dict without `pred`: it has text" in note for note in result.notes)


def test_what_a_model_returns_besides_is_kept(project):
    project.model(
        "    def generate_once(self, audio, **kwargs):\n        return {'pred': 'p', 'confidence': 0.5, 'cache': object()}\n"  # noqa: E501
    )

    project.televal("infer")

    line = project.lines("save/prediction/echo/task.jsonl")[0]
    assert line["confidence"] == 0.5
    assert "cache" not in line


def test_a_model_that_fails_on_one_sample_does_not_stop_the_others(project):
    project.model(
        "    def generate_once(self, audio, **kwargs):\n"
        "        if kwargs['query'] == 'null':\n"
        "            raise KeyError('lost')\n"
        "        return {'pred': '1949'}\n"
    )

    result = project.run("task", on_error="continue")

    assert result.results[0].outcomes == {"scored": 1, "model_error": 1}


def test_saved_audio_is_where_the_document_says_and_reaches_a_speech_evaluator(spoken):
    spoken.model(SPEAKER)
    spoken.change("infer_task", "task", save_pred_audio=True)
    evaluator = (
        "class Contains:\n"
        "    def evaluate(self, preds, refs, infos):\n"
        "        import wave\n"
        "        return [{'key': i['key'], 'score': wave.open(i['pred_audio']).getnframes() / 800} for i in infos]\n"
    )
    spoken.write("src/evaluator/contains.py", evaluator)

    spoken.televal("infer")
    result, _ = spoken.televal("eval")

    file = spoken.root / "save/prediction/echo/task/a_pred.wav"
    assert file.is_file()
    assert spoken.lines("save/prediction/echo/task.jsonl")[0]["pred_audio"] == str(file)
    assert result.results[0].value == 1.0


def test_save_pred_audio_of_the_command_line_wins_over_the_yaml(spoken):
    spoken.model(SPEAKER)

    spoken.televal("infer", save_pred_audio=True)

    assert (spoken.root / "save/prediction/echo/task/a_pred.wav").is_file()


def test_a_sound_of_an_earlier_run_is_not_taken_for_an_answer_without_one(spoken):
    silent = spoken.root / "silent"
    spoken.model(
        "    def generate_once(self, audio, **kwargs):\n"
        f"        if not __import__('os').path.exists({str(silent)!r}):\n"
        "            import shutil\n"
        "            shutil.copy(audio, kwargs['pred_audio'])\n"
        "        return {'pred': 'spoken'}\n"
    )
    spoken.change("infer_task", "task", save_pred_audio=True)
    spoken.run("task")
    first = spoken.records()[0]["output"]["candidates"][0]
    silent.touch()

    spoken.run("task", fresh=True)

    second = spoken.records()[0]["output"]["candidates"][0]
    assert (len(first["parts"]), second.get("parts", ())) == (2, ())


def test_a_sound_is_part_of_the_run_as_an_ordinary_file(spoken):
    spoken.model(SPEAKER)
    spoken.change("infer_task", "task", save_pred_audio=True)

    spoken.run("task")

    parts = spoken.records()[0]["output"]["candidates"][0]["parts"]
    assert [part["type"] for part in parts] == ["text", "audio"]
    assert list((spoken.root / "out/media").rglob(f"{parts[1]['sha256']}.wav"))


def test_keys_never_name_files_outside_the_folder(spoken):
    spoken.model(SPEAKER)
    row = spoken.lines("data/rows.jsonl")[0]
    spoken.rows({**row, "key": "../../escaped"}, {**row, "key": "a/b"})

    spoken.televal("infer", save_pred_audio=True)

    sounds = list((spoken.root / "save").rglob("*_pred.wav"))
    assert len({file.name for file in sounds if "prediction" in file.parts}) == 2
    assert not list(spoken.root.parent.rglob("escaped*"))


def test_a_model_class_of_one_file_is_a_model_for_any_task(project):
    rows = project.rows(
        {"id": "1", "question": "hi", "answer": "echo hi"}, file="data/native.jsonl"
    )

    result = run(
        str(rows),
        f"{project.root / 'src/models/echo.py'}:Echo",
        output=str(project.root / "native"),
    )

    assert result.results[0].value == 1.0


def test_a_model_that_cannot_be_built_stops_the_run(project):
    project.model(
        "    def __init__(self, path):\n        raise OSError('no weights here')\n"
    )

    with pytest.raises(
        UsageError,
        match=r"model 'echo' could not be built.*no weights here \(echo.py:6\)",
    ):
        project.run("task")


def test_a_wrong_argument_of_a_model_names_the_line(project):
    project.change("model", "echo", wieghts="x")

    with pytest.raises(
        UsageError, match=r"echo.yaml:\d+: model 'echo' has no option 'wieghts'"
    ):
        project.run("task")


def test_a_run_without_a_named_model_is_kept_under_the_one_the_registry_names(
    spoken, monkeypatch
):
    monkeypatch.chdir(spoken.root)
    spoken.model(SPEAKER)
    spoken.change("infer_task", "task", save_pred_audio=True)

    result = run("registry", dialect="televal")

    assert result.folder.name.startswith("registry--echo-")
    assert [path.name for path in Path("runs").iterdir()] == [result.folder.name]
    assert list((result.folder / "pred_audio").glob("*/a_pred.wav"))
