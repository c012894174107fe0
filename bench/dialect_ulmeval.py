"""The overhead of the ulmeval dialect over the bare pandas row that a guest's `build_prompt` demands.

The same prompts natively and as a guest's dataset and model classes; both models give the same image at once, so that
storing images costs both the same. The dialect may cost 60 us a row more than the native run and the bare row. The
three take turns; the difference is taken within each round, since other programs share the machine, and the median of
the rounds counts.

Usage: python bench/dialect_ulmeval.py [--rows 5000] [--rounds 7]     (0 when the dialect stays within its bound)
"""

import argparse
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LARGEST_OVERHEAD = 60.0
DATASET = """
from ulmeval.dataset.text_base import TextBaseDataset

class Bench(TextBaseDataset):
    DATASET_URL = {'Bench': ''}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        question = line['prompt']
        msgs = []
        msgs.append(dict(type='text', value=question))
        return msgs
"""
MODEL = """
from PIL import Image
from ulmeval.ulm.base import BaseModel

class Instant(BaseModel):
    def generate_inner(self, message, dataset=None):
        return Image.new('RGB', (8, 8), 'red')
"""
NATIVE = """
from PIL import Image

produces = ("image",)
dataset = "LMUData/Bench.tsv"

def prompt(sample):
    return sample["prompt"]

def score(sample, output):
    return float(len(output.media))

def draw(text: str):
    return Image.new('RGB', (8, 8), 'red')
"""


def write_files(folder: Path, count: int) -> None:
    """Return a table of six columns, as benchmarks have them, and both ways to use it."""
    (folder / "LMUData").mkdir()
    rows = "".join(
        f"{n}\ta photo of {n} red apples\tred\tcount\tr{n}\t{n % 7}\n"
        for n in range(count)
    )
    header = "index\tprompt\tanswer\tcategory\ttag\tdifficulty\n"
    (folder / "LMUData" / "Bench.tsv").write_text(header + rows, encoding="utf-8")
    for name, text in (
        ("guest_data.py", DATASET),
        ("guest_model.py", MODEL),
        ("native.py", NATIVE),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def native(out: str) -> None:
    """Return the rows as a file of assay's own."""
    import assay

    assert (
        assay.run(
            "native.py", "native.py:draw", output=out, columns={"id": "index"}
        ).status
        == "complete"
    )


def dialect(out: str) -> None:
    """Return the rows through a guest's classes."""
    import assay

    assert (
        assay.run("guest_data.py", "guest_model.py:Instant", output=out).status
        == "complete"
    )


def bare_row(out: str) -> None:
    """Return the time pandas needs to yield every row once."""
    from assay.dialects.kits.suffix_files import load_by_suffix

    frame = load_by_suffix(Path("LMUData/Bench.tsv"))
    started = time.process_time()
    for place in range(len(frame)):
        frame.iloc[place]
    bare_row.seconds = time.process_time() - started  # type: ignore[attr-defined]


def cpu_of(function: Callable[[str], None], out: str) -> float:
    """CPU seconds of a call; what it measured by itself counts instead.

    Whichever way is at work when a full garbage collection is due pays for all that was imported, 10 us a row: none
    is left due by the way before, and what is held now is not looked at again.
    """
    gc.collect()
    gc.freeze()
    started = time.process_time()
    function(out)
    return float(getattr(function, "seconds", time.process_time() - started))


def main() -> int:
    """Print the figures. Return 0 if the dialect costs at most its bound."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    ways: dict[str, Callable[[str], None]] = {
        "bare row": bare_row,
        "native": native,
        "dialect": dialect,
    }
    rounds = []
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)
        os.environ["LMUData"] = str(Path(made) / "LMUData")  # noqa: SIM112 - spelled as its users do
        write_files(Path(made), given.rows)
        for turn in range(given.rounds + 1):
            folders = {name: f"{name}-{turn}".replace(" ", "-") for name in ways}
            spent = {
                name: 1e6 * cpu_of(way, folders[name]) / given.rows
                for name, way in ways.items()
            }
            if turn:  # the first round imports and warms up
                rounds.append(spent)
        os.chdir("/")
    for name in ways:
        print(
            f"{name:<9} {statistics.median(spent[name] for spent in rounds):7.1f} us a row"
        )
    over = sorted(
        spent["dialect"] - spent["native"] - spent["bare row"] for spent in rounds
    )
    middle = statistics.median(over)
    spread = f"{over[0]:.1f} to {over[-1]:.1f} in {len(over)} rounds, load {os.getloadavg()[0]:.1f}"
    print(
        f"dialect over native and bare row: {middle:.1f} us a row ({spread}; at most {LARGEST_OVERHEAD:.0f})"
    )
    least = {name: min(spent[name] for spent in rounds) for name in ways}
    undisturbed = least["dialect"] - least["native"] - least["bare row"]
    print(
        f"by the least time of each, which a busy machine disturbs less: {undisturbed:.1f} us a row"
    )
    return 0 if middle <= LARGEST_OVERHEAD else 1


if __name__ == "__main__":
    sys.exit(main())
