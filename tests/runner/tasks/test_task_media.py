"""Media that a task names: held to the folder of its data, and sent only if they are media by their own header."""

import hashlib
import json
import struct
import zlib
from pathlib import Path

import pytest

from assay.cli.main import main

SECRET = "SECRET-LINE-OF-A-PRIVATE-FILE"


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", pixels)
        + chunk(b"IEND", b"")
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "private.txt").write_text(SECRET)
    (tmp_path / "private.png").write_bytes(png())
    (tmp_path / "data").mkdir()
    (tmp_path / "data/logo.png").write_bytes(png())
    (tmp_path / "data/text.png").write_text(SECRET)
    (tmp_path / "data/rows.jsonl").write_text(
        '{"id": "1", "question": "2+2?", "answer": "4"}\n'
    )
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def run(place: Path, task: str, *more: str) -> tuple[int, dict[str, int]]:
    """The exit code and the outcomes of a run on a model that counts what it is shown."""
    code = main(
        ["run", task, "--model", "scripted", "-a", "answers=4", "-o", "run", *more]
    )
    summary = (
        json.loads(Path("run/summary.json").read_text())
        if Path("run/summary.json").exists()
        else {}
    )
    outcomes: dict[str, int] = {}
    for row in summary.get("results", ()):
        outcomes |= row.get("outcomes", {})
    return code, outcomes


def written(place: Path) -> str:
    return "".join(
        path.read_text(errors="replace")
        for path in Path("run").rglob("*")
        if path.is_file()
    )


def template(image: str) -> str:
    content = json.dumps(
        [{"type": "image", "image": image}, {"type": "text", "text": "{{ question }}"}]
    )
    return f"dataset: rows.jsonl\ntemplate:\n  - role: user\n    content: {content}\nscorers: includes\n"


@pytest.mark.parametrize(
    "image",
    ["{place}/private.png", "../private.png", "{place}/private.txt", "/etc/hostname"],
)
def test_a_file_outside_the_data_folder_is_not_opened(image, place, capsys):
    (place / "data/task.yaml").write_text(template(image.format(place=place)))

    code, outcomes = run(place, str(place / "data/task.yaml"))

    shown = capsys.readouterr()
    assert code != 0 and outcomes.get("scored", 0) == 0
    assert "is outside the data folder" in shown.err + shown.out
    assert SECRET not in shown.err + shown.out + written(place)


def test_a_file_of_the_data_folder_is_shown(place):
    (place / "data/task.yaml").write_text(template("logo.png"))

    assert run(place, str(place / "data/task.yaml"))[0] == 0
    assert '"format":"png"' in written(place)


def test_a_folder_that_the_user_names_may_hold_it(place):
    (place / "data/task.yaml").write_text(template(str(place / "private.png")))

    assert run(place, str(place / "data/task.yaml"), "--media_root", str(place))[0] == 0


def test_what_is_not_an_image_is_not_shown_and_its_bytes_are_not_printed(place, capsys):
    (place / "data/task.yaml").write_text(template("text.png"))

    code, outcomes = run(place, str(place / "data/task.yaml"))

    shown = capsys.readouterr()
    assert code != 0 and outcomes.get("scored", 0) == 0
    assert "not an image" in shown.err + shown.out
    assert SECRET[:12] not in shown.err + shown.out + written(place)


def test_rows_in_a_task_file_cannot_name_files_outside_its_folder(place, capsys):
    rows = [{"question": "a?", "answer": "4", "image": str(place / "private.png")}]
    (place / "data/task.yaml").write_text(
        f"dataset: {json.dumps(rows)}\nscorers: includes\n"
    )

    code, _ = run(place, str(place / "data/task.yaml"))

    assert code != 0 and "is outside the data folder" in "".join(capsys.readouterr())


def test_rows_in_a_task_file_may_name_files_beside_it(place):
    rows = [{"question": "a?", "answer": "4", "image": "logo.png"}]
    (place / "data/task.yaml").write_text(
        f"dataset: {json.dumps(rows)}\nscorers: includes\n"
    )

    assert run(place, str(place / "data/task.yaml"))[0] == 0


def test_a_path_that_a_function_passes_on_from_a_row_is_held(place, capsys):
    row = {
        "id": "1",
        "question": "a?",
        "answer": "4",
        "photo": str(place / "private.png"),
    }
    (place / "data/rows.jsonl").write_text(json.dumps(row) + "\n")
    (place / "data/task.py").write_text(
        "from assay import Task\n"
        "def prompt(sample):\n"
        "    part = {'type': 'image', 'image': sample['photo']}\n"
        "    return [{'role': 'user', 'content': [part, sample.input]}]\n"
        f"task = Task('t', dataset={str(place / 'data/rows.jsonl')!r}, template=prompt, scorers='includes')\n"
    )

    code, _ = run(place, str(place / "data/task.py"))

    assert code != 0 and "is outside the data folder" in "".join(capsys.readouterr())


def test_later_turns_and_references_of_a_row_are_held(place, capsys):
    image = {"type": "image", "image": str(place / "private.png")}
    said = [("user", "Hi"), ("assistant", [image]), ("user", "?")]
    row = {
        "id": "1",
        "messages": [{"role": role, "content": content} for role, content in said],
        "answer": "4",
    }
    (place / "data/rows.jsonl").write_text(json.dumps(row) + "\n")

    code, _ = run(place, str(place / "data/rows.jsonl"), "--scorer", "includes")

    assert code != 0 and "is outside the data folder" in "".join(capsys.readouterr())


def test_reference_answers_of_a_dialogue_are_held(place, capsys):
    image = {
        "role": "assistant",
        "content": [{"type": "image", "image": str(place / "private.png")}],
    }
    row = {
        "id": "1",
        "turns": ["Hi", "More?"],
        "references": [image, "b"],
        "answer": "4",
    }
    (place / "data/rows.jsonl").write_text(json.dumps(row) + "\n")
    (place / "data/task.yaml").write_text(
        "dataset: rows.jsonl\nhistory: reference\nscorers: includes\n"
    )

    code, _ = run(place, str(place / "data/task.yaml"))

    assert code != 0
    assert hashlib.sha256(
        (place / "private.png").read_bytes()
    ).hexdigest() not in written(place)
