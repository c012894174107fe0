"""`assay report`: write runs into one file: HTML with charts and samples, Markdown, or CSV."""

import sys
from collections.abc import Sequence
from pathlib import Path

from ..core import UsageError
from .arguments import Parser, check_output_file, write_text

KINDS = {".html": "html", ".htm": "html", ".md": "md", ".csv": "csv"}


def command(arguments: Sequence[str]) -> int:
    """Write the file and print its path."""
    p = Parser(
        prog="assay report",
        description="Write one file about one or several runs: .html with tables, charts, samples\n"
        "and their media, and methods; .md with numbers, comparisons and methods; .csv\n"
        "with numbers. The page needs no network.",
    )
    p.add_argument("runs", nargs="+", help="run folders, or folders of runs")
    p.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="default: report.html; - is stdout",
    )
    p.add_argument(
        "--format",
        default=None,
        choices=sorted(set(KINDS.values())),
        help="default: by the suffix of FILE",
    )
    p.add_argument(
        "--samples",
        type=int,
        default=24,
        help="samples of each run in the page (default 24)",
    )
    p.add_argument(
        "--charts",
        default=None,
        metavar="DIR",
        help="write each chart as SVG into a folder instead",
    )
    options = p.parse(arguments)
    runs = [Path(run).expanduser().absolute() for run in options.runs]
    if options.charts is not None:
        from ..view.chart_files import write_charts

        files = write_charts(runs, Path(options.charts).expanduser())
        sys.stdout.write(f"{options.charts}: {len(files)} drawings\n")
        return 0
    kind = options.format or KINDS.get(
        Path(options.output).suffix.lower(), "html" if options.output == "-" else None
    )
    if kind is None:
        raise UsageError(
            f"{options.output}: the kind of report is not known from this name",
            fix="use a name that ends in .html, .md or .csv",
        )
    if options.samples < 0:
        raise UsageError(
            f"--samples {options.samples} is not a number of samples", fix="0 or more"
        )
    check_output_file(options.output)
    text = _text(kind, runs, options.samples)
    path = write_text(text, options.output)
    if path:
        sys.stdout.write(f"{path}: {path.stat().st_size / 1e3:,.1f} kB\n")
    return 0


def _text(
    kind: str,
    runs: Sequence[Path],
    samples: int,
) -> str:
    from ..view.report_file import csv_report, html_report, markdown_report

    if kind == "html":
        return html_report(runs, samples)
    if kind == "md":
        return markdown_report(runs)
    return csv_report(runs)
