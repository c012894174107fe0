"""Detect which of two TELEVAL revisions a tree was written for. In assay, such a revision is called an era.

No file of the tree is run. The two revisions differ in the history of a dialogue, in
two names of judge tasks, and in small rules of loaders, templates and summaries. Under
upstream's rules, assay follows the revision of the tree.
"""

import ast
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from ...code.sources import parsed
from ..protocol import OURS, UPSTREAM, following, is_documented, is_upstream
from .claims import NEAR, kinds_in, yaml_files

Era = Literal["newest", "seed"]
NEWEST: Era = "newest"
SEED: Era = "seed"
SEED_WORDS = ("is_local:", "judge_task: para_care")
NEWEST_WORDS = (
    "do_infer:",
    "judge_task: nsv_care",
    "reverse: True",
    "reverse: true",
    "batch_size:",
)
"""Strings that show that a registry was written for the newest revision. `batch_size:` in datasets does not count."""
LACKED_BY: Mapping[str, frozenset[Era]] = {
    "src.evaluator.asr.ASR": frozenset({NEWEST}),
    "src.evaluator.asr_eval.ASR": frozenset({SEED}),
}
"""Classes that one revision of TELEVAL does not have, each with the revisions that lack it.

TELEVAL's newest registry still refers to `asr.ASR`, although the newest revision lacks
it.
"""
UNDEFINED = "src.summarizer.summarizer.Avg"
"""A class to which most tasks of TELEVAL's registry refer, and which no revision of TELEVAL defines."""
AVG_NOTE = (
    "TELEVAL's registry names the summarizer Avg, which TELEVAL does not define; "
    "assay's own is used: the mean in percent of score_scale"
)


@contextmanager
def supplied(cls: str) -> Iterator[None]:
    """Prepare for building a registry class inside the block, under the rules of the run.

    Under upstream's rules, raise if the run's TELEVAL revision does not have the class.
    `Avg` is an exception: registries refer to it, but no revision defines it. It is
    always built by assay's rules, with a warning.
    """
    if not is_upstream("televal"):
        yield
    elif cls == UNDEFINED:
        warnings.warn(AVG_NOTE, stacklevel=2)
        with following("televal", OURS):
            yield
    elif era_here() in LACKED_BY.get(cls, ()):
        raise ModuleNotFoundError(f"this revision of TELEVAL has no {cls}")
    else:
        yield


@dataclass(frozen=True)
class Rule:
    """The rules of a run: a revision of TELEVAL (`era`), and whether upstream's rules replace assay's."""

    era: Era = NEWEST
    is_upstream: bool = False
    root: Path | None = field(default=None, compare=False)
    """The folder with the user's checkout, which may contain its own judge prompts."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Apply these rules inside the block."""
        token = _rule.set(self)
        try:
            with following("televal", UPSTREAM if self.is_upstream else OURS):
                yield
        finally:
            _rule.reset(token)

    def kept(self) -> AbstractContextManager[None]:
        """Return a context manager for calls to user code. It keeps upstream's rules active if they were chosen."""
        return self.applied() if self.is_upstream else _NOTHING


_rule: ContextVar[Rule | None] = ContextVar("rule", default=None)
_NOTHING = nullcontext()
PLAIN_RULE = Rule()
"""assay's own rules, with the newest revision of TELEVAL."""


def era_here() -> Era:
    """Return the TELEVAL revision of the current run.

    Outside of a run, detect it from the tree around the script or the working folder.
    """
    rule = _rule.get()
    if rule is not None:
        return rule.era
    if is_documented("televal"):
        return SEED
    return _era_near(_script_folder(), os.getcwd())


def root_here() -> Path:
    """Return the folder of the current run's tree.

    Outside of a run, return the tree around the script or the working folder.
    """
    rule = _rule.get()
    if rule is not None and rule.root is not None:
        return rule.root
    return _tree_near(_script_folder(), os.getcwd()) or Path.cwd()


def _script_folder() -> str:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.dirname(os.path.abspath(main)) if main else ""


def era_of(root: Path) -> Era:
    """Return the revision of TELEVAL for which a tree was written.

    It is detected from the tree's `src/dataset.py` or, if that is unclear, from strings
    in the YAML files. The default is the newest revision. Under
    `protocol="upstream@documented"` it is always the first revision, which TELEVAL's
    how-to document describes.
    """
    if is_documented("televal"):
        return SEED
    return (
        _from_source(root / "src" / "dataset.py")
        or _from_registry(root / "registry")
        or NEWEST
    )


@lru_cache(maxsize=64)
def _era_near(
    script: str,
    working: str,
) -> Era:
    tree = _tree_near(script, working)
    return era_of(tree) if tree else NEWEST


def _tree_near(
    script: str,
    working: str,
) -> Path | None:
    for start in (script, working):
        for folder in (Path(start), *Path(start).parents)[:NEAR] if start else ():
            if (folder / "src" / "dataset.py").is_file() or kinds_in(
                folder / "registry"
            ):
                return folder.resolve()
    return None


def _from_source(file: Path) -> Era | None:
    """Return the TELEVAL revision of a `src/dataset.py`, read from the parameters of its `BatchLoader`, or None."""
    tree = parsed(file)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            names = {argument.arg for argument in node.args.args}
            if "is_local" in names or "do_infer" in names:
                return SEED if "is_local" in names else NEWEST
    return None


def _from_registry(folder: Path) -> Era | None:
    """Return the TELEVAL revision of a registry, judged by strings in its YAML files. None if unclear."""
    text = ""
    for kind in ("dataset", "evaluator", "summarizer", "eval_task"):
        for file in yaml_files(folder / kind):
            try:
                content = file.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError):
                continue
            if kind == "dataset":
                content = content.replace("batch_size:", "")  # in both eras
            text += content
    if any(word in text for word in NEWEST_WORDS):
        return NEWEST
    if any(word in text for word in SEED_WORDS):
        return SEED
    return None
