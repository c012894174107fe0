"""Makes tests/dialects/ulmeval/upstream/*.json: what ULMEvalKit's own code gives for our inputs.

    python tools/guest_fixtures_ulmeval.py CHECKOUT

Runs with the packages ULMEvalKit needs (pandas, openpyxl, Pillow, torch, transformers, tqdm, validators, sty, rich,
portalocker, requests); of its own `__init__` files, which import every model and judge, none is run.
"""

import importlib
import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from guest_fixtures_vlmeval import (
    TESTS,
    Unneeded,
    open_checkout,
    without,
    write_fixtures,
)

PACKAGES = (
    "ulmeval",
    "ulmeval.dataset",
    "ulmeval.dataset.utils",
    "ulmeval.ulm",
    "ulmeval.api",
)
LIBRARIES = (
    "matplotlib",
    "matplotlib.pyplot",
    "clip_benchmark",
    "clip_benchmark.metrics",
)


def main(checkout: Path) -> None:
    """Return the fixtures of a checkout."""
    open_checkout(checkout, PACKAGES)
    without(*LIBRARIES)
    for name in ("mmdet", "mmdet.apis", "t2v_metrics", "t2v_metrics.t2v_metrics"):
        sys.modules.setdefault(name, Unneeded(name))
    dataset, helpers = (
        sys.modules["ulmeval.dataset"],
        sys.modules["ulmeval.dataset.utils"],
    )
    dataset.DATASET_TYPE = lambda name, default="MCQ": default  # type: ignore[attr-defined]
    dataset.SUPPORTED_DATASETS = []  # type: ignore[attr-defined]
    helpers.build_judge = lambda **kwargs: types.SimpleNamespace(**kwargs)  # type: ignore[attr-defined]
    helpers.DEBUG_MESSAGE = ""  # type: ignore[attr-defined]
    importlib.import_module("ulmeval.smp")
    for cases in ("cases_classes",):
        write_fixtures(cases, TESTS / "ulmeval" / "upstream", "e8f5eaa")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
