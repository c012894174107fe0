"""One small benchmark in five guest styles and natively: equal prompts, outputs and numbers.

The files under `files/` are what a user of each system would write; nothing in them is rewritten. Every style has the
same rows, in its own format, as far as it can express them, and is compared with the native files on exactly those.
`ASSAY_WITHOUT_DIALECT=name` leaves one dialect out.
"""

import base64
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pillow

from assay.cli.main import main
from assay.store import RunReader

pytest.importorskip("pandas")

FILES = Path(__file__).parent / "files"
Row = Mapping[str, Any]

QUIZ: tuple[Row, ...] = (
    {
        "id": "1",
        "question": "What is the capital of France?",
        "kind": "word",
        "answer": "Paris",
    },
    {"id": "2", "question": "How many moons has Venus?", "kind": "number", "answer": 0},
    {
        "id": "3",
        "question": "What is the capital of Peru?",
        "kind": "word",
        "answer": "Lima",
    },
    {
        "id": "4",
        "question": "What rhymes with France?",
        "kind": "rhyme",
        "answer": "dance",
    },
    {
        "id": "5",
        "question": "What colour is this?",
        "kind": "word",
        "answer": "red",
        "image": "red",
    },
    {
        "id": "6",
        "question": "How many dots are there?",
        "kind": "number",
        "answer": 0,
        "image": "blue",
    },
    {
        "id": "7",
        "question": "What rhymes with it?",
        "kind": "rhyme",
        "answer": "you",
        "image": "blue",
    },
)
"""Plain, falsy, answered wrongly, failing; with a picture, falsy with one, failing with one.

No prompt function knows the kind `rhyme`: it fails on those rows.
"""
AGAIN = "What did you just say?"
TALK: tuple[Row, ...] = (
    {"id": "1", "says": ["What is the capital of France?", AGAIN], "answer": "Paris"},
    {"id": "2", "says": ["What is the capital of Peru?", AGAIN], "answer": "Lima"},
)
"""Two rounds each; the second can only be answered by who was told what was said in the first."""

TEXT_ROWS, PICTURE_ROWS = ("1", "2", "3", "4"), ("5", "6", "7")
CANNOT: dict[str, dict[tuple[str, ...] | str, str]] = {
    "native": {},
    "testbed": {
        "talk": "a retriever leaves one place open: earlier answers come from the row, not from the model"
    },
    "vlmeval-early": {
        TEXT_ROWS: "`generate(image_path, prompt)` has no call without a picture",
        "talk": "`build_prompt` makes one prompt of a row, before anything is answered",
    },
    "vlmeval": {
        "talk": "`build_prompt` makes one prompt of a row, before anything is answered"
    },
    "pipeline": {
        PICTURE_ROWS: "a prompt template gives text, and `generate_batch` takes texts"
    },
    "televal": {PICTURE_ROWS: "a template's content is text and audio"},
    "ulmeval": {
        "talk": "`build_prompt` makes one prompt of a row, before anything is drawn"
    },
}
"""Which rows a style cannot express, and why; it has all the others."""
GUESTS = [style for style in CANNOT if style != "native"]


def picture(colour: str) -> bytes:
    buffer = io.BytesIO()
    pillow.new("RGB", (8, 8), colour).save(buffer, "PNG")
    return buffer.getvalue()


def quiz_of(style: str) -> tuple[Row, ...]:
    """The rows of the quiz that a style can express."""
    left_out = {
        id for rows in CANNOT[style] if not isinstance(rows, str) for id in rows
    }
    return tuple(row for row in QUIZ if row["id"] not in left_out)


@dataclass(frozen=True)
class Seen:
    """What is compared of a run."""

    asked: list[Any]
    """Text, colours of the pictures and answer of each call, as the model itself wrote them down."""
    outputs: dict[str, list[str]]
    """By sample: the answers as the run recorded them, round after round."""
    number: dict[str, Any]
    """Value, n, and how many were expected."""
    failures: dict[str, int]
    """Outcomes that gave no value; those that gave one are `n`."""
    failed: set[str]
    """The rows that were never asked, by their own ids."""


class Desk:
    """Folders with users' files, and the commands run there; each is run once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._seen: dict[tuple[str, ...], Seen] = {}
        self._numbers = count()

    def run(self, style: str, task: str, rows: Sequence[Row]) -> Seen:
        """The files of a style with these rows, run from the command line in a folder of their own."""
        place = (style, task, *(row["id"] for row in rows))
        if place not in self._seen:
            self._seen[place] = self._run(
                style, task, rows, self.root / str(next(self._numbers))
            )
        return self._seen[place]

    def _run(self, style: str, task: str, rows: Sequence[Row], folder: Path) -> Seen:
        shutil.copytree(FILES / style.partition("-")[0], folder)
        shutil.copy(
            FILES / "standin.py",
            folder / "src" / "models" if style == "televal" else folder,
        )
        (folder / "LMUData").mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LMUData", str(folder / "LMUData"))
            patch.setenv("XDG_CONFIG_HOME", str(folder / "state"))
            patch.setenv("CALL_LOG", str(folder / "calls.jsonl"))
            patch.chdir(folder)
            command = WRITERS[style](folder, task, rows)
            code = main(["run", *command, "-o", "run", "--on_error", "continue"])
        assert code == (3 if any(row.get("kind") == "rhyme" for row in rows) else 0), (
            f"{style} left with {code}"
        )
        return read_run(folder, METRICS.get(style, "accuracy"))


def for_native(folder: Path, task: str, rows: Sequence[Row]) -> list[str]:
    write_jsonl(folder / f"{task}.jsonl", rows)
    return [f"quiz.py:{task}", "--model", "model.py:generate"]


def for_testbed(folder: Path, task: str, rows: Sequence[Row]) -> list[str]:
    write_jsonl(folder / "quiz.jsonl", rows)
    shutil.copy(FILES / "native" / "model.py", folder)
    return ["quiz.py", "--model", "model.py:generate"]


def for_vlmeval_early(folder: Path, task: str, rows: Sequence[Row]) -> list[str]:
    write_tsv(folder / "LMUData" / "Quiz.tsv", rows)
    return ["early_quiz.py", "--model", "early_model.py:StandIn"]


def for_guest_table(folder: Path, task: str, rows: Sequence[Row]) -> list[str]:
    """VLMEvalKit with message lists, and ULMEvalKit."""
    write_tsv(folder / "LMUData" / "Quiz.tsv", rows)
    return ["quiz.py", "--model", "model.py:StandIn"]


def for_pipeline(folder: Path, task: str, rows: Sequence[Row]) -> list[str]:
    write_jsonl(folder / f"{task}.jsonl", rows)
    shutil.copy(FILES / "native" / "model.py", folder)
    return [
        f"register_quiz.py:{task}",
        "--data",
        f"{task}.jsonl",
        "--model",
        "model.py:generate",
    ]


def for_televal(folder: Path, task: str, rows: Sequence[Row]) -> list[str]:
    (folder / "data").mkdir()
    write_jsonl(folder / "data" / f"{task}.jsonl", rows)
    return ["registry/", "--tasks", task]


WRITERS = {
    "native": for_native,
    "testbed": for_testbed,
    "vlmeval-early": for_vlmeval_early,
    "vlmeval": for_guest_table,
    "pipeline": for_pipeline,
    "televal": for_televal,
    "ulmeval": for_guest_table,
}
"""For each style: writes the rows as it reads them, and gives the command."""
METRICS = {
    "native": "exact_match",
    "vlmeval-early": "exact_match",
    "vlmeval": "evaluate.accuracy",
    "televal": "equal",
    "ulmeval": "evaluate.accuracy",
}
"""What a style calls the share of right answers, where it is not `accuracy`."""


def write_jsonl(path: Path, rows: Sequence[Row]) -> None:
    """Rows as JSON; a picture is a file beside them."""
    lines = []
    for row in rows:
        if "image" in row:
            name = f"{row['image']}.png"
            (path.parent / name).write_bytes(picture(row["image"]))
            row = {**row, "image": name}
        lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def write_tsv(path: Path, rows: Sequence[Row]) -> None:
    """Rows as a table with the picture in its cell."""
    lines = ["index\timage\tquestion\tkind\tanswer"]
    for row in rows:
        cell = (
            base64.b64encode(picture(row["image"])).decode() if "image" in row else ""
        )
        lines.append(
            "\t".join(
                [row["id"], cell, row["question"], row["kind"], str(row["answer"])]
            )
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_run(folder: Path, metric: str) -> Seen:
    asked = [
        json.loads(line)
        for line in (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    reader = RunReader(folder / "run")
    outputs: dict[str, list[str]] = {}
    for record in reader.outputs():
        outputs.setdefault(record.id, []).append(said(record.output, reader))
    [found] = [row for row in reader.summary["results"] if row["metric"] == metric]
    number = {name: found[name] for name in ("value", "n", "n_expected")}
    failures = {k: v for k, v in found["outcomes"].items() if k != "scored"}
    lines = [
        json.loads(line)
        for line in (folder / "run" / "records.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    failed = {
        line["id"]
        for line in lines
        if line["kind"] == "score" and line["outcome"] == "data_error"
    }
    return Seen(sorted(asked), outputs, number, failures, failed)


def said(output: Mapping[str, Any], reader: RunReader) -> str:
    """The words of an answer; of a drawn one, a letter for each grey pixel."""
    [candidate] = output["candidates"]
    if "text" in candidate:
        return str(candidate["text"])
    [part] = candidate["parts"]
    return (
        pillow.open(io.BytesIO(reader.blobs[part["sha256"]].data())).tobytes().decode()
    )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("same"))


def both(style: str, task: str, desk: Desk) -> tuple[Seen, Seen]:
    """A guest style and the native one on the rows that both can express."""
    if style.partition("-")[0] == os.environ.get("ASSAY_WITHOUT_DIALECT"):
        pytest.skip(f"ASSAY_WITHOUT_DIALECT leaves {style} out")
    rows = quiz_of(style) if task == "quiz" else TALK
    return desk.run(style, task, rows), desk.run("native", task, rows)


def test_the_native_quiz_asks_says_and_counts_what_it_should(desk: Desk):
    seen = desk.run("native", "quiz", QUIZ)

    assert seen.asked == [
        ["How many dots are there? Answer with a number.", ["blue"], "0"],
        ["How many moons has Venus? Answer with a number.", [], "0"],
        ["What colour is this? Answer with one word.", ["red"], "red"],
        ["What is the capital of France? Answer with one word.", [], "Paris"],
        ["What is the capital of Peru? Answer with one word.", [], "Cusco"],
    ]
    assert seen.outputs == {
        "1": ["Paris"],
        "2": ["0"],
        "3": ["Cusco"],
        "5": ["red"],
        "6": ["0"],
    }
    assert seen.number == {"value": 0.8, "n": 5, "n_expected": 7}
    assert (seen.failures, seen.failed) == ({"data_error": 2}, {"4", "7"})


def test_the_native_dialogue_continues_from_the_models_answer(desk: Desk):
    seen = desk.run("native", "talk", TALK)

    assert [text for text, _, _ in seen.asked if AGAIN in text] == [
        f"What is the capital of France?\nParis\n{AGAIN}",
        f"What is the capital of Peru?\nCusco\n{AGAIN}",
    ]
    assert seen.outputs == {"1": ["Paris", "Paris"], "2": ["Cusco", "Cusco"]}
    assert seen.number == {"value": 0.5, "n": 2, "n_expected": 2}


@pytest.mark.parametrize("style", GUESTS)
def test_every_style_has_a_falsy_answer_a_word_and_a_failing_row(style: str):
    rows = quiz_of(style)

    assert any(row["answer"] == 0 for row in rows)
    assert any(row["kind"] == "rhyme" for row in rows)
    assert any(row["kind"] == "word" for row in rows)
    assert any("image" in row for row in rows) or PICTURE_ROWS in CANNOT[style]


@pytest.mark.parametrize("style", GUESTS)
def test_the_model_sees_the_same_prompts_and_says_the_same_in_every_style(
    style: str, desk: Desk
):
    guest, own = both(style, "quiz", desk)

    assert guest.asked == own.asked
    assert guest.outputs == own.outputs


@pytest.mark.parametrize("style", GUESTS)
def test_the_numbers_are_the_same_in_every_style(style: str, desk: Desk):
    guest, own = both(style, "quiz", desk)

    assert guest.number == own.number


@pytest.mark.parametrize("style", GUESTS)
def test_failing_rows_are_counted_alike_in_every_style(style: str, desk: Desk):
    guest, own = both(style, "quiz", desk)

    assert (guest.failures, guest.failed) == (own.failures, own.failed)


@pytest.mark.parametrize(
    "style", [style for style in GUESTS if "talk" not in CANNOT[style]]
)
def test_a_dialogue_goes_the_same_way_in_every_style(style: str, desk: Desk):
    guest, own = both(style, "talk", desk)

    assert guest.asked == own.asked
    assert guest.outputs == own.outputs
    assert (guest.number, guest.failures) == (own.number, own.failures)
