"""Load and run one file of a VLMEvalKit or ULMEvalKit checkout in a separate process.

The arguments are:

    DIALECT KIND FILE FOLDER [--upstream]

`KIND` is dataset, model or API. `FOLDER` is empty and may be written to: `$LMUData`, the run, and `recipe.json`, which
has the rows, the answers and the judge's words that led to a number, so that upstream's own code can be given the same.
With `--upstream` the recipe in `FOLDER` is given to the class of the checkout itself, with none of assay's names.
"""

import importlib
import inspect
import json
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from tools.guest_worlds.alone import DATA, alone, fault, stand_in_specialists
from tools.guest_worlds.kit_objects import built, evaluated, plain, predicted
from tools.guest_worlds.kit_trial import Trial


def prepare() -> None:
    """Import slow modules before the first fork."""
    for heavy in (
        "pandas",
        "openpyxl",
        "PIL.Image",
        "huggingface_hub",
        "av",
        "matplotlib",
        "torch",
        "transformers",
    ):
        try:
            importlib.import_module(heavy)
        except ImportError:
            continue
    for own in (
        "assay",
        "assay.runner.run",
        "assay.dialects.vlmeval.vlmeval_toolkit",
        "assay.dialects.ulmeval.ulmeval_toolkit",
    ):
        importlib.import_module(own)


def work(arguments: list[str]) -> dict[str, Any]:
    """Run the step that the arguments name."""
    dialect, kind, file, folder = arguments[:4]
    if "--upstream" not in arguments:
        shutil.rmtree(folder, ignore_errors=True)
    os.environ.update(
        LMUData=f"{folder}/LMUData",
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        HOME=folder,
    )
    os.environ.setdefault("OPENAI_API_KEY", "sk-none")
    Path(os.environ[DATA]).mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    alone()
    if dialect == "ulmeval":
        stand_in_specialists()
    os.chdir(folder)
    if "--upstream" in arguments:
        return upstreams(dialect, Path(file), Path(folder))
    return (dataset if kind == "dataset" else loaded)(dialect, Path(file), Path(folder))


def guest(dialect: str, file: Path) -> Any:
    """Return the module of the file, loaded as in a run of assay."""
    toolkit = importlib.import_module(
        f"assay.dialects.{dialect}.{dialect}_toolkit"
    ).TOOLKIT
    return toolkit.load(file).module


def loaded(dialect: str, file: Path, folder: Path) -> dict[str, str]:
    """Whether a file of models can be loaded."""
    try:
        guest(dialect, file)
    except BaseException as error:  # noqa: BLE001 - whatever a guest raises is its outcome
        return fault(error)
    return {"state": "LOADS", "detail": ""}


def dataset(dialect: str, file: Path, folder: Path) -> dict[str, Any]:
    """How far the dataset classes of a file come; the best of them counts."""
    try:
        module = guest(dialect, file)
    except BaseException as error:  # noqa: BLE001
        return fault(error)
    classes = [
        c
        for c in vars(module).values()
        if inspect.isclass(c) and c.__module__ == module.__name__ and is_dataset(c)
    ]
    if not classes:
        return {"state": "LOADS", "detail": "defines no dataset class"}
    best: dict[str, Any] | None = None
    for cls in classes[:3]:
        found = Trial(dialect, file, cls, folder).run()
        if found["state"] == "RUNS":
            return found
        best = best or found
    if best is not None and best["state"] == "FAILS":
        return {
            **best,
            "state": "LOADS",
            "detail": f"no rows of ours fit: {best['detail']}",
        }
    return best or {"state": "LOADS", "detail": ""}


def is_dataset(cls: Any) -> bool:
    evaluate = getattr(cls, "evaluate", None)
    return (
        callable(getattr(cls, "build_prompt", None))
        and callable(evaluate)
        and not hasattr(cls, "generate_inner")
    )


def upstreams(dialect: str, file: Path, folder: Path) -> dict[str, Any]:
    """Return the number of upstream's own class for the rows, answers and judge replies of a recipe."""
    import types

    recipe = json.loads((folder / "recipe.json").read_text())
    root = next(parent for parent in file.parents if parent.name == dialect)
    sys.path.insert(0, str(root.parent))
    # The packages whose `__init__` imports every file of the checkout are left empty: no file needs all the others.
    for name in (dialect, f"{dialect}.dataset", f"{dialect}.api", f"{dialect}.vlm"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    try:
        judge_util = importlib.import_module(f"{dialect}.dataset.utils.judge_util")
        judge_util.build_judge = lambda **given: Judge(
            recipe["reply"], given.get("model")
        )
        for part in ("utils",):
            importlib.import_module(
                f"{dialect}.dataset.{part}"
            ).build_judge = judge_util.build_judge
        name = ".".join([dialect, *file.relative_to(root).with_suffix("").parts])
        module = importlib.import_module(name)
        if hasattr(module, "build_judge"):
            module.build_judge = judge_util.build_judge
        cls = getattr(module, recipe["class"])
        instance = built(
            cls, recipe["name"], recipe["columns"], folder, recipe["options"]
        )
        eval_file = predicted(instance, recipe["says"], recipe["name"], folder)
        return {"whole": plain(evaluated(instance, eval_file, recipe["judge"]))}
    except BaseException as error:  # noqa: BLE001
        return fault(error)


class Judge:
    """A judge that always says the same."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, reply: str, model: str | None = None) -> None:
        self.reply, self.model = reply, model

    def working(self) -> bool:
        """Return True."""
        return True

    def generate(self, *given: Any, **more: Any) -> str:
        """Return the reply."""
        return self.reply

    def generate_inner(self, *given: Any, **more: Any) -> tuple[int, str, str]:
        """Return the reply as API classes return it."""
        return 0, self.reply, ""
