"""What the vlmeval dialect costs for each row, over the native way and over the pandas row that guest code demands.

Usage: python bench/dialect_vlmeval.py [ROWS]
Three loops over the same TSV take turns for nine rounds: rows, prompts and answers by a guest's classes; the same
natively; and the bare pandas rows a guest's `build_prompt(line)` has to be given. The dialect may add 60 µs to the sum
of the others, with words alone (`Bench`) and with images that the guest wants as files (`Pictured`). What it adds is
taken within each round, since other programs share the machine, and the median of the rounds counts.
"""

import base64
import io
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ALLOWED_MICROSECONDS = 60.0
ROUNDS = 9
GUEST = """
from vlmeval.dataset import ImageBaseDataset
from vlmeval.vlm import BaseModel

class Bench(ImageBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {'Bench': ''}

    def build_prompt(self, line):
        return [dict(type='text', value=line['question'])]

class Pictured(Bench):
    def build_prompt(self, line):
        images = [dict(type='image', value=path) for path in self.dump_image(line)]
        return [*images, dict(type='text', value=line['question'])]

class Model(BaseModel):
    def generate_inner(self, message, dataset=None):
        return 'x'
"""


def main() -> int:
    """Measures, prints, and fails when the limit is passed."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LMUData"] = folder  # noqa: SIM112 - the guest's own spelling
        root = Path(folder)
        (root / "guest.py").write_text(GUEST)
        write_table(root / "Bench.tsv", rows)
        worst = max(measure(root, kind, rows) for kind in ("Bench", "Pictured"))
    print(f"worst: {worst:.1f} µs a row, allowed {ALLOWED_MICROSECONDS:.0f}")
    return 0 if worst <= ALLOWED_MICROSECONDS else 1


def write_table(path: Path, rows: int) -> None:
    """Return a TSV of questions, each with a small image of its own."""
    from PIL import Image

    draw = random.Random(0)
    with path.open("w") as file:
        file.write("index\timage\tquestion\thint\tA\tB\tC\tD\tanswer\tcategory\n")
        for number in range(rows):
            picture = Image.frombytes("RGB", (16, 16), draw.randbytes(768))
            buffer = io.BytesIO()
            picture.save(buffer, "PNG")
            image = base64.b64encode(buffer.getvalue()).decode()
            file.write(
                f"{number}\t{image}\tWhat is {number}?\t\ta\tb\tc\td\ta\tc{number % 7}\n"
            )


def measure(root: Path, kind: str, rows: int) -> float:
    """Microseconds a row that the dialect adds."""
    from assay.dialects.vlmeval import model, tasks
    from assay.models import build_model
    from assay.runner.options import RunOptions

    (task,) = tasks(
        f"{root}/guest.py:{kind}",
        RunOptions(tasks=("x",), data=str(root / "Bench.tsv")),
    )
    guest = model(f"{root}/guest.py:Model", {})
    (root / "native.py").write_text("def answer(request):\n    return 'x'\n")
    native_model = build_model(f"{root}/native.py:answer")
    native_template = "question" if kind == "Pictured" else words_only
    works = (
        loop(task.dataset, task.to_sample, task.template, guest),
        loop(root / "Bench.tsv", None, native_template, native_model),
        bare_rows(root / "Bench.tsv"),
    )
    rounds = in_turns(works, rows)
    dialect, native, pandas_row = (
        statistics.median(one) for one in zip(*rounds, strict=True)
    )
    added = sorted(
        dialect - native - pandas_row for dialect, native, pandas_row in rounds
    )
    middle = statistics.median(added)
    least = [min(one) for one in zip(*rounds, strict=True)]
    parts = f"dialect {dialect:.1f}, native {native:.1f}, pandas row {pandas_row:.1f}"
    print(
        f"{kind}: {parts}, added {middle:.1f} ({added[0]:.1f} to {added[-1]:.1f}) µs a row, load {load()}"
    )
    print(
        f"{kind}: by the least time of each, which load disturbs less, {least[0] - least[1] - least[2]:.1f} µs a row"
    )
    return middle


def load() -> str:
    """How many programs ran beside this one: they slow down every loop, and the longest most."""
    return f"{os.getloadavg()[0]:.1f}"


def words_only(sample: Any) -> str:
    """Return the question without its image, as the guest's class asks it."""
    return str(sample.input)


def loop(data: Any, to_sample: Any, template: Any, model: Any) -> Callable[[], None]:
    """Rows to samples to prompts to answers, as the runner goes through them, without its journal."""
    from assay.core import KeyMaker, Request
    from assay.datasets import open_dataset
    from assay.templates import build_template

    samples = open_dataset(data, to_sample=to_sample)
    built = build_template(template, kind=samples.kind)
    keys = KeyMaker(model.identity)

    def work() -> None:
        for sample in samples:
            request = Request(built(sample), hints={"dataset": "Bench"})  # type: ignore[arg-type]
            keys.key(request)
            model.generate([request])

    return work


def bare_rows(path: Path) -> Callable[[], None]:
    """Nothing but the rows of a data frame, as upstream makes them."""
    import pandas

    frame = pandas.read_csv(path, sep="\t")

    def work() -> None:
        for place in range(len(frame)):
            frame.iloc[place]

    return work


def in_turns(works: Sequence[Callable[[], None]], rows: int) -> list[list[float]]:
    """Microseconds of processor time a row of each loop, round by round, after a warm-up."""
    for work in works:
        work()
    return [[cpu_of(work) / rows * 1e6 for work in works] for _ in range(ROUNDS)]


def cpu_of(work: Callable[[], None]) -> float:
    """CPU seconds of one run."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())
