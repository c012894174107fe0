"""What rwkv-benchmark's own code gives for our inputs: `guest_fixtures_pipeline.py CHECKOUT…`, one era each.

The network's class is replaced by a little model (it would need CUDA); engine, evaluators, pipeline and command line
are upstream's. Writes `tests/dialects/pipeline/upstream/ERA.json`, an era being the checkout's revision.
"""

import contextlib
import importlib
import importlib.util
import io
import json
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent.parent / "tests" / "dialects" / "pipeline"


class Upstream:
    """The checkout's own code over the little model."""

    def __init__(self, checkout: Path) -> None:
        import stub_lm
        import torch

        self.code = checkout / "local_batch_benchmark"
        self.arity = (
            3
            if "return_speed"
            in (self.code / "batch_engine.py").read_text(encoding="utf-8")
            else 2
        )
        self.vocabulary = str(
            stub_lm.write_vocabulary(Path(tempfile.mkdtemp()) / "vocabulary.txt")
        )
        sys.path.insert(0, str(self.code))
        sys.path.insert(0, str(checkout))
        torch.cuda.synchronize = lambda *_: None  # type: ignore[assignment]
        network = ModuleType("reference.rwkv7")
        network.RWKV_x070 = _network(stub_lm, torch)  # type: ignore[attr-defined]
        importlib.import_module("reference")
        sys.modules["reference.rwkv7"] = network
        engines = importlib.import_module("batch_engine")
        original = engines.TRIE_TOKENIZER
        engines.TRIE_TOKENIZER = lambda path: original(self.vocabulary)

    def load(self, name: str) -> Any:
        """Return a module of the checkout."""
        return importlib.import_module(name)

    def engine(self) -> Any:
        """Its engine."""
        with contextlib.redirect_stdout(io.StringIO()):
            return self.load("batch_engine").RWKVInferenceEngine("stub")

    def model(self) -> Any:
        """Any name does."""
        return "stub"

    def command(self, *arguments: str) -> str:
        """Return the output of run_pipeline.py."""
        before, told = sys.argv, io.StringIO()
        sys.argv = ["run_pipeline.py", "--model-path", "stub", *arguments]
        try:
            with contextlib.redirect_stdout(told):
                runpy.run_path(str(self.code / "run_pipeline.py"), run_name="__main__")
        finally:
            sys.argv = before
        return told.getvalue()


def _network(stub_lm: Any, torch: Any) -> type:
    class Network:
        """As many histories as there are rows; what comes next is a function of them."""

        def __init__(self, args: Any) -> None:
            self.args = args

        def generate_zero_state(self, bsz: int) -> list[list[int]]:
            return [[] for _ in range(bsz)]

        def forward_batch(
            self, tokens: Any, state: list[list[int]], full_output: bool = False
        ) -> Any:
            made = []
            for history, ids in zip(state, tokens, strict=True):
                rows = []
                for token in ids:
                    history.append(int(token))
                    seen = [one for one in history if one]  # 0 only begins a text
                    rows.append(stub_lm.logits_after(tuple(seen)))
                made.append(torch.tensor(rows, dtype=torch.float64))
            return (
                made
                if full_output
                else torch.stack(
                    [rows[-1] if len(rows) else torch.zeros(1) for rows in made]
                )
            )

    return Network


def _revision(folder: Path) -> str:
    told = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return told or folder.name.rpartition("-")[2]


def main(checkout: str) -> None:
    """Run every case through one checkout and write its file."""
    sys.path.insert(0, str(HERE))
    reference = importlib.import_module("pipeline_cases")
    folder = Path(checkout).resolve()
    world = Upstream(folder)
    outcomes: dict[str, Any] = {}
    for name, case in reference.cases().items():
        made = reference.outcome(case, world)
        outcomes[name] = (
            reference.digest(made)
            if reference.is_worded(name, _revision(folder))
            else made
        )
    document = {
        "upstream": "Ojiyumm/rwkv-benchmark",
        "revision": _revision(folder),
        "cases": outcomes,
    }
    target = HERE / "upstream" / f"{_revision(folder)}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(
        f"{json.dumps(document, indent=0, ensure_ascii=True, sort_keys=True)}\n",
        encoding="utf-8",
    )
    print(f"{len(outcomes)} cases in {target}")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(sys.argv[1])
    for one in sys.argv[1:] if len(sys.argv) > 2 else ():
        subprocess.run(
            [sys.executable, __file__, one], check=True
        )  # each in a process of its own
