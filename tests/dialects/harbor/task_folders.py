"""Task folders of Harbor, made for the tests: each with its own environment, tests and solution."""

import json
from pathlib import Path

TOML = """version = "1.0"
[metadata]
difficulty = "{difficulty}"
category = "files"
[verifier]
timeout_sec = 60.0
[agent]
timeout_sec = 60.0
[environment]
memory_mb = 512
[environment.env]
LANGUAGE = "${{LANGUAGE:-en}}"
[solution.env]
HINT = "{word}"
"""
DOCKERFILES = (
    "FROM ubuntu:24.04\nWORKDIR /app\nCOPY data.txt .\n",
    'FROM python:3.12-slim\nENV PLACE=/app NAME="out file"\nWORKDIR $PLACE\nCOPY ["data.txt", "/app/data.txt"]\n',
    "FROM ubuntu:24.04\nRUN apt-get update && \\\n    apt-get install -y python3-pip && rm -rf /var/lib/apt/lists/*\n"
    "WORKDIR /app\nCOPY . /app/\n",
    "FROM ubuntu:24.04\nRUN mkdir -p /app && echo made > /app/made.txt; chown -R root /app\n"
    "ADD data.txt /app/\nWORKDIR /app\n",
    "# first\nARG TOP=/app\nFROM ubuntu:24.04\nRUN <<EOF\nmkdir -p /app/deep\necho 1 > /app/deep/one\nEOF\n"
    "WORKDIR /app\nCOPY --chmod=644 data.txt data.txt\nCMD [\"bash\"]\n",
)  # fmt: skip
"""Every form of an instruction that is carried out without an image."""
TEST = """#!/bin/bash
cd /app
mkdir -p /logs/verifier
if [ "$(cat result.txt)" = "$(cat /tests/expected.txt)" ] && [ -s data.txt ]; then
  {right}
else
  {wrong}
fi
"""
AS_TEXT = "echo {} > /logs/verifier/reward.txt"
AS_JSON = "echo '{{\"reward\": {}}}' > /logs/verifier/reward.json"


def make_task(top: Path, number: int) -> Path:
    """Write the task folder with this number."""
    folder = top / f"task-{number:02}"
    word = f"word{number * 7919 % 1000}"
    write = AS_JSON if number % 2 else AS_TEXT
    files = {
        "task.toml": TOML.format(word=word, difficulty=("easy", "hard")[number % 2]),
        "instruction.md": f"Write the word of /app/data.txt, with {number} behind it, into /app/result.txt.\n",
        "environment/Dockerfile": DOCKERFILES[number % len(DOCKERFILES)],
        "environment/data.txt": f"{word}\n",
        "tests/test.sh": TEST.format(right=write.format(1), wrong=write.format(0)),
        "tests/expected.txt": f"{word}{number}",
        "solution/solve.sh": f'#!/bin/bash\n[ "$HINT" = {word} ] && echo "$(cat data.txt){number}" > result.txt\n',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def make_tasks(top: Path, count: int) -> Path:
    """Write several task folders."""
    for number in range(count):
        make_task(top, number)
    return top


def records(run: Path, kind: str) -> dict:
    """Return the lines of one kind in the journal of a run, by sample."""
    lines = map(json.loads, (run / "records.jsonl").read_text().splitlines())
    return {
        line["id"]: line
        for line in lines
        if line["kind"] == kind and "#" not in line["task"]
    }
