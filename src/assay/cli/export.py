"""`assay export`: a run as CSV, Parquet, or the results file of lm-eval; or the whole folder, to a URL."""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..core import StoreError, UsageError
from ..store import RunReader
from ..store.file_ledger import FileLedger
from .arguments import Parser
from .display import say_damage

OTHER_NAMES = {
    "lm-eval": "lm-eval-json",
    "lm_eval": "lm-eval-json",
    "lm_eval_json": "lm-eval-json",
}
ANSWERS = {
    "html": "`assay report RUN -o report.html` writes one page with tables, drawings and samples",
    "jsonl": "records.jsonl in the run folder is JSON lines already, one for each answer and verdict",
    "json": "summary.json in the run folder holds the numbers, `assay export RUN --to lm-eval-json` lm-eval's form",
    "xlsx": "`--to csv` opens in a spreadsheet",
}
"""What people ask for, and what there is."""
SUFFIX = {"csv": ".csv", "parquet": ".parquet", "lm-eval-json": ".json"}


def command(arguments: Sequence[str]) -> int:
    """Writes the file and says where it is."""
    p = Parser(
        prog="assay export",
        description="A run for other tools. csv and parquet: a row for each sample and scorer.\n"
        "In csv, text that a spreadsheet would take for a formula gets a ' before it (take it away to get the text).",
    )
    p.add_argument("run", help="a run folder")
    p.add_argument(
        "url",
        nargs="?",
        default=None,
        help="copies the folder there: s3://…, gs://…, file://… (by fsspec)",
    )
    p.add_argument("--to", default="csv", metavar="|".join(SUFFIX))
    p.add_argument(
        "-o",
        "--output",
        default=None,
        metavar="FILE",
        help="default: beside the records; - is stdout",
    )
    p.add_argument(
        "--model", default=None, help="which model, where an lm-eval file needs one"
    )
    options = p.parse(arguments)
    options.to = _kind(options.to)
    reader = RunReader(Path(options.run).expanduser())
    if options.url is not None:
        from ..store.copying import copy_run

        sys.stdout.write(
            f"{options.url}: {copy_run(reader.layout, options.url)} files\n"
        )
        return say_damage(reader)
    name = "results" if options.to == "lm-eval-json" else "samples"
    if options.output == "-":
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / f"{name}{SUFFIX[options.to]}"
            _write(reader, options.to, draft, options.model)
            with draft.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        return say_damage(reader)
    path = (
        Path(options.output).expanduser()
        if options.output
        else reader.layout.folder / f"{name}{SUFFIX[options.to]}"
    )
    ledger = claim_export(reader.layout.folder, path)
    count, what = _write(reader, options.to, path, options.model)
    if ledger is not None:
        ledger.note(path, with_content=True)
    sys.stdout.write(f"{path}: {count} {what}\n")
    return say_damage(reader)


def claim_export(run: Path, path: Path) -> FileLedger | None:
    """The ledger of a run, once it says that an export may write a file; `None` where it can take no note.

    Raises where the export would replace a file that no export of this run wrote, or that was changed since.
    """
    if not path.parent.is_dir():
        return None  # said when it is written
    ledger = FileLedger(run)
    try:
        ledger.claim(path)
    except StoreError:
        if os.path.lexists(path):
            raise
        return None  # a run folder that cannot be written to: the file can be added, and not replaced later
    return ledger


def _kind(name: str) -> str:
    kind = OTHER_NAMES.get(name, name)
    if kind not in SUFFIX:
        fix = "; ".join(
            [
                *([ANSWERS[kind]] if kind in ANSWERS else []),
                f"one of {', '.join(SUFFIX)}",
            ]
        )
        raise UsageError(f"assay does not export {name!r}", where="--to", fix=fix)
    return kind


def _write(
    reader: RunReader, kind: str, path: Path, model: str | None
) -> tuple[int, str]:
    """Writes the file; how many of what it holds."""
    from ..store.export import write_csv, write_lm_eval, write_parquet

    if kind == "lm-eval-json":
        return write_lm_eval(reader, path, model), "tasks"
    return (write_csv if kind == "csv" else write_parquet)(reader, path), "rows"
