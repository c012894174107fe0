"""Start-up: CPU time of `assay --help` and `assay ls` beside that of a bare interpreter.

The names of lm-eval and lmms-eval are listed too, if their packages are installed: from the index of the call before,
then with a cache folder that is empty.

python bench/startup.py [--repeats 9]
"""

import argparse
import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

from measured import cost_of, median_cpu

LIBRARIES = ("lm_eval", "lmms_eval")


def main() -> None:
    """Print CPU seconds and ratios."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeats", type=int, default=9)
    given = arguments.parse_args()
    command = shutil.which("assay", path=str(Path(sys.executable).parent)) or "assay"
    bare = median_cpu([sys.executable, "-c", "pass"], given.repeats)
    print(f"{'python -c pass':18} {bare:6.3f} s CPU")
    for words in (
        ["--help"],
        ["run", "--help"],
        ["ls"],
        ["ls", "models"],
        ["ls", "scorers"],
    ):
        spent = median_cpu([command, *words], given.repeats)
        print(
            f"{'assay ' + ' '.join(words):18} {spent:6.3f} s CPU  {spent / bare:5.1f}x"
        )
    for library in LIBRARIES:
        if importlib.util.find_spec(library) is None:
            continue
        listing = [command, "ls", library]
        cost_of(listing)
        spent = median_cpu(listing, given.repeats)
        print(f"{'assay ls ' + library:18} {spent:6.3f} s CPU  {spent / bare:5.1f}x")
        with tempfile.TemporaryDirectory() as cache:
            cold = cost_of(listing, environment={"XDG_CACHE_HOME": cache})
        print(f"{'  without an index':18} {cold.cpu_seconds:6.3f} s CPU")


if __name__ == "__main__":
    main()
