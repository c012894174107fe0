"""Rows for a dataset class that nobody has data for: the columns its code asks for, with values it can read.

The columns are found by trying: a `KeyError` names one that is missing. Values come from a small list of kinds.
"""

import base64
import io
import itertools
import json
import math
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROWS = 4
ANSWERS = (
    "A",
    "Yes",
    "1",
    "cat",
    "[0, 0, 10, 10]",
    "['cat', 'dog']",
    '{"answer": "cat"}',
)
"""What the right answer of a row may look like; the scripted model gives it for every other row."""
REPLIES = (
    "A",
    "1",
    "5",
    "Yes",
    "Score: 4\nRating: [[4]]",
    '{"score": 1, "rating": 1, "answer": "A", "correct": "yes", "judgement": "correct", "reason": "r"}',
    '```json\n{"score": 4, "analysis": "fine"}\n```',
    "[[A]]",
    "correct",
)
"""What the scripted judge may say."""
JUDGES = (
    "gpt-4o",
    "exact_matching",
    "gpt-4o-mini",
    "chatgpt-0125",
    "gpt-4-turbo",
    "gpt-4-0125",
    "gpt-4o-0806",
    "gpt-4o-1120",
    "gpt-4.1",
    "qwen-72b",
    "deepseek",
    "gpt-4-0613",
    "llama31-8b",
)
_NUMBERS = (
    "width",
    "height",
    "num",
    "count",
    "fps",
    "duration",
    "turn",
    "score",
    "level_num",
    "year",
)
_LISTS = (
    "options",
    "choices",
    "candidates",
    "images",
    "steps",
    "checklist",
    "constraints",
    "rubric",
    "keywords",
)
_KINDS = (
    "type",
    "task",
    "category",
    "subject",
    "domain",
    "level",
    "difficulty",
    "source",
    "split",
    "topic",
    "skill",
    "dimension",
    "group",
    "set",
    "class",
    "language",
    "field",
    "scene",
    "ability",
    "modality",
)


def image(shade: int, size: tuple[int, int] = (64, 48)) -> Any:
    """Return a small image."""
    from PIL import Image

    return Image.new("RGB", size, (40 + 20 * shade % 200, 90, 160))


def picture(shade: int) -> str:
    """Return the same as base64."""
    buffer = io.BytesIO()
    image(shade).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def first_columns(answer: Any, is_video: bool) -> dict[str, list[Any]]:
    """Return the columns that most classes need."""
    numbers = range(ROWS)
    shared: dict[str, list[Any]] = {
        "index": list(numbers),
        "question": [f"Question {n}: what is shown?" for n in numbers],
        "answer": [answer] * ROWS,
        "category": ["alpha", "alpha", "beta", "beta"],
        "l2-category": ["one", "two", "one", "two"],
        "split": ["test"] * ROWS,
    }
    if str(answer) in "ABCD":
        shared |= {
            letter: [f"{word} {n}" for n in numbers]
            for letter, word in zip("ABCD", ("cat", "dog", "cow", "hen"), strict=True)
        }
    if is_video:
        return shared | {
            "video": ["clip0", "clip0", "clip1", "clip1"],
            "candidates": ["['cat', 'dog', 'cow', 'hen']"] * ROWS,
        }
    return shared | {"image": [picture(n) for n in numbers]}


def column(name: str, answer: str) -> list[Any]:
    """Values for a column by what it is called."""
    lower = name.lower()
    if "video" in lower or "clip" in lower:
        return ["clip0", "clip0", "clip1", "clip1"]
    if "image" in lower and ("path" in lower or "name" in lower or "file" in lower):
        return [f"{n}.png" for n in range(ROWS)]
    if "bbox" in lower or "box" in lower or "point" in lower:
        return ["[0, 0, 10, 10]"] * ROWS
    if any(part in lower for part in _LISTS):
        return ["['cat', 'dog', 'cow', 'hen']"] * ROWS
    if lower in (
        "id",
        "qid",
        "question_id",
        "sample_id",
        "uid",
        "image_id",
    ) or lower.endswith("_id"):
        return [f"{name}_{n}" for n in range(ROWS)]
    if any(part in lower for part in _NUMBERS):
        return [64] * ROWS
    if any(
        part in lower
        for part in ("answer", "label", "gt", "target", "solution", "reference")
    ):
        return [answer] * ROWS
    if any(part in lower for part in _KINDS):
        return [f"{name}_a", f"{name}_a", f"{name}_b", f"{name}_b"]
    if "image" in lower:
        return [picture(n) for n in range(ROWS)]
    return [f"{name}_text"] * ROWS


OTHERS = (
    ["['cat', 'dog', 'cow', 'hen']"] * ROWS,
    ['{"A": "cat", "B": "dog"}'] * ROWS,
    [1] * ROWS,
    ['[{"question": "q", "answer": "a", "text": "t"}]'] * ROWS,
)
"""Values for a column whose first ones were not readable."""


def cycled(texts: list[str]) -> list[str]:
    """Return one text for each row."""
    return [texts[n % len(texts)] for n in range(ROWS)]


def of_one_length(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns as long as the longest, the others repeated; rows are numbered anew."""
    most = max(ROWS, *map(len, columns.values()))
    longer = {
        name: [cells[n % len(cells)] for n in range(most)]
        for name, cells in columns.items()
    }
    return {**longer, "index": list(range(most))}


def write_table(path: Path, columns: dict[str, list[Any]]) -> None:
    """Return the columns as a TSV."""
    import pandas

    path.parent.mkdir(parents=True, exist_ok=True)
    pandas.DataFrame(columns).to_csv(path, sep="\t", index=False)


def write_videos(folder: Path, names: list[str]) -> None:
    """Short videos under the names that rows have, with and without a suffix."""
    for name in names:
        write_video(folder / f"{name}.mp4")
        (folder / name).write_bytes((folder / f"{name}.mp4").read_bytes())


def write_video(path: Path) -> bool:
    """Write a short video under any name. Return True."""
    import av
    import numpy

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=4)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(16):
            pixels = numpy.full((48, 64, 3), number * 15, dtype=numpy.uint8)
            for packet in stream.encode(
                av.VideoFrame.from_ndarray(pixels, format="rgb24")
            ):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return True


def write_file(path: Path, rows: list[dict[str, Any]]) -> bool:
    """Write a file of the kind that its suffix names. Return True if the kind is known."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".tsv", ".csv"):
        write_table(path, {name: [row[name] for row in rows] for name in rows[0]})
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, default=str))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row, default=str) for row in rows))
    elif path.suffix in (".png", ".jpg", ".jpeg"):
        path.write_bytes(base64.b64decode(picture(1)))
    elif path.suffix in (".mp4", ".avi", ".mkv"):
        write_video(path)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", "nothing")
    elif not path.suffix:
        path.mkdir(exist_ok=True)
    else:
        return False
    return True


def variants(kind: str, keys: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Answers with judge's replies, the likely ones for a class's `TYPE` first; `keys` are of JSON it may ask for."""
    first = {"MCQ": "A", "Y/N": "Yes", "VIDEO-MCQ": "A"}.get(kind.upper(), "1")
    answers = [first, *(answer for answer in ANSWERS if answer != first)]
    asked = (
        [json.dumps(dict.fromkeys(keys, value)) for value in (1, "yes", "A")]
        if keys
        else []
    )
    yield from itertools.product(
        answers[:1],
        [REPLIES[0], *asked, *(f"```json\n{text}\n```" for text in asked[:1])],
    )
    yield from itertools.product(answers[:1], REPLIES[1:])
    yield from itertools.product(answers[1:], REPLIES[:6])


def finite_number(value: Any) -> tuple[str, float] | None:
    """Return the first finite number in the result of `evaluate`, with its path."""
    if hasattr(value, "to_dict"):
        value = value.to_dict("list") if hasattr(value, "columns") else value.to_dict()
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, (list, tuple)):
        entries = [(str(place), inner) for place, inner in enumerate(value)]
    else:
        entries = []
        try:
            number = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError):
            number = math.nan
        return ("value", number) if math.isfinite(number) else None
    for key, inner in entries:
        found = finite_number(inner)
        if found is not None:
            return (str(key) if found[0] == "value" else f"{key}.{found[0]}", found[1])
    return None


def as_json(value: Any) -> str:
    """Print a line for the parent process."""
    return json.dumps(value, ensure_ascii=False, default=str)
