"""`assay label`: export and import human labels, and compare them with the scorer."""

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import AssayError, UsageError
from ..core.errors import raise_all
from ..report import format_value
from ..report.grid import write_lines
from ..store import RunReader
from ..store.export import csv_text, plain_cell
from ..store.imported import open_run
from ..store.labels import Label, add_labels, read_labels
from ..view.labelling import check_label, described_cells, label_page
from ..view.run_view import RunView
from .arguments import Parser, write_text

COLUMNS = ("task", "model", "id", "epoch", "value", "by", "at", "note")
UNNAMED = "imported"
"""Stands for the annotator of labels whose file does not name one."""


def command(arguments: Sequence[str]) -> int:
    """Print the agreement of people with the scorer, or export or import labels."""
    p = Parser(
        prog="assay label",
        description="Report the labels that people gave in `assay view` (page Label): how far they\n"
        "agree with the scorer, and its value corrected by them. --export and --import\n"
        "write and read them as CSV. No label is ever overwritten.",
    )
    p.add_argument("run", help="a run folder, or results of another tool")
    p.add_argument(
        "--export",
        default=None,
        metavar="FILE",
        help="write all labels; - is stdout",
    )
    p.add_argument(
        "--import",
        dest="source",
        default=None,
        metavar="FILE",
        help="add labels: at least the columns id and value",
    )
    p.add_argument(
        "--by",
        default="",
        metavar="NAME",
        help="who gave the labels, if the file has no column `by`",
    )
    options = p.parse(arguments)
    reader = open_run(options.run)
    if options.export is not None:
        return _export(reader, options.export)
    if options.source is not None:
        return _import(reader, Path(options.source).expanduser(), options.by)
    return _print_summary(reader)


def _export(reader: RunReader, target: str) -> int:
    """Write all labels as CSV."""
    labels = read_labels(reader.layout)
    rows = ([getattr(label, name) for name in COLUMNS] for label in labels)
    text = csv_text(COLUMNS, rows)
    path = write_text(text, target)
    if path is not None:
        sys.stdout.write(f"{target}: {count_labels(len(labels))}\n")
    return 0


def count_labels(count: int) -> str:
    """Return a number of labels in words: "1 label", "2 labels"."""
    return f"{count:,} label{'' if count == 1 else 's'}"


def _import(
    reader: RunReader,
    path: Path,
    by: str,
) -> int:
    """Add the labels of a file. If one is invalid, add none."""
    rows = _read_rows(path)
    described = {}
    for description in described_cells(_view_of(reader)):
        described[description["task"], description["model"]] = description
    samples = {cell: set(index.places) for cell, index in reader.index.cells.items()}
    faults: list[AssayError] = []
    labels = []
    for number, row in enumerate(rows, start=2):
        try:
            label = _read_label(row, f"{path}:{number}", samples, by)
            cell = described.get((label.task, label.model))
            if cell is not None:
                check_label(label.value, cell, where=f"{path}:{number}")
            labels.append(label)
        except UsageError as error:
            faults.append(error)
    raise_all(faults)
    add_labels(reader.layout, labels)
    unnamed = sum(label.by == UNNAMED for label in labels)
    if unnamed:
        note = f"; {unnamed} without a name are kept as by {UNNAMED!r}"
    else:
        note = ""
    fix = " (--by NAME names them)" if unnamed else ""
    added = f"{count_labels(len(labels))} added{note}{fix}"
    sys.stdout.write(f"{reader.layout.labels}: {added}\n")
    return 0


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV file. Raise if it has no columns `id` and `value`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = set(reader.fieldnames or ())
            rows = list(reader)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot read: {reason}",
            where=str(path),
            fix="check the path",
        ) from error
    if not {"id", "value"} <= columns:
        raise UsageError(
            "no columns `id` and `value`",
            where=str(path),
            fix="the first line names the columns",
        )
    if not rows:
        raise UsageError(
            "there are no labels",
            where=str(path),
            fix="write at least one row",
        )
    return rows


def _view_of(reader: RunReader) -> RunView:
    return RunView(reader.layout.folder, "run", reader.layout.folder.name)


def _read_label(
    row: dict[str, Any],
    where: str,
    samples: Mapping[tuple[str, str], set[tuple[str, int]]],
    by: str,
) -> Label:
    """Return the label in one row of the file. Raise if it is not a number, or if the
    sample is unknown or ambiguous.
    """
    if None in row:  # where `csv.DictReader` puts cells without a column
        raise UsageError(
            "more cells than columns",
            where=where,
            fix="put quotes around a cell with a comma, and write decimals with a point",
        )
    plain = {name: plain_cell(str(row.get(name) or "")) for name in COLUMNS}
    try:
        epoch = int(plain["epoch"] or 0)
    except ValueError as error:
        text = f"epoch {plain['epoch']!r} is not a whole number"
        fix = "write a number from 0, or nothing for the first"
        raise UsageError(text, where=where, fix=fix) from error
    try:
        if plain["value"]:
            value = float(plain["value"])
        else:
            value = None
    except ValueError as error:
        text = f"value {plain['value']!r} is not a number"
        fix = "write a number, or nothing for 'cannot tell'"
        raise UsageError(text, where=where, fix=fix) from error
    task, model = _cell_of(plain, epoch, where, samples)
    name = plain["by"] or by or UNNAMED
    return Label(
        task,
        model,
        plain["id"],
        epoch,
        value,
        name,
        plain["at"],
        plain["note"],
    )


def _cell_of(
    plain: Mapping[str, str],
    epoch: int,
    where: str,
    samples: Mapping[tuple[str, str], set[tuple[str, int]]],
) -> tuple[str, str]:
    """Return the task and the model to which a label applies.

    Raise if no task × model has the sample, or if several have it.
    """
    fitting = []
    for (task, model), ids in samples.items():
        is_named = plain["task"] in ("", task) and plain["model"] in ("", model)
        if "#" not in task and is_named and (plain["id"], epoch) in ids:
            fitting.append((task, model))
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        count = "no sample"
    else:
        count = f"{len(fitting)} samples"
    raise UsageError(
        f"{count} of the run is {plain['id']!r}",
        where=where,
        fix="name task and model in separate columns",
    )


def _print_summary(reader: RunReader) -> int:
    """Print, for each task, how well the scorer agrees with people, and the corrected value."""
    run = _view_of(reader)
    for number, cell in enumerate(described_cells(run)):
        summary = label_page(run, number, 0)["summary"]
        line = f"{cell['task']}: {_summary_text(cell, summary)}"
        write_lines([line], sys.stdout)
    return 0


def _summary_text(
    cell: Mapping[str, Any],
    summary: Mapping[str, Any],
) -> str:
    """Return one line about the labels of one task × model."""
    if not summary["labelled"]:
        return "no labels; give some with `assay view` (Label) or --import"
    metric = cell["metric"]
    labelled = summary["labelled"]
    parts = [f"{labelled:,} sample{'' if labelled == 1 else 's'} labelled"]
    if "agree" in summary:
        agreement = f"agreement with {metric} {summary['agree']:.0%}"
        parts.append(f"{agreement}, {summary['kappa_text']}")
    if summary["alpha_text"]:
        parts.append(f"among people {summary['alpha_text']}")
    corrected = summary.get("corrected")
    if corrected:
        judged = format_value(summary["judge_value"])
        parts.append(f"{metric} {judged}, corrected {_corrected_text(corrected)}")
    return "; ".join(parts)


def _corrected_text(corrected: Mapping[str, Any]) -> str:
    """Return a corrected value with its interval, its method and a flag if it is unreliable."""
    value = format_value(corrected["value"])
    low, high = corrected["ci"] or (None, None)
    interval = f"[{format_value(low)}, {format_value(high)}]"
    text = f"{value} {interval} ({corrected['method']} interval)"
    flag = corrected["unreliable"]
    if flag:
        text += f" ⚑ {flag}"
    return text
