"""Tasks of a guest: one for each name that its dataset classes know."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...code.fingerprint import code_digest
from ...code.userfiles import split_reference
from ...core import DEFAULT_OPTIONS, Prompt, Sample, Task, UnknownName, UsageError
from ...runner.options import RunOptions
from ..kits.guest_files import most_derived
from ..kits.state import Surroundings
from ..protocol import is_upstream
from .config_file import read_config
from .evaluation import Evaluation, ImagesDrawn
from .facade.dataset import SHIPPED, ImageBaseDataset, TextBaseDataset
from .kept_tables import kept_table
from .loading import load_guest
from .messages import as_prompt
from .rows import GuestData, GuestSamples

GENERATIONS = {"GenEval": 4, "DPGBench": 4}
COMPBENCH_GENERATIONS = 10
JUDGE_DEFAULTS: Mapping[str, Any] = {"nproc": 4, "verbose": False, "retry": 3}


def tasks_of(reference: str, run: RunOptions) -> Sequence[Task]:
    """The tasks of a guest file (`file.py`, `file.py:Class`, `file.py:dataset`), of a table, or of a JSON config."""
    path, wanted = split_reference(reference)
    if path.endswith(".py"):
        return _from_file(path, wanted, run)
    config, _, entry = reference.partition("#")
    if config.endswith(".json"):
        return _from_config(config, entry or None, run)
    shipped = shipped_class(reference)
    if shipped is not None:
        return [make_task(shipped, reference, run)]
    return [_from_table(Path(reference).expanduser(), run)]


def _from_file(path: str, wanted: str | None, run: RunOptions) -> list[Task]:
    guest = load_guest(path, force=run.dialect is not None)
    named = [(cls, name) for cls in guest.datasets for name in _names(cls, run)]
    wanted, _, dataset = (wanted or "").partition("@")
    if not named:
        fix = (
            f"name one of its models as --model {path}:…"
            if guest.models
            else "derive one from TextBaseDataset"
        )
        raise UsageError(
            "defines no dataset class with a DATASET_URL", where=path, fix=fix
        )
    if wanted:
        chosen = [
            (cls, name) for cls, name in named if wanted in (cls.__name__, name)
        ] or _unknown(wanted, named, path)
        named = [
            (cls, name) for cls, name in chosen if dataset in ("", name)
        ] or _unknown(dataset, chosen, path)
    return [make_task(cls, name, run) for cls, name in most_derived(named)]


def shipped_class(name: str) -> Any:
    """The class that ships under the name of a benchmark, where upstream's own evaluation was chosen."""
    classes = (
        [cls for cls in SHIPPED if name in cls.supported_datasets()]
        if is_upstream("ulmeval")
        else []
    )
    return classes[0] if classes else None


def _names(cls: Any, run: RunOptions) -> list[str]:
    """The names a class knows; with `--data` its own name will do."""
    return list(cls.supported_datasets()) or ([cls.__name__] if run.data else [])


def _unknown(
    wanted: str, named: Sequence[tuple[Any, str]], path: str
) -> list[tuple[Any, str]]:
    names = dict.fromkeys(
        [*(name for _, name in named), *(cls.__name__ for cls, _ in named)]
    )
    raise UnknownName(
        "dataset", wanted, names, where=path, hint=f"it has {', '.join(names)}"
    )


def _from_config(path: str, wanted: str | None, run: RunOptions) -> list[Task]:
    config = read_config(Path(path).expanduser(), run.register)
    entries = {
        name: entry for name, entry in config.data.items() if wanted in (None, name)
    }
    if not entries:
        raise UnknownName(
            "dataset",
            str(wanted),
            config.data,
            where=path,
            hint=f"it has {', '.join(config.data)}",
        )
    return [
        make_task(cls, name, run, settings, dataset)
        for name, (cls, dataset, settings) in entries.items()
    ]


def _from_table(path: Path, run: RunOptions) -> Task:
    """A TSV that no class speaks for: text, or images and text; there is nothing to evaluate it by."""
    from ...datasets.files import open_file

    if not path.is_file():
        raise UsageError("no such table", where=str(path))
    columns = open_file(path).columns or ()
    has_images = "image" in columns or "image_path" in columns
    base: type = ImageBaseDataset if has_images else TextBaseDataset
    return make_task(base, path.stem, run.but(data=str(path)))


def make_task(
    cls: type,
    name: str,
    run: RunOptions,
    settings: Mapping[str, Any] | None = None,
    dataset: str | None = None,
) -> Task:
    """One dataset of a class as a task; its rows are read when they are asked for."""
    surroundings = Surroundings(
        trust_pickle=run.trust_pickle,
        allow_private_urls=run.allow_private_urls,
        data=Path(run.data).expanduser() if run.data else None,
        kept=kept_table(run.output, dataset or name),
    )
    data = GuestData(cls, dataset or name, settings or {}, surroundings)
    evaluates = _own(cls, "evaluate")
    judged = (
        (Evaluation(cls, name, judge_kwargs(run, name), data, surroundings),)
        if evaluates
        else ()
    )
    as_theirs = is_upstream("ulmeval")
    return Task(
        name=name,
        dataset=GuestSamples(data),
        template=GuestPrompt(data),
        scorers=(ImagesDrawn(), *judged),
        options=DEFAULT_OPTIONS.set(n=generations(cls, name)),
        produces=("image",),
        protocol=f"{name}@upstream" if as_theirs else "",
        hints={"dataset": data.name, **({"seeding": "upstream"} if as_theirs else {})},
        description=(cls.__doc__ or "").strip().partition("\n")[0],
    )


class GuestPrompt:
    """The guest's `build_prompt` as a template."""

    def __init__(self, data: GuestData) -> None:
        self.data = data
        self.source = code_digest(data.cls)
        """Of the guest's file: an edit of it is seen."""

    def __call__(self, sample: Sample) -> Prompt:
        data = self.data
        return as_prompt(data.dataset.build_prompt(data.line(sample)))

    def __repr__(self) -> str:
        return f"{self.data.cls.__name__}.build_prompt"


def generations(cls: type, name: str) -> int:
    """Images for each prompt: what the class says, else what ULMEvalKit does for its own benchmarks, else one."""
    declared = getattr(cls, "NUM_GENERATIONS", None)
    if declared is not None:
        return int(declared)
    return COMPBENCH_GENERATIONS if "T2ICompBench" in name else GENERATIONS.get(name, 1)


def judge_kwargs(run: RunOptions, name: str) -> dict[str, Any]:
    """What `evaluate` is given beside its file."""
    arguments = {**JUDGE_DEFAULTS, **run.judge_args}
    judge = run.judges.get("judge") or ("gpt-4o" if "WISE" in name else None)
    return arguments if judge is None else {**arguments, "model": judge}


def _own(cls: Any, method: str) -> bool:
    """Whether a class has a method of its own, not only that of the base classes."""
    return getattr(cls, method, None) not in (
        getattr(TextBaseDataset, method),
        getattr(ImageBaseDataset, method),
    )
