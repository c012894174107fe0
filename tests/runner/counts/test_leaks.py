"""A target that occurs in its own prompt is refused for transcripts, and reported for everything else."""

import json

import pytest

from assay.cli.main import main
from assay.core import Message, Prompt, Sample, Text
from assay.media.encode import audio_from
from assay.runner.counts.leaks import is_leak


@pytest.fixture
def folder(tmp_path, monkeypatch):
    import numpy as np

    clip = audio_from(np.zeros(1600, np.float32), 16_000).data()
    words = ["the child almost hurt the dog", "drop the two when you add", "seven"]
    (tmp_path / "clip.wav").write_bytes(clip)
    rows = [
        {"id": f"u{n}", "audio": "clip.wav", "text": text}
        for n, text in enumerate(words)
    ]
    (tmp_path / "speech.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    short = [
        {"id": f"s{n}", "audio": "clip.wav", "text": text}
        for n, text in enumerate(["one", "two", "three"])
    ]
    (tmp_path / "digits.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in short)
    )
    (tmp_path / "echo.py").write_text(
        "from pathlib import Path\n"
        "def generate(request):\n"
        "    Path('asked').touch()\n"
        "    return ' '.join(message.text for message in request.prompt.messages).strip() or '-'\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(data, *more):
    return main(["run", data, "--model", "echo.py", "-o", "out", *more])


@pytest.mark.parametrize("columns", ["target=text", "input=,target=text"])
def test_an_echo_of_the_prompt_does_not_transcribe(folder, capsys, columns):
    assert run("speech.jsonl", "--columns", columns, "--scorer", "wer") == 0

    assert "wer[none]    ↓  1.000" in capsys.readouterr().out


def test_rows_whose_only_other_column_is_the_target_run_as_they_are(folder, capsys):
    text = (folder / "speech.jsonl").read_text().replace('"text"', '"reference"')
    (folder / "speech.jsonl").write_text(text)

    assert run("speech.jsonl", "--scorer", "wer") == 0


@pytest.mark.parametrize(
    "template", ["Say: {{ text }}", "{{ text | upper }}", "Transcribe. ({{ text }})"]
)
def test_a_template_that_shows_the_transcript_is_refused_before_the_model_is_asked(
    folder, capsys, template
):
    code = run(
        "speech.jsonl",
        "--columns",
        "target=text",
        "--scorer",
        "wer",
        "--template",
        template,
    )

    said = capsys.readouterr().err
    assert code == 2 and not (folder / "asked").exists()
    assert (
        "the transcript of sample 'u0' occurs in its prompt" in said
        and "--columns input=" in said
    )


def test_transcripts_of_one_word_are_found_by_those_of_the_others(folder, capsys):
    assert (
        run(
            "digits.jsonl",
            "--columns",
            "target=text",
            "--scorer",
            "wer",
            "--template",
            "Say {{ text }}",
        )
        == 2
    )
    assert "the transcript of sample 's0'" in capsys.readouterr().err

    every = "Which digit: one, two or three?"
    assert (
        run(
            "digits.jsonl",
            "--columns",
            "target=text",
            "--scorer",
            "wer",
            "--template",
            every,
        )
        == 0
    )


def test_a_later_row_that_tells_its_transcript_is_a_data_error(folder, capsys):
    rows = [
        {
            "id": str(n),
            "audio": "clip.wav",
            "hint": "",
            "text": "it is quite another matter",
        }
        for n in range(20)
    ]
    rows[15]["hint"] = rows[15]["text"]
    (folder / "late.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    code = run(
        "late.jsonl",
        "--columns",
        "target=text",
        "--scorer",
        "wer",
        "--template",
        "Hear: {{ hint }}",
    )

    assert code == 3 and "1 data_error" in capsys.readouterr().out


def test_a_short_text_is_a_template_where_it_cannot_be_a_name(folder):
    assert (
        run(
            "speech.jsonl",
            "--columns",
            "target=text",
            "--scorer",
            "wer",
            "--template",
            "Transcribe.",
        )
        == 0
    )


def test_questions_that_are_their_own_answers_are_refused(folder, capsys):
    (folder / "same.csv").write_text("question,answer\nblue,blue\nred,red\n")

    assert run("same.csv") == 2

    assert "the question of every sample is its own target" in capsys.readouterr().err
    (folder / "same.csv").write_text("question,answer\nblue,blue\nred,green\n")
    assert run("same.csv") == 0


def test_a_target_in_a_text_prompt_is_a_warning_with_the_samples_id(folder, capsys):
    (folder / "qa.csv").write_text(
        "id,question,answer\na,Who?,nobody at all\nb,The cat sat on the mat. Where?,cat sat on the mat\n"
    )

    assert run("qa.csv") == 0

    said = capsys.readouterr()
    assert (
        "the target of 1 sample occurs in its prompt, word for word (the first: 'b')"
        in said.err + said.out
    )
    assert json.loads((folder / "out" / "summary.json").read_text())
    assert main(["run", "qa.csv", "--model", "echo.py", "--dry_run"]) == 0
    assert "(the first: 'b')" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("Is it the cat sat on the mat?", "the cat sat on the mat", True),
        ("Is it the cat sat on the matting?", "the cat sat on the mat", False),
        ("Answer yes or no.", "yes", False),
        ("yes", "yes", True),
        ("42", "42", False),
        ("请听：今天天气非常好，我们出去走走", "今天天气非常好我们", False),
        ("请听：今天天气非常好吗", "今天天气非常好吗", True),
        ("Label: strongly positive or negative", "strongly positive", False),
    ],
)
def test_what_counts_as_a_leak(text, target, expected):
    prompt = Prompt((Message("user", (Text(text),)),))

    assert is_leak(Sample("a", text, target), prompt) is expected


def test_the_answer_of_a_solved_example_may_be_that_of_the_question():
    shots = (
        Message.of("user", "Who won?"),
        Message.of("assistant", "the team from the north"),
    )
    prompt = Prompt((*shots, Message.of("user", "And who lost?")))

    assert not is_leak(Sample("a", "And who lost?", "the team from the north"), prompt)


def test_options_and_continuations_name_the_target_by_right():
    text = "Where is it? A. on the mat in the hall B. in the garden behind the house"
    prompt = Prompt((Message("user", (Text(text),)),))
    sample = Sample(
        "a",
        text,
        "in the garden behind the house",
        ("x", "in the garden behind the house"),
    )

    assert not is_leak(sample, prompt)
