"""`assay new`: write a small example file that passes `assay check`."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import UsageError
from .arguments import Parser

BENCHMARK = '''\
"""{name}: say in one line what it measures."""
dataset = [  # rows, or the path of a data file: "questions.jsonl"
    {{"question": "What is 2 + 2?", "answer": "4"}},
]

def prompt(sample):
    return f"{{sample.input}} Answer with the number only."

def score(sample, output):
    return output.text.strip() == sample.target
'''
MODEL = '''\
"""{name}: a model; `assay run data.jsonl --model {file}:generate`."""


def generate(messages):
    question = messages[-1]["content"]  # each message is {{"role": ..., "content": ...}}
    return f"I was asked {{len(question)}} characters."
'''
SCORER = '''\
"""{name}: a scorer; `assay run data.jsonl --scorer {file}:score`."""


def score(sample, output):
    # A truth value, a number, or a dict of numbers.
    return output.text.strip().casefold() == str(sample.target).casefold()
'''
KINDS = {"benchmark": BENCHMARK, "model": MODEL, "scorer": SCORER}


def command(arguments: Sequence[str]) -> int:
    """Write the example file, and print how to use it."""
    p = Parser(prog="assay new", description="Write a small file to start from.")
    p.add_argument("kind", choices=tuple(KINDS))
    p.add_argument("name", help="the file is called NAME.py")
    p.add_argument("--dir", default=".", help="the folder for the file")
    options = p.parse(arguments)
    path = write(options.kind, options.name, Path(options.dir).expanduser())
    sys.stdout.write(
        f"{path}\n  assay check {path}\n  {_next_step(options.kind, path)}\n"
    )
    return 0


def write(
    kind: str,
    name: str,
    folder: Path,
) -> Path:
    """Write an example file of a kind, and return its path. An existing file is never overwritten."""
    stem = name.removesuffix(".py")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", stem):
        fix = "use letters, digits, - and _ (--dir for a folder)"
        raise UsageError(f"{name!r} cannot be a file's name here", fix=fix)
    path = folder / f"{stem}.py"
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            "this is a file",
            where=str(folder),
            fix="name a folder",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(
                KINDS[kind].format(
                    name=stem,
                    file=path.name,
                )
            )
    except FileExistsError as error:
        raise UsageError(
            "this file exists already",
            where=str(path),
            fix="choose another name, or move it away",
        ) from error
    except OSError as error:
        fix = "choose another folder with --dir"
        raise UsageError(
            f"cannot write: {error.strerror}",
            where=str(path),
            fix=fix,
        ) from error
    return path


def _next_step(kind: str, path: Path) -> str:
    return {
        "benchmark": f"assay run {path}",
        "model": f"assay run data.jsonl --model {path}:generate",
        "scorer": f"assay run data.jsonl --scorer {path}:score",
    }[kind]
