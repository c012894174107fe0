"""Loads and runs every extension file of the toolkits' checkouts, in place and unchanged, and prints how far each came.

    python tools/guest_world.py CHECKOUT… [--details] [--only NAME…] [--rows REVISION]

A file is given synthetic rows with the columns it asks for, scripted models and scripted judges, and no network. Each
runs in a process of its own. `$GUEST_WORLD_CACHE` names a file that keeps outcomes, so that another call runs only what
changed; `--only` runs the named files of the kits again, whatever is kept. `$PYTHONPATH` may add packages that the
files want.
"""

import argparse
import importlib
import pkgutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools import guest_worlds
from tools.guest_worlds.outcome import Outcome, State


def main() -> None:
    """Print a table for each checkout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--details", action="store_true", help="a line for every file")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="these files or kinds of the kits",
    )
    parser.add_argument(
        "--rows", metavar="REVISION", help="only rows for the table of docs/dialects.md"
    )
    given = parser.parse_args()
    worlds = [
        importlib.import_module(f"tools.guest_worlds.{found.name}")
        for found in pkgutil.iter_modules(guest_worlds.__path__)
    ]
    for checkout in given.checkouts:
        folder = checkout.expanduser().resolve()
        world = next(
            (w for w in worlds if hasattr(w, "is_checkout") and w.is_checkout(folder)),
            None,
        )
        if world is None:
            sys.exit(f"{checkout}: not a checkout of a toolkit that assay knows")
        if not given.rows:
            print(f"## {folder.name} {revision(folder)}".rstrip())
        found = []
        for outcome in (
            world.survey(folder, given.only) if given.only else world.survey(folder)
        ):
            found.append(outcome)
            if given.details:
                print(
                    f"{outcome.kind:10} {outcome.name:32} {outcome.state.value:18} {outcome.detail}",
                    flush=True,
                )
        print(rows(found, given.rows) if given.rows else table(found))


def revision(folder: Path) -> str:
    """Return the commit of a checkout, or an empty text outside a repository."""
    done = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    top = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "--show-toplevel"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if top.stdout.strip() == str(folder) else ""


def rows(outcomes: list[Outcome], revision: str) -> str:
    """Return a row of the documentation's table for each kind."""
    kinds = dict.fromkeys(outcome.kind for outcome in outcomes)
    lines = []
    for kind in kinds:
        counts = Counter(outcome.state for outcome in outcomes if outcome.kind == kind)
        cells = [
            revision,
            kind,
            str(counts.total()),
            *(str(counts[state]) for state in State),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table(outcomes: list[Outcome]) -> str:
    """Return counts by kind and state as a Markdown table, and the missing packages below it."""
    lines = [
        "| kind | files | " + " | ".join(state.value for state in State) + " |",
        "|---|" + "---|" * (len(State) + 1),
    ]
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome)
    for kind, own in by_kind.items():
        counts = Counter(outcome.state for outcome in own)
        lines.append(
            f"| {kind} | {len(own)} | "
            + " | ".join(str(counts[state]) for state in State)
            + " |"
        )
    for state in (State.PACKAGE, State.NETWORK, State.FAILS):
        grouped: dict[str, list[str]] = defaultdict(list)
        for outcome in outcomes:
            if outcome.state is state:
                grouped[outcome.detail].append(outcome.name)
        lines += [f"\n{state.value}:"] * bool(grouped)
        lines += [
            f"- {detail}: {', '.join(names)}"
            for detail, names in sorted(grouped.items())
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
