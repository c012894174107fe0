"""Holds the numbers of a survey against upstream's own: the same rows, answers and judge's words, in its environment.

    GUEST_WORLD_KEEP=KEPT python tools/guest_world.py CHECKOUT
    python tools/guest_numbers.py KEPT CHECKOUT --python VENV/bin/python

Every dataset that ran to a number left a recipe in `KEPT`. It is given to the class of the checkout itself, in an
interpreter that has what upstream wants installed, and the whole result is compared.
"""

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.guest_worlds.kits import SECONDS, WORKER
from tools.guest_worlds.processes import Job, outcomes


def main() -> None:
    """Print a line for each dataset, and how many are equal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kept", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for dialect in ("vlmeval", "ulmeval"):
        recipes = sorted((given.kept / dialect).glob("*/recipe.json"))
        files = {
            path: given.checkout / dialect / "dataset" / f"{path.parent.name}.py"
            for path in recipes
        }
        jobs = [
            Job(
                WORKER,
                (dialect, "dataset", str(file)),
                file,
                path.parent,
                given.python,
                ("--upstream",),
            )
            for path, file in files.items()
            if file.is_file()
        ]
        for job, found in outcomes(jobs, SECONDS):
            ours = (
                json.loads((job.keep / "recipe.json").read_text())["whole"]
                if job.keep
                else None
            )
            verdict = (
                "equal"
                if "whole" in found and is_equal(ours, found["whole"])
                else "different"
            )
            verdict = verdict if "whole" in found else "upstream does not run"
            counts[verdict] += 1
            detail = (
                ""
                if verdict == "equal"
                else f"{str(ours)[:150]} / {str(found.get('whole', found.get('detail')))[:150]}"
            )
            print(f"{job.file.stem:32} {verdict:24} {detail}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))


def is_equal(ours: Any, theirs: Any) -> bool:
    """Whether two results have the same names and numbers, in whatever order: rows of a table may be shuffled too."""
    if is_table(ours) and is_table(theirs) and ours.keys() == theirs.keys():
        mine, other = (
            sorted(zip(*(t[name] for name in ours), strict=True), key=str)
            for t in (ours, theirs)
        )
        return len(mine) == len(other) and all(
            map(is_equal, map(list, mine), map(list, other))
        )
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            is_equal(value, theirs[key]) for key, value in ours.items()
        )
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(is_equal, ours, theirs))
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-9) or (
            ours != ours and theirs != theirs
        )
    return str(ours) == str(theirs)


def is_table(value: Any) -> bool:
    """Whether a value is columns of one length."""
    columns = list(value.values()) if isinstance(value, dict) else []
    return (
        bool(columns)
        and all(isinstance(c, list) for c in columns)
        and len({len(c) for c in columns}) == 1
    )


if __name__ == "__main__":
    main()
