"""The overhead of the testbed dialect over a native run of the same rows and prompts: CPU microseconds a sample.

The model answers at once, so that all that is measured is assay's own work; both sides show the same shots.

Usage: python bench/dialect_testbed.py [--rows 20000] [--times 3] [--shots 0]     (0 when the ratio is at most 1.3)
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from assay.core import Candidate, Output, Request, Text
from assay.runner.run import run

LARGEST_RATIO = 1.3
TESTBED = """
from testbed.data import register_dataset_retriever


@register_dataset_retriever("bench")
def retriever(item, is_last):
    answer = {"role": "assistant"} if is_last else {"role": "assistant", "content": item["label"]}
    return [{"role": "user", "content": item["text"]}, answer]
"""
NATIVE = """
dataset = "rows.jsonl"


def prompt(sample, solved=False):
    answer = {"role": "assistant", "content": sample["label"]} if solved else {"role": "assistant"}
    return [{"role": "user", "content": sample["text"]}, answer]


def score(sample, output):
    return output.text.strip() == sample["label"]
"""


class Instant:
    """A model that answers at once."""

    batch_size = 64

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        return [Output((Candidate((Text("yes"),)),)) for _ in requests]


def write_files(folder: Path, count: int) -> None:
    rows = (
        {"text": f"is {n} even?", "label": "no" if n % 2 else "yes"}
        for n in range(count)
    )
    (folder / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    (folder / "testbed_bench.py").write_text(TESTBED, encoding="utf-8")
    (folder / "native_bench.py").write_text(NATIVE, encoding="utf-8")


def cpu_seconds(folder: Path, name: str, turn: int, shots: int) -> float:
    columns = {"input": "text", "target": "label"} if name == "native" else {}
    start = time.process_time()
    result = run(
        str(folder / f"{name}_bench.py"),
        Instant(),
        data=str(folder / "rows.jsonl"),
        columns=columns,
        num_fewshot=shots,
        output=str(folder / f"{name}-{turn}"),
    )
    assert result.results[0].value == 0.5
    return time.process_time() - start


def main() -> int:
    """Print the figures. Return 0 if the dialect costs at most 1.3 times the native overhead."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--shots", type=int, default=0)
    given = parser.parse_args()
    best = {"native": float("inf"), "testbed": float("inf")}
    with tempfile.TemporaryDirectory() as made:
        write_files(Path(made), given.rows)
        for turn in range(given.times):
            for name in best:
                best[name] = min(
                    best[name], cpu_seconds(Path(made), name, turn, given.shots)
                )
    ratio = best["testbed"] / best["native"]
    for name, seconds in best.items():
        print(
            f"{name:<8} {seconds:7.3f} s   {1e6 * seconds / given.rows:7.1f} us a sample"
        )
    print(f"ratio {ratio:.2f} (at most {LARGEST_RATIO})")
    return 0 if ratio <= LARGEST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
