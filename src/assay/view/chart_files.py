"""Write the charts of a report as SVG files, for papers and slides."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..core import AssayError, Result, UsageError
from ..core.record import result_from_plain
from ..report import charts
from ..report.svg import Ends
from ..store.file_ledger import check_outputs, write_output_text
from ..store.layout import disk_error
from .comparison_pages import comparison_page
from .report_file import open_runs
from .run_view import RunView

LONGEST_NAME = 100


def write_charts(
    folders: Sequence[Path],
    target: Path,
) -> list[Path]:
    """Write every chart of the runs to a folder, and return the paths of the files."""
    if target.exists() and not target.is_dir():
        raise UsageError(
            "this is a file",
            where=str(target),
            fix="name a folder for the charts",
        )
    runs = [run for run, _ in open_runs(folders)]
    texts: dict[str, str] = {}
    for name, svg in _drawings(runs):
        texts[_file_name(name, texts)] = f"{svg}\n"
    files = {target / name: text for name, text in texts.items()}
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, target) from error
    check_outputs(files)
    for path, text in files.items():
        write_output_text(path, text)
    return list(files)


def _drawings(runs: Sequence[RunView]) -> Iterator[tuple[str, str]]:
    for run in runs:
        whose = f"{run.name} " if len(runs) > 1 else ""
        results = [
            result_from_plain(row) for row in run.documents()[1].get("results", ())
        ]
        yield from (
            (whose + name, svg) for name, svg in (*_numbers(results), *_samples(run))
        )
    for before, after in pairwise(runs):
        try:
            page = comparison_page(before, after)
        except AssayError:
            continue  # a run without numbers has no charts
        yield from (
            (f"{before.name} to {after.name} {name}", svg)
            for name, svg in _differences(page)
        )


def _numbers(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield the name and SVG of each chart of results: one for each metric, and one for each breakdown by a tag."""
    for metric in dict.fromkeys(result.metric for result in results):
        metric_results = [result for result in results if result.metric == metric]
        several = len({result.model for result in metric_results}) > 1
        rows = [
            charts.Interval(_title(r, several), r.value, r.ci) for r in metric_results
        ]
        scale = _scale(metric_results[0])
        yield (
            f"{metric} numbers",
            charts.interval_rows(rows, f"{metric} with 95 % intervals", scale),
        )
    for result in results:
        for tag, groups in result.groups.items():
            if isinstance(groups, Mapping):
                named_groups = [(name, group) for name, group in groups.items()]
            else:
                named_groups = []
            rows = [
                charts.Interval(str(name), group.get("value"), _ends(group.get("ci")))
                for name, group in named_groups
                if isinstance(group, Mapping) and "metric" in group
            ]
            if len(rows) > 1:
                title = f"{result.task} {result.metric} by {tag}"
                yield (
                    title,
                    charts.interval_rows(
                        rows,
                        f"{title}, with 95 % intervals",
                        _scale(result),
                    ),
                )


def _samples(run: RunView) -> Iterator[tuple[str, str]]:
    """Yield the name and SVG of each chart about the samples of a task and model."""
    columns = run.columns()
    for code, cell in enumerate(columns["cells"]):
        places = [
            i
            for i in range(columns["n"])
            if columns["cell"] is None or columns["cell"][i] == code
        ]
        if not places:
            continue
        whose = cell["task"] + (
            f" {cell['model']}"
            if len({c["model"] for c in columns["cells"]}) > 1
            else ""
        )

        def pick(
            column: Sequence[Any] | None,
            places: Sequence[int] = places,
        ) -> list[Any]:
            if column:
                return [column[i] for i in places]
            return []

        values = pick(columns["metrics"].get(cell["metric"]))
        outcomes = pick(columns["outcome"])
        tally = [
            charts.Bar(
                charts.outcome_words(name),
                outcomes.count(k),
                charts.outcome_look(name),
            )
            for k, name in enumerate(columns["outcomes"])
            if k in outcomes
        ]
        drawings = {
            cell["metric"]: _histogram(
                values,
                f"{cell['metric']} of each sample",
                cell["metric"],
            ),
            "outcomes": charts.bars(tally, "Outcomes") if len(tally) > 1 else None,
            "lengths": _histogram(
                pick(columns["chars"]),
                "Characters of the answer",
                "characters",
            ),
            "seconds": _histogram(
                pick(columns["seconds"]),
                "Seconds of an answer",
                "seconds",
            ),
            "calibration": charts.calibration(pick(columns["confidence"]), values),
        }
        yield from (
            (f"{whose} {name}", svg)
            for name, svg in drawings.items()
            if svg is not None
        )


def _histogram(
    values: Sequence[Any],
    label: str,
    axis: str,
) -> str | None:
    """Return a histogram of values; None if all values are the same."""
    numbers = {value for value in values if value is not None and value == value}
    if len(numbers) < 2:
        return None
    is_long_tailed = axis in ("characters", "seconds")
    return charts.histogram(
        values,
        label,
        log=is_long_tailed,
        axis=axis,
    )


def _differences(page: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    compared = [row for row in page["rows"] if "refused" not in row]
    rows = []
    for r in compared:
        rows.append(
            charts.Interval(
                f"{r['task']} {r['metric']}",
                r["difference"],
                _ends(r["ci"]),
            )
        )
    if rows:
        yield (
            "differences",
            charts.interval_rows(
                rows,
                "Differences with 95 % intervals",
                around_zero=True,
            ),
        )
    metrics = list(dict.fromkeys(row["metric"] for row in compared))
    for metric in metrics:
        rows_of_metric = [row for row in compared if row["metric"] == metric]
        points = [
            charts.Point(
                f"{row['task']} {g['tag']}={g['name']}",
                g["before"],
                g["after"],
                g["n"],
            )
            for row in rows_of_metric
            for g in row["groups"]
        ]
        svg = charts.scatter(
            points, higher_is_better=rows_of_metric[0]["higher_is_better"]
        )
        if svg is not None:
            yield ("groups" if len(metrics) == 1 else f"groups {metric}"), svg


def _title(result: Result, several: bool) -> str:
    if several:
        return f"{result.task} {result.model}"
    return result.task


def _scale(result: Result) -> Ends | None:
    return _ends(result.details.get("scale"))


def _ends(pair: object) -> Ends | None:
    if isinstance(pair, (list, tuple)) and len(pair) == 2:
        return (float(pair[0]), float(pair[1]))
    return None


def _file_name(
    name: str,
    files: Container[str],
) -> str:
    """Return a file name of letters, digits and dashes that is not in `files`."""
    stem = re.sub(r"[^\w]+", "-", name).strip("-")[:LONGEST_NAME] or "chart"
    name = f"{stem}.svg"
    number = 1
    while name in files:
        number += 1
        name = f"{stem}-{number}.svg"
    return name
