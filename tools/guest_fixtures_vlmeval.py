"""Makes tests/dialects/vlmeval/upstream/*.json: what VLMEvalKit's own code gives for our inputs.

    python tools/guest_fixtures_vlmeval.py CHECKOUT

CHECKOUT is the newest revision or the documented one (it has `vlmeval/eval`). Runs with the packages VLMEvalKit needs
(pandas, openpyxl, xlsxwriter, Pillow, tqdm, validators, sty, portalocker, rich, seaborn, requests); of its own
`__init__` files, which import every model and benchmark, none is run.
"""

import importlib
import json
import sys
import tempfile
import types
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests" / "dialects"
PACKAGES = (
    "vlmeval",
    "vlmeval.dataset",
    "vlmeval.vlm",
    "vlmeval.api",
    "vlmeval.chat_api",
)


class Unneeded(types.ModuleType):
    """A library that upstream imports at the top of a file and our cases never use."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unneeded(f"{self.__name__}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self


def open_checkout(checkout: Path, packages: tuple[str, ...] = PACKAGES) -> None:
    """Make the modules of a checkout importable without running the imports of its packages."""
    for name in packages:
        folder = checkout.joinpath(*name.split("."))
        if folder.is_dir():
            package = types.ModuleType(name)
            package.__path__ = [str(folder)]  # type: ignore[attr-defined]
            sys.modules[name] = package
            if "." in name:
                parent, _, last = name.rpartition(".")
                setattr(sys.modules[parent], last, package)


def without(*libraries: str) -> None:
    """Stands in for libraries that are not installed."""
    for name in libraries:
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = Unneeded(name)


def write_fixtures(cases: str, folder: Path, revision: str) -> None:
    """Run a file of cases and write the results."""
    sys.path[:0] = [str(folder), str(TESTS / "kits")]
    from differential import run_case

    found = {}
    for name, function in importlib.import_module(cases).cases.items():
        with tempfile.TemporaryDirectory() as scratch:
            found[name] = run_case(function, Path(scratch).resolve())
    target = folder / f"{cases}.json"
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in found.items()
    )
    target.write_text(
        f'{{"upstream": {json.dumps(revision)}, "results": {{\n{lines}\n}}}}\n',
        encoding="utf-8",
    )
    errors = [name for name, value in found.items() if value == {"error": True}]
    print(f"{target}: {len(found)} cases, {len(errors)} of them errors: {errors}")


def main(checkout: Path) -> None:
    """Return the fixtures of one revision."""
    is_documented = (checkout / "vlmeval" / "eval").is_dir()
    open_checkout(checkout)
    without(
        "seaborn",
        "matplotlib",
        "matplotlib.pyplot",
        "decord",
        "cv2",
        "torchvision",
        "openai",
        "tiktoken",
    )
    if is_documented:
        documented_names()
    else:
        newest_names()
    for cases in (
        ("cases_seed", "cases_seed_runs")
        if is_documented
        else ("cases_choice", "cases_datasets", "cases_models")
    ):
        write_fixtures(
            cases,
            TESTS / "vlmeval" / "upstream",
            "7057afc9" if is_documented else "e8e78f05",
        )


def documented_names() -> None:
    """Return the contents of the documented revision's packages that cases and their modules use."""
    api = sys.modules["vlmeval.chat_api"]
    api.OpenAIWrapper = api.OpenAIWrapperInternal = None  # type: ignore[attr-defined]
    config = types.ModuleType("vlmeval.config")
    config.supported_VLM = {}  # type: ignore[attr-defined]
    sys.modules["vlmeval.config"] = config


def newest_names() -> None:
    """Return the contents of the newest revision's packages that cases and their modules use."""
    dataset = sys.modules["vlmeval.dataset"]
    dataset.SUPPORTED_DATASETS = []  # type: ignore[attr-defined]
    dataset.DATASET_TYPE = lambda name, default="MCQ": default  # type: ignore[attr-defined]
    config = types.ModuleType("vlmeval.config")
    config.supported_VLM = {}  # type: ignore[attr-defined]
    sys.modules["vlmeval.config"] = config


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
