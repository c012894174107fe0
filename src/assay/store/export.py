"""Export a run as a table: CSV or Parquet. Formats of other tools are in the package `exports`.

Both have one row for each sample, epoch and scorer in the last summary. A text cell of
a CSV file that starts with `=`, `+`, `-`, `@`, a tab, a carriage return or `'` gets a
leading `'`, so that no spreadsheet evaluates it as a formula. Removing one leading `'`
restores the text. Columns of numbers are unchanged.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import OutputRecord, ScoreRecord, library
from ..core.record import whole_prompts
from ..datasets.files import natural_key
from .cell_index import CellIndex
from .file_ledger import write_output
from .runs import RunReader

if TYPE_CHECKING:
    import pandas


NUMBER_COLUMNS = ("epoch", "value")
COLUMNS = (
    "task",
    "model",
    "id",
    "epoch",
    "scorer",
    "prompt",
    "answer",
    "extracted",
    "target",
    "outcome",
    "value",
    "values",
    "tags",
    "error",
    "protocol",
)
"""The columns of the table. `answer` is the model's answer, `extracted` the part that
was scored; `values` and `tags` are JSON.
"""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_ROWS_AT_ONCE = 1000


def rows_of(
    reader: RunReader,
    only_model: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield one row for each score in the last summary, with question and answer.

    An answer without a score also gets a row, with an empty scorer. With `only_model`,
    rows of other models are left out.
    """
    protocols = {}
    for row in reader.summary.get("results", ()):
        protocols[(row["task"], row["model"])] = row.get("protocol")
    for (task, model), cell in reader.index.cells.items():
        if "#" in task and not cell.scores:
            continue  # The requests to a judge are stored under `task#role`.
        if not reader.is_counted(task, model):
            continue
        if only_model is not None and model != only_model:
            continue
        view = reader.view(task, model)
        counted = [cell.scores[scorer] for scorer in reader.scorers(task, model)]
        for key in filter(view.__contains__, places_of(cell)):
            rounds = reader.rounds(task, model, key)
            verdicts = [scored[key][0] for scored in counted if key in scored]
            common = {
                "task": task,
                "model": model,
                "id": key[0],
                "epoch": key[1],
                **_asked(rounds),
            }
            common["protocol"] = protocols.get((task, model))
            if not verdicts and not rounds:
                continue  # A row that could not be asked; another scorer may list it.
            if not verdicts:
                yield {**dict.fromkeys(COLUMNS), **common}
            for offset in verdicts:
                yield {
                    **dict.fromkeys(COLUMNS),
                    **common,
                    **_verdict(reader.index.score(offset)),
                }


def places_of(cell: CellIndex) -> list[tuple[str, int]]:
    """Return all pairs of sample id and epoch of a task × model, in natural order of the ids."""
    return sorted(cell.places, key=lambda place: (natural_key(place[0]), place))


def _asked(rounds: Sequence[OutputRecord]) -> dict[str, Any]:
    if not rounds:
        return {}
    last = rounds[-1]
    error = last.output.get("error")
    return {
        "prompt": prompt_text(whole_prompts(rounds)[-1]),
        "answer": answer_text(last.output),
        "target": as_text(last.target),
        "error": f"{error['kind']}: {error['message']}" if error else None,
    }


def _verdict(record: ScoreRecord) -> dict[str, Any]:
    verdict: dict[str, Any] = {
        "scorer": record.scorer,
        "extracted": record.answer,
        "outcome": record.outcome,
        "value": record.value,
        "values": json.dumps(dict(record.values), ensure_ascii=False),
        "tags": json.dumps(dict(record.tags), ensure_ascii=False)
        if record.tags
        else None,
    }
    if "error" in record.details:
        verdict["error"] = str(record.details["error"])
    return verdict


def data_frame(
    rows: Iterable[Mapping[str, Any]],
    columns: Iterable[str] | None = None,
) -> "pandas.DataFrame":
    """Return rows as a pandas data frame. If pandas is missing, raise an error with the install command."""
    pandas = library("pandas", "pandas, which makes data frames,", "'assay[guests]'")
    return pandas.DataFrame(
        list(rows), columns=None if columns is None else list(columns)
    )


def prompt_text(prompt: Sequence[Mapping[str, Any]]) -> str:
    """Return the messages of a record as text, with media as `[image 1a2b3c…]`.

    If there is only a user turn, return its content without the role.
    """
    if len(prompt) == 1 and prompt[0].get("role") in ("user", ""):
        return content_text(prompt[0].get("content"))
    return "\n".join(
        f"{turn.get('role')}: {content_text(turn.get('content'))}" for turn in prompt
    )


def content_text(content: str | Iterable[Mapping[str, Any]] | None) -> str:
    """Return the content of one message as text. Media are represented by their digest."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part_text(part) for part in content)


def part_text(part: Mapping[str, Any]) -> str:
    """Return one part of a recorded message as text."""
    kind = part.get("type")
    if "sha256" in part:
        digest = str(part["sha256"])
        return f"[{kind} {digest[:12]}]"
    if kind == "json":
        return json.dumps(part.get("value"), ensure_ascii=False)
    if kind == "tool_call":
        arguments = as_text(part.get("arguments"))
        return f"[call] {part.get('name')}({arguments})\n"
    if kind == "tool_result":
        if part.get("error"):
            error = f" {part['error']}"
        else:
            error = ""
        content = content_text(part.get("content"))
        return f"[result{error}] {content}\n"
    return str(part.get("text", ""))


def answer_text(output: Mapping[str, Any]) -> str:
    """Return the answer as text: candidates on separate lines, likelihoods as numbers."""
    if output.get("likelihoods"):
        return json.dumps([entry[0] for entry in output["likelihoods"]])
    return "\n".join(
        candidate_text(candidate) for candidate in output.get("candidates", ())
    )


def candidate_text(candidate: Mapping[str, Any]) -> str:
    """Return one answer as text, without its reasoning."""
    if "text" in candidate:
        return str(candidate["text"])
    return "".join(
        part_text(part)
        for part in candidate.get("parts", ())
        if part.get("type") != "reasoning"
    )


def as_text(value: object) -> str | None:
    """Return a value of a record as text: texts unchanged, other values as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(
        value,
        ensure_ascii=False,
        default=str,
    )


def safe_cell(text: str) -> str:
    """Return a text as a CSV cell that no spreadsheet evaluates."""
    if text.startswith(_FORMULA):
        return f"'{text}"
    return text


def plain_cell(cell: str) -> str:
    """Return the original text of a CSV cell that `safe_cell` wrote."""
    if cell.startswith("'"):
        return cell[1:]
    return cell


def csv_text(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> str:
    """Return rows as CSV in which spreadsheets evaluate no text as a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(
        [safe_cell(cell) if isinstance(cell, str) else cell for cell in row]
        for row in rows
    )
    return out.getvalue()


def write_csv(
    reader: RunReader,
    path: Path,
    model: str | None = None,
) -> int:
    """Write one row per sample and scorer to a CSV file, and return the number of rows."""

    def write(draft: Path) -> int:
        count = 0
        with draft.open(
            "w",
            encoding="utf-8",
            errors="backslashreplace",
            newline="",
        ) as file:
            # With another line end, a carriage return inside a cell would not be quoted and would start a new row.
            writer = csv.writer(file, lineterminator="\r\n")
            writer.writerow(COLUMNS)
            for row in rows_of(reader, model):
                writer.writerow([_cell(name, row[name]) for name in COLUMNS])
                count += 1
        return count

    return write_output(path, write)


def _cell(name: str, value: object) -> object:
    if value is None:
        return ""
    if name in NUMBER_COLUMNS:
        return value
    return safe_cell(str(value))


def write_parquet(
    reader: RunReader,
    path: Path,
    model: str | None = None,
) -> int:
    """Write one row per sample and scorer to a Parquet file, with unchanged texts, and return the number of rows."""
    import pyarrow
    from pyarrow import parquet

    kinds = {"epoch": pyarrow.int64(), "value": pyarrow.float64()}
    schema = pyarrow.schema(
        [(name, kinds.get(name, pyarrow.string())) for name in COLUMNS]
    )

    def write(draft: Path) -> int:
        count = 0
        rows = rows_of(reader, model)
        with parquet.ParquetWriter(draft, schema) as writer:
            while block := list(islice(rows, _ROWS_AT_ONCE)):
                columns = {
                    name: [_valid(row[name]) for row in block] for name in COLUMNS
                }
                writer.write_table(pyarrow.table(columns, schema=schema))
                count += len(block)
        return count

    return write_output(path, write)


def _valid(value: object) -> object:
    """Return a text without lone surrogates, which UTF-8 cannot represent, and any other value unchanged."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value
