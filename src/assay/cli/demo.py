"""`assay demo`: measure one model for each modality, with models that are installed as packages.

It needs no API key and no download. The modalities are text, speech in (two
recognisers, compared on the same clips), speech out (a synthesiser, whose speech a
recogniser transcribes), image in and image out. All models but the first are
specialists, and the last lines describe each of them.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from ..core import EMPTY, Result, UsageError
from .arguments import Parser
from .run import stdout_for_people

WER = "wer[whisper-en]"
PARTIAL = 3


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the demo, such as speech in: its tasks, models and judges."""

    name: str
    tasks: tuple[str, ...]
    models: tuple[str, ...]
    metric: str = ""
    """The metric to show; empty to show all. The run folder always has all metrics."""
    judges: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    packages: tuple[tuple[str, str], ...] = ()
    """Additional packages that the scorers need: import name and pip name."""

    @property
    def everyone(self) -> tuple[str, ...]:
        """The names of all models of this part, judges included."""
        return tuple(dict.fromkeys((*self.models, *self.judges.values())))

    def missing(self) -> str:
        """Return the command that installs missing packages; empty if none is missing."""
        from importlib.util import find_spec

        from ..models.embedded import CATALOGUE

        lines = []
        for name in self.everyone:
            if CATALOGUE[name].missing:
                lines.append(CATALOGUE[name].install)
        for package, pip in self.packages:
            if find_spec(package) is None:
                lines.append(f"pip install {pip}")
        return " && ".join(lines)


NORMALIZER = (("whisper_normalizer", "whisper-normalizer"),)
PARTS = (
    Part("text", ("quickstart",), ("smollm2",)),
    Part(
        "speech-in",
        ("demo_asr",),
        ("moonshine", "pocketsphinx"),
        WER,
        packages=NORMALIZER,
    ),
    Part(
        "speech-out",
        ("demo_tts",),
        ("espeak",),
        f"spoken_{WER}",
        {"asr": "moonshine"},
        NORMALIZER,
    ),
    Part("image-in", ("demo_ocr",), ("rapidocr",), "read_text.exact"),
    Part(
        "image-out",
        ("demo_digits",),
        ("digits-flow",),
        "digit_accuracy",
        packages=(("sklearn", "scikit-learn"),),
    ),
    Part(
        "signs",
        ("demo_signs",),
        ("renderer",),
        "rendered_text.exact",
        {"ocr": "rapidocr"},
    ),
    Part("tools", ("demo_tools",), ("smollm2",)),
)


def command(arguments: Sequence[str]) -> int:
    """Run all parts and print one table. Return 0, or 3 if a part could not run."""
    names = ", ".join(part.name for part in PARTS)
    p = Parser(
        prog="assay demo",
        description="Measure one number for each modality on this machine's CPU.",
    )
    p.add_argument(
        "parts",
        nargs="*",
        help=f"only these: {names}",
    )
    p.add_argument(
        "-o",
        "--output",
        default="runs/demo",
        metavar="DIR",
        help="a folder for the runs",
    )
    p.add_argument(
        "--fresh", action="store_true", help="ignore earlier runs in the folder"
    )
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    parts = {part.name: part for part in PARTS}
    for name in options.parts:
        if name not in parts:
            raise UsageError(f"the demo has no part {name!r}", fix=f"one of {names}")
    chosen = [parts[name] for name in options.parts] or list(PARTS)
    with stdout_for_people(options.json) as stdout:
        return show_parts(
            chosen,
            Path(options.output),
            stdout,
            fresh=options.fresh,
            is_json=options.json,
        )


def show_parts(
    parts: Sequence[Part],
    folder: Path,
    stdout: TextIO,
    *,
    fresh: bool,
    is_json: bool,
) -> int:
    """Run each part in a separate folder, and print one table of all results. Return the exit code."""
    from ..runner.options import RunOptions
    from ..runner.run import run
    from .display import watcher

    results: list[Result] = []
    lines: list[str] = []
    models: list[str] = []
    codes = [0]
    for part in parts:
        line = part.missing()
        if line:
            lines.append(f"{part.name}: not run; fix: {line}")
            codes.append(PARTIAL)
            continue
        run_folder = folder / part.name
        options = RunOptions(
            part.tasks,
            part.models,
            judges=part.judges,
            output=str(run_folder),
            fresh=fresh,
        )
        done = run(
            options=options,
            watcher=watcher(is_json),
        )
        results += [r for r in done.results if part.metric in ("", r.metric)]
        lines += [
            *paired_lines(run_folder, part),
            *(f"{part.name}: {note}" for note in done.notes),
        ]
        models += [name for name in part.everyone if name not in models]
        codes.append(done.exit_code)
    if is_json:
        document = {
            "results": [r.to_plain() for r in results],
            "notes": lines,
            "models": dict(about(models)),
        }
        stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        finished = next(
            (
                folder / part.name
                for part in parts
                if (folder / part.name / "run.json").is_file()
            ),
            None,
        )
        _print(results, lines, models, folder, stdout, finished)
    return max(codes)


def about(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of each model, with its description and licence."""
    from ..models.embedded import CATALOGUE

    for name in names:
        yield name, f"{CATALOGUE[name].summary}; {CATALOGUE[name].licence}"


def paired_lines(folder: Path, part: Part) -> Iterator[str]:
    """Yield lines about the difference of the two recognisers' error rates, and whether it is significant."""
    if len(part.models) != 2 or not part.metric.startswith("wer["):
        return
    from ..comparison.compared_values import Values
    from ..comparison.comparing import adjust, compare_number
    from ..store import RunReader

    reader, (first, second) = RunReader(folder), part.models
    number = next(
        (r for r in reader.results if (r.model, r.metric) == (first, part.metric)), None
    )
    if number is not None:
        row = compare_number(number, reader, reader, second, Values())
        adjust([row])
        yield row.line()


def _print(
    results: Sequence[Result],
    lines: Sequence[str],
    models: Sequence[str],
    folder: Path,
    out: TextIO,
    finished: Path | None,
) -> None:
    from rich.console import Console

    from ..report import printable, show_table
    from ..report.grid import FILE_WIDTH, fixed_width
    from .display import typed_command

    console = Console(
        file=out,
        highlight=False,
        width=fixed_width(out) or FILE_WIDTH,
    )
    console.print()
    show_table(results, console)
    console.print()
    for line in lines:
        console.print(
            printable(line),
            markup=False,
            soft_wrap=True,
        )
    console.print(
        "Small sets: a smoke test of every modality, not a measure of ability. The models:"
    )
    for name, line in about(models):
        console.print(
            printable(f"  {name}: {line}"),
            markup=False,
            soft_wrap=True,
        )
    command = typed_command()
    show_step = (
        f"  {command} show {shlex.quote(str(finished))}     every sample: prompt, answer, verdict",
    )
    steps = (
        f"runs: {folder}; next:",
        *(show_step if finished is not None else ()),
        f"  {command} run data.jsonl --model my.py:fn     your rows, your function",
    )
    for step in steps:
        console.print(step, markup=False, soft_wrap=True)
