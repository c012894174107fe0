"""Start-up: CPU time of `assay --help` and `assay ls` beside that of a bare interpreter.

python bench/startup.py [--repeats 9]
"""

import argparse
import shutil
import sys
from pathlib import Path

from measured import median_cpu


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


if __name__ == "__main__":
    main()
