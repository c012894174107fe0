"""The module `dataset_registry` of rwkv-benchmark: user files register datasets in it by name."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ..protocol import is_upstream
from ..shapes import Record
from . import pipeline_checkout as checkout
from . import pipeline_prompts as prompts
from .pipeline_rows import (
    Unusable,
    Usable,
    read_rows,
    read_test_split,
    reference_as_upstream,
)
from .pipeline_rows import load_json as load_json
from .pipeline_rows import load_jsonl as load_jsonl

T = TypeVar("T")


@dataclass
class DatasetConfig:
    """A registered dataset: its loader, its prompt template and its default sizes."""

    name: str
    loader: Callable[[str], Any]
    prompt_template: Callable[[Any], str]
    description: str = ""
    default_batch_size: int = 128
    default_max_length: int = 100


class LoadedRows(list[dict[str, Any]]):
    """The usable rows of a dataset. `left_out` is the number of unusable rows."""

    left_out: int = 0


class DatasetRegistry:
    """Datasets by name; a later registration replaces an earlier one."""

    _registry: ClassVar[dict[str, DatasetConfig]] = {}

    @classmethod
    def register(
        cls,
        name: str,
        loader: Callable[[str], Any],
        prompt_template: Callable[[Any], str],
        description: str = "",
        default_batch_size: int = 128,
        default_max_length: int = 100,
    ) -> None:
        """Register a dataset. `loader` reads the rows of a file, `prompt_template` builds a row's prompt."""
        cls._registry[name] = DatasetConfig(
            name,
            loader,
            prompt_template,
            description,
            default_batch_size,
            default_max_length,
        )

    @classmethod
    def get(cls, name: str) -> DatasetConfig | None:
        """Return the dataset registered under a name, or None.

        Under upstream's rules, a shipped dataset has the description and the default sizes of a local checkout.
        """
        config = cls._registry.get(name)
        if config is None or not is_shipped(name) or not is_upstream("pipeline"):
            return config
        return _with_checkout_prompt(config)

    @classmethod
    def list_datasets(cls) -> list[str]:
        """Return the names of all datasets, in the order of their registration."""
        return list(cls._registry)

    @classmethod
    def load_dataset(
        cls,
        name: str,
        path: str,
        limit: int | None = None,
    ) -> list[Record]:
        """Return the rows as `{"prompt", "reference", "raw"}`. Warn about rows whose prompt cannot be built.

        The reference is a row's `answer`, even if that is 0, `False` or `""`; without
        an `answer`, it is the row's `reference`. Under upstream's rules, `reference` is
        also used for these three values, and loading stops at the first row that fails.
        """
        config = cls.get(name)
        if config is None:
            raise ValueError(
                f"Dataset {name!r} is not registered. Available: {cls.list_datasets()}"
            )
        if is_upstream("pipeline"):
            loaded = config.loader(path)
            return [
                Usable(
                    config.prompt_template(raw), reference_as_upstream(raw), raw
                ).as_item()
                for raw in (loaded[:limit] if limit else loaded)
            ]
        rows = LoadedRows()
        first = ""
        for row in read_rows(
            config.loader,
            config.prompt_template,
            path,
            limit or None,
        ):
            if isinstance(row, Unusable):
                rows.left_out += 1
                first = first or f"row {row.number}: {row.error}"
            else:
                rows.append(row.as_item())
        if rows.left_out:
            count = f"{rows.left_out} of {len(rows) + rows.left_out} rows left out"
            warnings.warn(f"{name}: {count}; the first, {first}", stacklevel=2)
        return rows


for _name, _loader, _prompt, _batch_size, _max_length, _description in (
    ("lambada", load_jsonl, prompts.lambada, 64, 1, "LAMBADA: the last word of a passage"),
    ("qa", load_jsonl, prompts.question_answer, 128, 100, "questions with an answer"),
    ("completion", load_jsonl, prompts.completion, 128, 100, "texts to continue"),
    ("cot", load_json, prompts.step_by_step, 64, 256, "questions to think aloud about"),
    ("math", load_json, prompts.problem, 64, 256, "problems to solve"),
    ("mmlu_pro", read_test_split, prompts.multiple_choice, 64, 10, "MMLU-Pro: up to ten options"),
    ("mmlu_pro_cot", read_test_split, prompts.reasoned_choice, 32, 200, "MMLU-Pro, thinking aloud"),
):  # fmt: skip
    DatasetRegistry.register(
        _name,
        _loader,
        _prompt,
        _description,
        _batch_size,
        _max_length,
    )
_shipped = dict(DatasetRegistry._registry)
_theirs: dict[Path, dict[str, DatasetConfig]] = {}
"""For each loaded task file of a checkout, the datasets that it registered."""


def _with_checkout_prompt(config: DatasetConfig) -> DatasetConfig:
    """Return a shipped dataset with the prompt from a local checkout's task file.

    If the checkout has no such file, only the description and the sizes come from the
    checkout.
    """
    file = checkout.task_file(config.name.removesuffix("_cot"))
    if file is None:
        return replace(config, **checkout.registered_texts("dataset", config.name))
    if file not in _theirs:
        from ..guest import Guest
        from .claims import NAMES

        before = dict(DatasetRegistry._registry)
        try:
            Guest.of_file("pipeline", NAMES, file).load(file)
            _theirs[file] = new_entries(DatasetRegistry._registry, before)
        finally:
            DatasetRegistry._registry.clear()
            DatasetRegistry._registry.update(before)
    return _theirs[file].get(config.name, config)


def new_entries(registry: Mapping[str, T], before: Mapping[str, T]) -> dict[str, T]:
    """Return the entries of a registry that were added or replaced since the copy `before` was made."""
    return {
        name: entry for name, entry in registry.items() if before.get(name) is not entry
    }


def is_shipped(name: str) -> bool:
    """Return True if a name refers to a dataset of assay. False if a user registered another one under the name."""
    return name in _shipped and DatasetRegistry._registry.get(name) is _shipped[name]


def has_assay_wording(name: str) -> bool:
    """Return True if a prompt was written for assay, because upstream's prompt is available only in a checkout."""
    config = DatasetRegistry.get(name)
    return config is not None and config.prompt_template is prompts.reasoned_choice
