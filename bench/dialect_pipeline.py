"""The overhead of the pipeline dialect over a native run of the same rows: microseconds a sample, and their ratio.

The model answers at once, so that all that is measured is assay's own work: reading, rendering, recording, scoring.
Runs alternate and the ratio is the median of pairs: on a shared machine single runs differ more than the two ways do.

Usage: python bench/dialect_pipeline.py [--rows 10000] [--times 7]     (0 when both ratios are at most 1.3)
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from assay.core import Candidate, Output, Request, Text
from assay.runner.options import RunOptions
from assay.runner.run import run

LARGEST_RATIO = 1.3
REGISTER = """
import json
from dataset_registry import DatasetRegistry
from evaluator_registry import EvaluatorRegistry


def load(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def evaluate(engine, data, batch_size=64, **kwargs):
    correct = 0
    for start in range(0, len(data), batch_size):
        batch = data[start:start + batch_size]
        tokens, _ = engine.generate_batch([item["prompt"] for item in batch], max_length=10)
        for answer, item in zip(engine.decode_tokens(tokens), batch):
            correct += answer.strip() == item["reference"]
    return {"accuracy": correct / len(data), "correct": correct, "total": len(data)}


DatasetRegistry.register(name="bench", loader=load, prompt_template=lambda item: item["question"])
EvaluatorRegistry.register(name="bench", evaluator=evaluate)
"""


class Instant:
    """A model that answers at once."""

    batch_size = 64

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        return [
            Output((Candidate((Text(request.messages[-1].text.rpartition(" ")[2]),)),))
            for request in requests
        ]


def write_rows(path: Path, count: int) -> None:
    rows = (
        {"id": f"s{n}", "question": f"what follows {n - 1}? say {n}", "answer": str(n)}
        for n in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def native(folder: Path, out: Path) -> None:
    result = run(
        str(folder / "rows.jsonl"), Instant(), output=str(out), scorers=("exact_match",)
    )
    assert result.value("exact_match") == 1.0


def dialect(folder: Path, out: Path) -> None:
    options = RunOptions(
        tasks=(str(folder / "register_bench.py"),),
        data=str(folder / "rows.jsonl"),
        output=str(out),
        batch_size=64,
    )
    result = run(model=Instant(), options=options)
    assert result.value("accuracy") == 1.0


def spent_by(
    function: Callable[[Path, Path], None], folder: Path, out: str
) -> tuple[float, float]:
    """Seconds of the clock, and of the processor in all threads."""
    clock, processor = time.perf_counter(), time.process_time()
    function(folder, folder / out)
    return time.perf_counter() - clock, time.process_time() - processor


def main() -> int:
    """Print the figures. Return 0 if wall and CPU time are at most 1.3 times the native overhead."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10000)
    parser.add_argument("--times", type=int, default=7)
    given = parser.parse_args()
    pairs: list[tuple[tuple[float, float], tuple[float, float]]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_rows(folder / "rows.jsonl", given.rows)
        (folder / "register_bench.py").write_text(REGISTER, encoding="utf-8")
        for turn in range(given.times):
            pairs.append(
                (
                    spent_by(native, folder, f"native-{turn}"),
                    spent_by(dialect, folder, f"dialect-{turn}"),
                )
            )
    worst = 0.0
    for place, kind in enumerate(("clock", "processor")):
        ours, theirs = ([pair[who][place] for pair in pairs] for who in (0, 1))
        ratios = sorted(b / a for a, b in zip(ours, theirs, strict=True))
        ratio = median(ratios)
        worst = max(worst, ratio)
        micro = [1e6 * median(seconds) / given.rows for seconds in (ours, theirs)]
        print(
            f"{kind:<10} native {micro[0]:6.1f} us, dialect {micro[1]:6.1f} us a sample; "
            f"ratio {ratio:.2f} (of {given.times} pairs {ratios[0]:.2f} to {ratios[-1]:.2f}), at most {LARGEST_RATIO}"
        )
    return 0 if worst <= LARGEST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
