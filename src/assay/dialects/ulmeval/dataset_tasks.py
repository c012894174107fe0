"""Make tasks from a user's ULMEvalKit file: one for each dataset that its classes support."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...code.fingerprint import code_digest
from ...code.userfiles import split_reference
from ...core import DEFAULT_OPTIONS, Prompt, Sample, Task, UnknownName, UsageError
from ...runner.options import RunOptions
from ..kits.state import Surroundings
from ..kits.user_code import most_derived, read_config
from ..protocol import is_upstream
from ..shapes import Fields, Record
from .drawing_datasets import ImageBaseDataset, TextBaseDataset
from .ulmeval_drawing import as_prompt
from .ulmeval_evaluation import ImageEvaluation, ImagesDrawn
from .ulmeval_rows import GuestData, GuestSamples, kept_table
from .ulmeval_toolkit import TOOLKIT, configured_dataset

BENCHMARKS = {
    "GenEval": "geneval",
    "DPGBench": "dpg_bench",
    "WISE_all": "wise_legacy",
    "GenEvalPP": "geneval_pp",
    "ImagineBench": "imagine_bench_ulmeval",
    "OmniContext": "omnicontext",
    "GenAI_Bench": "genai_bench",
}
"""Benchmarks that ship with ULMEvalKit, each with the assay benchmark that replaces it."""
GENERATIONS = {"GenEval": 4, "DPGBench": 4}
COMPBENCH_GENERATIONS = 10
JUDGE_DEFAULTS: Fields = {"nproc": 4, "verbose": False, "retry": 3}


def tasks_of(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks of a user's file, a TSV, or a JSON config.

    A file is given as `file.py`, `file.py:Class` or `file.py:dataset`.
    """
    path, attribute = split_reference(reference)
    if path.endswith(".py"):
        return _from_file(path, attribute, run)
    config, _, entry = reference.partition("#")
    if config.endswith(".json"):
        return _from_config(config, entry or None, run)
    upstreams = upstreams_class(reference)
    if upstreams is not None:
        return [make_task(upstreams, reference, run)]
    return [_from_table(Path(reference).expanduser(), run)]


def _from_file(
    path: str,
    attribute: str | None,
    run: RunOptions,
) -> list[Task]:
    guest = TOOLKIT.load(path, force=run.dialect is not None)
    named = [(cls, name) for cls in guest.datasets for name in _names(cls, run)]
    class_name, _, dataset = (attribute or "").partition("@")
    if not named:
        if guest.models:
            fix = f"name one of its models as --model {path}:…"
        else:
            fix = "derive one from TextBaseDataset"
        raise UsageError(
            "defines no dataset class with a DATASET_URL",
            where=path,
            fix=fix,
        )
    if class_name:
        chosen = [
            (cls, name) for cls, name in named if class_name in (cls.__name__, name)
        ] or _unknown(class_name, named, path)
        named = [
            (cls, name) for cls, name in chosen if dataset in ("", name)
        ] or _unknown(dataset, chosen, path)
    return [make_task(cls, name, run) for cls, name in most_derived(named)]


def assay_benchmark(name: str) -> str | None:
    """Return the assay benchmark that replaces a ULMEvalKit benchmark with this name, or None."""
    if name.startswith("T2ICompBench_"):
        return "t2i_compbench"
    return BENCHMARKS.get(name)


def upstreams_class(name: str) -> type | None:
    """Return ULMEvalKit's own class for one of its benchmarks. None if its rules were not chosen.

    Raise if no checkout of ULMEvalKit is found and the package is not installed.
    """
    if assay_benchmark(name) is None or not is_upstream("ulmeval"):
        return None
    defined = TOOLKIT.dataset_of_checkout(name)
    if defined is None:
        raise UsageError(
            f"the evaluation of {name} with upstream's rules is ULMEvalKit's own, which is not here",
            fix="run in a checkout of ULMEvalKit, or install it; without --upstream assay's benchmark runs",
        )
    kind: type = defined[0]
    return kind


def _names(cls: Any, run: RunOptions) -> list[str]:
    """Return the dataset names that a class declares. If it declares none, use its own name with `--data`."""
    return list(cls.supported_datasets()) or ([cls.__name__] if run.data else [])


def _unknown(
    wanted: str,
    named: Sequence[tuple[Any, str]],
    path: str,
) -> list[tuple[Any, str]]:
    names = dict.fromkeys(
        [*(name for _, name in named), *(cls.__name__ for cls, _ in named)]
    )
    raise UnknownName(
        "dataset",
        wanted,
        names,
        where=path,
        hint=f"it has {', '.join(names)}",
    )


def _from_config(
    path: str,
    wanted: str | None,
    run: RunOptions,
) -> list[Task]:
    """Return the tasks of all datasets in a JSON config, or only of the dataset called `wanted`."""
    config = read_config(Path(path).expanduser(), ("data",))
    data = config["data"]
    names = list(data)
    if wanted is not None:
        if wanted not in data:
            hint = f"it has {', '.join(names)}"
            raise UnknownName(
                "dataset",
                wanted,
                names,
                where=path,
                hint=hint,
            )
        names = [wanted]
    files = [TOOLKIT.load(file, force=True) for file in run.register]
    tasks: list[Task] = []
    for name in names:
        entry = data[name]
        cls, dataset, settings = configured_dataset(name, entry, files, path)
        task = make_task(cls, name, run, settings, dataset)
        tasks.append(task)
    return tasks


def _from_table(path: Path, run: RunOptions) -> Task:
    """Make a task from a TSV of prompts that has no dataset class. Images are generated, but not scored."""
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
    settings: Fields | None = None,
    dataset: str | None = None,
) -> Task:
    """Make a task from one dataset of a user's class. Its rows are read on demand."""
    surroundings = Surroundings(
        trust_pickle=run.trust_pickle,
        allow_private_urls=run.allow_private_urls,
        data=Path(run.data).expanduser() if run.data else None,
        copied_table=kept_table(run.output, dataset or name),
    )
    data = GuestData(cls, dataset or name, settings or {}, surroundings)
    evaluations: list[ImageEvaluation] = []
    if _own(cls, "evaluate"):
        kwargs, code = judge_kwargs(run, name), code_digest(cls)
        evaluations.append(
            ImageEvaluation(name, code, kwargs, None, None, data, surroundings)
        )
    as_theirs = is_upstream("ulmeval")
    return Task(
        name=name,
        dataset=GuestSamples(data),
        template=GuestPrompt(data),
        scorers=(ImagesDrawn(), *evaluations),
        options=DEFAULT_OPTIONS.set(n=generations(cls, name)),
        produces=("image",),
        protocol=f"{name}@upstream" if as_theirs else "",
        hints={"dataset": data.name, **({"seeding": "upstream"} if as_theirs else {})},
        description=(cls.__doc__ or "").strip().partition("\n")[0],
    )


class GuestPrompt:
    """The template that calls the user's `build_prompt`."""

    def __init__(self, data: GuestData) -> None:
        self.data = data
        self.source = code_digest(data.cls)
        """The digest of the user's file, so that an edit is noticed."""

    def __call__(self, sample: Sample) -> Prompt:
        data = self.data
        return as_prompt(data.dataset.build_prompt(data.line(sample)))

    def __repr__(self) -> str:
        return f"{self.data.cls.__name__}.build_prompt"


def generations(cls: type, name: str) -> int:
    """Return the number of images per prompt.

    A class may set `NUM_GENERATIONS`. ULMEvalKit's benchmarks have fixed numbers. The
    default is one.
    """
    declared = getattr(cls, "NUM_GENERATIONS", None)
    if declared is not None:
        return int(declared)
    if "T2ICompBench" in name:
        return COMPBENCH_GENERATIONS
    return GENERATIONS.get(name, 1)


def judge_kwargs(run: RunOptions, name: str) -> Record:
    """Return the keyword arguments for a user's `evaluate`, such as the judge as `model`."""
    arguments = {**JUDGE_DEFAULTS, **run.judge_args}
    judge = run.judges.get("judge") or ("gpt-4o" if "WISE" in name else None)
    if judge is None:
        return arguments
    return {**arguments, "model": judge}


def _own(cls: object, method: str) -> bool:
    """Return True if a class defines this method itself, rather than inheriting ULMEvalKit's."""
    return getattr(cls, method, None) not in (
        getattr(TextBaseDataset, method),
        getattr(ImageBaseDataset, method),
    )
