"""Forecasting: about how many samples there will be, for progress bars, and whether so few can tell anything; the run
itself counts what comes."""

from collections.abc import Sequence
from pathlib import Path

from ...datasets.views import parse_limit
from ...summarizers.statistics import minimum_detectable_paired_binary, wilson
from ..options import RunOptions
from .cell import Cell

LINED = (".jsonl", ".ndjson", ".csv", ".tsv")
LARGEST_COUNTED = 64 * 1024 * 1024
"""Counting the lines of a larger file would be felt at the start."""
LARGEST_READ = 8 * 1024 * 1024
MOST_READ = 1000
TRIAL = 10
"""So few samples are a trial of the set-up: nobody takes its number for one."""
WIDEST = 0.1
"""An interval of ± 10 points, or a difference of 10 points, is the least that is worth a run."""
DIFFER = 0.2
"""The share of samples on which two models are taken to differ."""
ENOUGH = {"value": 400, "difference": 630}
"""Samples that give a share to ± 5 points, and that show a difference of 5 points where models differ on 20 %."""


def expected_requests(cell: Cell) -> int | None:
    """Samples times epochs, as well as it can be told without reading the data; `None` if it cannot."""
    chosen = cell.chosen()
    samples = chosen.known_length
    if samples is None and not (
        cell.run.ids or cell.run.shard or cell.samples.split or cell.samples.subset
    ):
        samples = _limited(_lines(cell.samples.files), cell.run.limit)
    if samples is None and _is_quickly_counted(cell):
        samples = sum(1 for _ in chosen)
    return None if samples is None else samples * cell.task.epochs


def _is_quickly_counted(cell: Cell) -> bool:
    """Whether reading the samples once more is not felt: a few of them, or all of a small file.

    Rows that a user's function makes are not read twice: it may take long, or do something else each time.
    """
    if cell.makes_rows or not cell.samples.files:
        return False
    limit = parse_limit(cell.run.limit)
    few = limit if isinstance(limit, int) else None
    if (
        few is not None
        and few <= MOST_READ
        and not cell.run.shuffle
        and not cell.run.ids
    ):
        return True
    return sum(file.stat().st_size for file in cell.samples.files) <= LARGEST_READ


def _lines(files: tuple[Path, ...]) -> int | None:
    if not files or any(file.suffix not in LINED for file in files):
        return None
    if sum(file.stat().st_size for file in files) > LARGEST_COUNTED:
        return None
    return sum(_count(file) for file in files)


def _count(file: Path) -> int:
    data = file.read_bytes()
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return lines - (file.suffix in (".csv", ".tsv"))


def _limited(lines: int | None, limit: str | int | float | None) -> int | None:
    if lines is None or limit is None:
        return lines
    first, dash, last = str(limit).partition("-")
    try:
        if dash:
            return max(0, min(lines, int(last)) - int(first) + 1)
        number = float(limit)
    except ValueError:
        return None
    return min(lines, int(number)) if number >= 1 else int(lines * number)


def small_limit_note(options: RunOptions, cells: Sequence[Cell]) -> str | None:
    """One line where `--limit` leaves too few samples: to give a value, or to tell models apart; else `None`."""
    if options.limit is None or options.until is not None or not cells:
        return None
    counts = [
        count // cell.task.epochs
        for cell in cells
        if (count := expected_requests(cell)) is not None
    ]
    n = min(counts, default=0)
    compares = (
        options.baseline is not None or len({cell.model_name for cell in cells}) > 1
    )
    if n < 2 or (n <= TRIAL and not compares):
        return None
    if compares:
        smallest = _smallest(n)
        if smallest is not None and smallest <= WIDEST:
            return None
        likely = "no difference that is likely"
        difference = (
            likely
            if smallest is None
            else f"a difference of {smallest * 100:.0f} points"
        )
        enough = ENOUGH["difference"]
        return f"--limit {options.limit}: {n} samples show {difference} between models; --limit {enough} shows 5"
    low, high = wilson(n // 2, n)
    if (high - low) / 2 <= WIDEST:
        return None
    width, enough = (high - low) * 50, ENOUGH["value"]
    return f"--limit {options.limit}: {n} samples give a value to ± {width:.0f} points; --limit {enough} to ± 5"


def _smallest(n: int) -> float | None:
    try:
        return minimum_detectable_paired_binary(n, DIFFER)
    except ValueError:
        return None
