"""`assay export`: write a run in the format of another tool, or copy its folder to a URL."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import UsageError
from ..registry import exporters
from ..store import RunReader
from ..store.imported import open_run
from .arguments import Parser
from .display import say_damage

if TYPE_CHECKING:
    from ..exports import Exporter

OTHER_NAMES = {
    "lm-eval": "lm-eval-json",
    "inspect-ai": "inspect",
    "eval": "inspect",
    "eee": "every-eval-ever",
    "hf": "hf-eval-results",
    "hub": "hf-eval-results",
    "card": "model-card",
}
ANSWERS = {
    "html": "`assay report RUN -o report.html` writes one page with tables, charts and samples",
    "jsonl": "records.jsonl in the run folder is JSON lines already, one for each answer and verdict",
    "json": "summary.json in the run folder has the numbers, `assay export RUN --to lm-eval-json` lm-eval's form",
    "xlsx": "`--to csv` opens in a spreadsheet",
}
"""Formats that `--to` does not accept, each with advice on what to use instead."""


def command(arguments: Sequence[str]) -> int:
    """Write the file and print its path."""
    p = Parser(
        prog="assay export",
        description="Write a run for other tools. CSV and Parquet have a row for each sample and\n"
        "scorer. In CSV, a ' is put before text that a spreadsheet would run as a\n"
        "formula. mlflow, wandb and trackio write to this machine unless you configured\n"
        "a server for them.",
    )
    p.add_argument("run", help="a run folder")
    p.add_argument(
        "url",
        nargs="?",
        default=None,
        help="copies the folder there: s3://…, gs://…, file://… (by fsspec)",
    )
    p.add_argument(
        "--to",
        default="csv",
        metavar="NAME",
        help=f"{', '.join(exporters.names())} (default: csv)",
    )
    p.add_argument(
        "-o",
        "--output",
        default=None,
        metavar="FILE",
        help="default: in the run folder; - is stdout",
    )
    p.add_argument(
        "--model",
        default=None,
        help="only this model of a run with several",
    )
    options = p.parse(arguments)
    name, exporter = _exporter(options.to)
    reader = open_run(options.run)
    if options.url is not None:
        from ..store.merging import copy_run

        sys.stdout.write(
            f"{options.url}: {copy_run(reader.layout, options.url)} files\n"
        )
        return say_damage(reader)
    if options.output == "-":
        _write_to_stdout(exporter, name, reader, options.model)
        return say_damage(reader)
    if options.output:
        path = Path(options.output).expanduser()
    else:
        path = reader.layout.folder / exporter.file_name
    content = exporter.write(reader, path, options.model)
    sys.stdout.write(f"{path}: {content}\n")
    return say_damage(reader)


def _exporter(name: str) -> tuple[str, "Exporter"]:
    """Return the exporter for a name or an alias, and its full name. Raise for an unknown name."""
    folded = name.lower().replace("_", "-")
    kind = OTHER_NAMES.get(folded, name)
    if kind not in exporters:
        choices = f"one of {', '.join(exporters.names())}"
        if folded in ANSWERS:
            fix = f"{ANSWERS[folded]}; {choices}"
        else:
            fix = choices
        raise UsageError(
            f"assay does not export {name!r}",
            where="--to",
            fix=fix,
        )
    exporter: Exporter = exporters.build(kind)
    if not callable(getattr(exporter, "write", None)):
        raise UsageError(
            f"exporter {kind!r} has no method `write`",
            where="--to",
            fix="an exporter is a class with `file_name` and `write(reader, path, model)`",
        )
    return kind, exporter


def _write_to_stdout(
    exporter: "Exporter",
    name: str,
    reader: RunReader,
    model: str | None,
) -> None:
    """Export to a temporary file, and copy the file to stdout."""
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / exporter.file_name
        exporter.write(reader, draft, model)
        if not draft.is_file():
            raise UsageError(
                f"{name} writes more than one file",
                where="-o -",
                fix="name a folder with -o",
            )
        with draft.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
