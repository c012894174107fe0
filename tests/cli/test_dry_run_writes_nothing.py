"""`--dry_run` opens nothing for writing, makes no folder, renames and removes nothing: watched from inside Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

WATCH = """
import os, sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
            "os.chown", "os.utime", "shutil.rmtree", "shutil.move", "shutil.copyfile", "tempfile.mkstemp",
            "tempfile.mkdtemp", "os.setxattr", "os.mkfifo", "sqlite3.connect"}
seen = []


def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if isinstance(path, int) or str(path).startswith(("/dev/", "/proc/")):
            return
        if (isinstance(flags, int) and flags & WRITING) or (mode and set(mode) & set("wax+")):
            seen.append(f"open {path!r} {mode} {flags}")
    elif event in CHANGING:
        seen.append(f"{event} {arguments!r}")


sys.dont_write_bytecode = True
sys.addaudithook(watch)
import json
from assay.cli.main import main

found = {}
for folder, command in json.loads(sys.argv[1]).items():
    os.chdir(folder)
    seen.clear()
    code = main(command)
    found[folder] = [list(seen), code]
print("\\n" + json.dumps(found))
"""
ROWS = [
    {"id": str(n), "question": f"{n}+1?", "answer": str(n + 1), "image": "a.png"}
    for n in range(3)
]
KINDS = {
    "data": ["rows.jsonl"],
    "template": ["rows.jsonl", "--template", "{{ question }}"],
    "template that writes": [
        "rows.jsonl",
        "--template",
        "{{ (sample.media[0].source.parent / 'x').write_text('y') }}",
    ],
    "template that reads": [
        "rows.jsonl",
        "--template",
        "{{ sample.media[0].source.read_text() }}",
    ],
    "yaml": ["task.yaml"],
    "yaml that writes": ["writes.yaml"],
    "python": ["task.py"],
    "shots": ["rows.jsonl", "--num_fewshot", "1"],
    "shipped": ["quickstart"],
    "json": ["rows.jsonl", "--json"],
    "folder named": ["rows.jsonl", "-o", "runs/named"],
    "cache named": ["rows.jsonl", "--cache", "cached"],
    "fresh": ["rows.jsonl", "-o", "runs/named", "--fresh"],
    "wrong": ["nothing.jsonl"],
}


def make_place(folder: Path) -> Path:
    """A folder with rows, tasks and a model."""
    folder.mkdir()
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "task.yaml").write_text(
        'dataset: rows.jsonl\ntemplate: "{{ question }}"\nscorers: includes\n'
    )
    writes = "\"{{ sample.media[0].source.with_suffix('.pth').write_text(question) }}\""
    (folder / "writes.yaml").write_text(f"dataset: rows.jsonl\ntemplate: {writes}\n")
    code = "dataset = [{'question': 'a', 'answer': 'b'}]\ndef prompt(sample):\n    return sample.input\n"
    (folder / "task.py").write_text(code)
    (folder / "model.py").write_text(
        "from assay.core import Abilities\nclass Model:\n    abilities = Abilities(accepts={'text', 'image'})\n"
        "    def generate(self, requests):\n        return ['x' for _ in requests]\n"
    )
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_nothing_is_written(tmp_path):
    places = {kind: make_place(tmp_path / kind.replace(" ", "_")) for kind in KINDS}
    before = {kind: snapshot(place) for kind, place in places.items()}
    commands = {
        str(places[kind]): [
            "run",
            *KINDS[kind],
            "--model",
            "model.py:Model",
            "--dry_run",
        ]
        for kind in KINDS
    }

    watched = [sys.executable, "-c", WATCH, json.dumps(commands)]
    done = subprocess.run(
        watched,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ},
        check=True,
    )

    found = json.loads(done.stdout.splitlines()[-1])
    for kind, place in places.items():
        assert found[str(place)] == [
            [],
            2 if kind == "wrong" or " that " in kind else 0,
        ], kind
        assert snapshot(place) == before[kind], kind
        assert not (place / "runs").exists() and not (place / "cached").exists(), kind
