"""`assay label`: labels of people in and out of a run, and what they say of its judge."""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import UsageError
from ..report import format_value
from ..store import RunReader
from ..store.export import csv_text, plain_cell
from ..store.labels import Label, add_labels, read_labels
from .arguments import Parser

COLUMNS = ("task", "model", "id", "epoch", "value", "by", "at", "note")


def command(arguments: Sequence[str]) -> int:
    """Says what the labels of a run say of its judge, or moves them."""
    p = Parser(
        prog="assay label",
        description="Labels that people gave on the page of `assay view` (Label): agreement with the scorer,\n"
        "and its value corrected by them. --export and --import move them as CSV; a line is never overwritten.",
    )
    p.add_argument("run", help="a run folder")
    p.add_argument(
        "--export", default=None, metavar="FILE", help="writes all labels; - is stdout"
    )
    p.add_argument(
        "--import",
        dest="source",
        default=None,
        metavar="FILE",
        help="adds labels: columns id and value at least",
    )
    p.add_argument(
        "--by",
        default="",
        metavar="NAME",
        help="who gave the labels of a file that does not say",
    )
    options = p.parse(arguments)
    reader = RunReader(Path(options.run).expanduser())
    if options.export is not None:
        return _export(reader, options.export)
    if options.source is not None:
        return _import(reader, Path(options.source).expanduser(), options.by)
    return _say(reader)


def _export(reader: RunReader, target: str) -> int:
    labels = read_labels(reader.layout)
    text = csv_text(
        COLUMNS, ([getattr(label, name) for name in COLUMNS] for label in labels)
    )
    if target == "-":
        sys.stdout.write(text)
        return 0
    Path(target).expanduser().write_text(
        text, encoding="utf-8", errors="backslashreplace", newline=""
    )
    sys.stdout.write(f"{target}: {len(labels)} labels\n")
    return 0


def _import(reader: RunReader, path: Path, by: str) -> int:
    """Adds the labels of a file, all of them or none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read: {getattr(error, 'strerror', None) or error}", where=str(path)
        ) from error
    if not rows or not {"id", "value"} <= rows[0].keys():
        raise UsageError(
            "no columns `id` and `value`",
            where=str(path),
            fix="the first line names the columns",
        )
    cells = list(reader.index.cells)
    places = {cell: set(index.places) for cell, index in reader.index.cells.items()}
    labels = [
        _label(row, number, cells, places, by, path)
        for number, row in enumerate(rows, start=2)
    ]
    add_labels(reader.layout, labels)
    sys.stdout.write(f"{reader.layout.labels}: {len(labels)} labels added\n")
    return 0


def _label(
    row: dict[str, Any],
    number: int,
    cells: list[Any],
    places: dict[Any, Any],
    by: str,
    path: Path,
) -> Label:
    where = f"{path}:{number}"
    plain = {name: plain_cell(str(row.get(name) or "")) for name in COLUMNS}
    try:
        epoch = int(plain["epoch"] or 0)
        value = float(plain["value"]) if plain["value"] else None
    except ValueError as error:
        raise UsageError(
            f"value {plain['value']!r} is not a number", where=where
        ) from error
    fitting = [
        cell
        for cell in cells
        if "#" not in cell[0]
        and plain["task"] in ("", cell[0])
        and plain["model"] in ("", cell[1])
        and (plain["id"], epoch) in places[cell]
    ]
    if len(fitting) != 1:
        what = "no sample" if not fitting else f"{len(fitting)} samples"
        raise UsageError(
            f"{what} of the run is {plain['id']!r}",
            where=where,
            fix="name task and model in columns of their own",
        )
    task, model = fitting[0]
    return Label(
        task,
        model,
        plain["id"],
        epoch,
        value,
        plain["by"] or by or "imported",
        plain["at"],
        plain["note"],
    )


def _say(reader: RunReader) -> int:
    from ..view.labelling import label_page
    from ..view.run_view import RunView

    run = RunView(reader.layout.folder, "run", reader.layout.folder.name)
    for cell, described in enumerate(run.columns()["cells"]):
        found = label_page(run, cell, 0)["summary"]
        if not found["labelled"]:
            sys.stdout.write(
                f"{described['task']}: no labels; give some with `assay view` (Label) or --import\n"
            )
            continue
        parts = [f"{found['labelled']} labels"]
        if found.get("agree") is not None:
            kappa = "undefined" if found["kappa"] is None else f"{found['kappa']:.2f}"
            parts.append(
                f"agreement with {described['metric']} {found['agree']:.0%}, kappa {kappa}"
            )
        if found["alpha"] is not None:
            parts.append(f"alpha of the labellers {found['alpha']:.2f}")
        if corrected := found.get("corrected"):
            low, high = corrected["ci"] or (None, None)
            parts.append(
                f"{described['metric']} {format_value(found['judge_value'])}, "
                f"corrected {format_value(corrected['value'])} [{format_value(low)}, {format_value(high)}] "
                f"({corrected['method']})"
                + (f" ⚑ {corrected['unreliable']}" if corrected["unreliable"] else "")
            )
        sys.stdout.write(f"{described['task']}: {'; '.join(parts)}\n")
    return 0
