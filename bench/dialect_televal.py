"""The overhead of the televal dialect over a native run of the same rows: CPU microseconds a sample, and their ratio.

The models answer at once, so that all that is measured is assay's own work: reading, rendering, recording, scoring. The
same is said twice: with an evaluator of ours (exists-match) on both sides, and with a user's evaluator that runs in
threads, held against a native scorer that blocks.

Usage: python bench/dialect_televal.py [--rows 5000] [--times 5]     (0 when both ratios are at most 1.3)
"""

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from assay.core import Output, Sample, Task
from assay.runner.options import RunOptions
from assay.runner.run import run

LARGEST_RATIO = 1.3
FILES = {
    "src/models/instant.py": """
from src.models.base import Model

class Instant(Model):
    def generate_once(self, audio, **kwargs):
        return {"pred": kwargs["query"]}
""",
    "src/evaluator/mine.py": """
from src.utils import parallel_batch

class Mine:
    @parallel_batch(default_workers=4)
    def evaluate(self, pred, ref, pred_info, **kwargs):
        return {"key": pred_info["key"], "score": int(ref in pred)}
""",
    "native.py": """
def generate(messages):
    return messages[-1]["content"]
""",
    "registry/dataset/rows.yaml": """
rows:
  class: src.dataset.BatchLoader
  args: {file: rows.jsonl, ref_col: answer, query_col: query}
""",
    "registry/template/ask.yaml": """
ask:
  class: src.prompt.template.DataTemplate
  args:
    template: [{role: user, content: {text: "{{query}}"}}]
""",
    "registry/model/instant.yaml": "instant: {class: src.models.instant.Instant, args: {}}",
    "registry/evaluator/all.yaml": """
ours: {class: src.evaluator.base.ExistMatch, args: {}}
mine: {class: src.evaluator.mine.Mine, args: {}}
""",
    "registry/summarizer/avg.yaml": "avg: {class: src.summarizer.summarizer.AvgInfo, args: {}}",
    "registry/eval_task/all.yaml": """
by_ours: {class: src.config.EvalTaskCfg, args: {evaluator: ours, summarizer: avg}}
by_mine: {class: src.config.EvalTaskCfg, args: {evaluator: mine, summarizer: avg}}
""",
    "registry/infer_task/all.yaml": """
ours: {class: src.config.InferTaskCfg, args: {dataset: rows, template: ask, model: instant, eval_task: by_ours}}
mine: {class: src.config.InferTaskCfg, args: {dataset: rows, template: ask, model: instant, eval_task: by_mine}}
""",
}


class Blocking:
    """A native scorer that is run in threads."""

    blocking: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> float:
        return float(sample.target in output.text)


def native(folder: Path, out: Path, scorer: object) -> None:
    task = Task(
        "bench",
        folder / "rows.jsonl",
        template=[{"role": "user", "content": "{{query}}"}],
        columns={"id": "key", "input": "query", "target": "answer"},
        scorers=(scorer,),
    )
    result = run(task, f"{folder / 'native.py'}:generate", output=str(out))
    assert result.results[0].value == 1.0, result


def guest(folder: Path, out: Path, task: str) -> None:
    options = RunOptions(
        tasks=(str(folder / "registry"), task), output=str(out), dialect="televal"
    )
    result = run(options=options)
    assert result.results[0].value == 1.0, result


def cpu_seconds(function: Callable[[], None]) -> float:
    """Return the CPU time of a call, with the garbage collector set as in `assay run`."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> int:
    """Print the figures. Return 0 if the dialect costs at most 1.3 times the native overhead."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        rows = (
            {
                "key": f"s{n}",
                "query": f"what follows {n - 1}? say {n}",
                "answer": str(n),
            }
            for n in range(given.rows)
        )
        (folder / "rows.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
        works: dict[str, Callable[[Path], None]] = {
            "native, exists-match": lambda out: native(folder, out, "exists_match"),
            "televal, exists-match": lambda out: guest(folder, out, "ours"),
            "native, in threads": lambda out: native(folder, out, Blocking()),
            "televal, in threads": lambda out: guest(folder, out, "mine"),
        }
        for turn in range(given.times):
            for number, (name, work) in enumerate(works.items()):
                out = folder / f"out-{turn}-{number}"
                best[name] = min(
                    best.get(name, float("inf")),
                    cpu_seconds(lambda work=work, out=out: work(out)),
                )
    for name, seconds in best.items():
        print(
            f"{name:<22} {seconds:7.3f} s   {1e6 * seconds / given.rows:7.1f} us a sample"
        )
    ratios = [
        best[f"televal, {kind}"] / best[f"native, {kind}"]
        for kind in ("exists-match", "in threads")
    ]
    print(f"ratios {ratios[0]:.2f} and {ratios[1]:.2f} (at most {LARGEST_RATIO})")
    return 0 if max(ratios) <= LARGEST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
