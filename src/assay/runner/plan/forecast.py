"""Estimate the number of samples of a run, for progress bars and for a note about too few samples."""

from collections.abc import Sequence
from pathlib import Path

from ...datasets.views import count_within, parse_limit
from ...summarizers.statistics import minimum_detectable_paired_binary, wilson
from ..options import RunOptions
from .planned_task import PlannedTask

LINED = (".jsonl", ".ndjson", ".csv", ".tsv")
LARGEST_COUNTED = 64 * 1024 * 1024
"""Largest file, in bytes, whose lines are counted. Larger files would delay the start noticeably."""
LARGEST_READ = 8 * 1024 * 1024
MOST_READ = 1000
TRIAL = 10
"""Largest number of samples in a run that is treated as a test of the setup, and gets no note about too few samples."""
WIDEST = 0.1
"""Worst precision that is still useful: an interval of ± 10 points, or a detectable difference of 10 points."""
DIFFER = 0.2
"""Assumed fraction of samples on which one model is right and the other wrong."""
ENOUGH = {"value": 400, "difference": 630}
"""Samples needed to estimate a share within ± 5 points, or to detect a difference of 5 points between two models.

The models are assumed to differ on 20 % of the samples.
"""


def expected_requests(planned: PlannedTask) -> int | None:
    """Return samples times epochs, estimated without reading the data; None if that is not possible."""
    chosen = planned.chosen()
    samples = chosen.known_length
    if samples is None and not (
        planned.run.ids
        or planned.run.shard
        or planned.samples.split
        or planned.samples.subset
    ):
        rows = _lines(planned.samples.files)
        if rows is not None:
            samples = count_within(parse_limit(planned.run.limit), rows)
    if samples is None and _is_quickly_counted(planned):
        samples = sum(1 for _ in chosen)
    if samples is None:
        return None
    return samples * planned.task.epochs


def _is_quickly_counted(planned: PlannedTask) -> bool:
    """Return True if counting the samples is fast: only a few are used, or the files are small.

    The rows of a user's function are not counted, because it may be slow, or return
    different rows each time.
    """
    if planned.makes_rows or not planned.samples.files:
        return False
    limit = parse_limit(planned.run.limit)
    if isinstance(limit, int):
        few = limit
    else:
        few = None
    if (
        few is not None
        and few <= MOST_READ
        and not planned.run.shuffle
        and not planned.run.ids
    ):
        return True
    return sum(file.stat().st_size for file in planned.samples.files) <= LARGEST_READ


def _lines(files: tuple[Path, ...]) -> int | None:
    """Return the number of rows of files with one row per line; None for other or large files."""
    if not files or any(file.suffix not in LINED for file in files):
        return None
    if sum(file.stat().st_size for file in files) > LARGEST_COUNTED:
        return None
    return sum(_count(file) for file in files)


def _count(file: Path) -> int:
    """Return the number of rows of a file."""
    data = file.read_bytes()
    if not data:
        return 0
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return lines - (file.suffix in (".csv", ".tsv"))


def small_limit_note(
    options: RunOptions,
    planned_tasks: Sequence[PlannedTask],
) -> str | None:
    """Return a note if `--limit` leaves too few samples to estimate a value or compare models, or else None."""
    if options.limit is None or options.until is not None or not planned_tasks:
        return None
    counts = [
        count // planned.task.epochs
        for planned in planned_tasks
        if (count := expected_requests(planned)) is not None
    ]
    n = min(counts, default=0)
    compares = (
        options.baseline is not None
        or len({planned.model_name for planned in planned_tasks}) > 1
    )
    if n < 2 or (n <= TRIAL and not compares):
        return None
    if compares:
        smallest = _smallest(n)
        if smallest is not None and smallest <= WIDEST:
            return None
        likely = "no difference that is likely"
        if smallest is None:
            difference = likely
        else:
            difference = f"a difference of {smallest * 100:.0f} points"
        enough = ENOUGH["difference"]
        return f"--limit {options.limit}: {n} samples show {difference} between models; --limit {enough} shows 5"
    low, high = wilson(n // 2, n)
    if (high - low) / 2 <= WIDEST:
        return None
    width = (high - low) * 50
    enough = ENOUGH["value"]
    return f"--limit {options.limit}: {n} samples give a value to ± {width:.0f} points; --limit {enough} to ± 5"


def _smallest(n: int) -> float | None:
    """Return the smallest difference between two models that n samples can detect; None if n is too small for any."""
    try:
        return minimum_detectable_paired_binary(n, DIFFER)
    except ValueError:
        return None
