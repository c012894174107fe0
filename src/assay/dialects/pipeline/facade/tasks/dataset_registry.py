"""`dataset_registry`: loaders and prompt templates by the name of their dataset."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ... import prompts
from ...rows import Unusable, read_file, read_rows


@dataclass(frozen=True)
class DatasetConfig:
    """What was registered under a name."""

    name: str
    loader: Callable[[str], Any]
    prompt_template: Callable[[Any], str]
    description: str = ""
    default_batch_size: int = 128
    default_max_length: int = 100


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
        """Makes a dataset known."""
        cls._registry[name] = DatasetConfig(
            name, loader, prompt_template, description, default_batch_size, default_max_length
        )

    @classmethod
    def get(cls, name: str) -> DatasetConfig | None:
        """What was registered under a name; `None` if nothing was."""
        return cls._registry.get(name)

    @classmethod
    def list_datasets(cls) -> list[str]:
        """All names, in the order of their registration."""
        return list(cls._registry)

    @classmethod
    def load_dataset(cls, name: str, path: str, limit: int | None = None) -> list[dict[str, Any]]:
        """The rows as `{"prompt", "reference", "raw"}`; a row whose prompt cannot be built is left out with a warning.

        An `answer` of 0, `False` or `""` is the reference; only an absent or null one falls back to `reference`.
        """
        config = cls.get(name)
        if config is None:
            raise ValueError(f"Dataset {name!r} is not registered. Available: {cls.list_datasets()}")
        rows: list[dict[str, Any]] = []
        unusable: list[Unusable] = []
        for row in read_rows(config.loader, config.prompt_template, path, limit or None):
            if isinstance(row, Unusable):
                unusable.append(row)
            else:
                rows.append(row.as_item())
        if unusable:
            first = f"row {unusable[0].number}: {unusable[0].error}"
            count = f"{len(unusable)} of {len(rows) + len(unusable)} rows left out"
            warnings.warn(f"{name}: {count}; the first, {first}", stacklevel=2)
        return rows


def load_jsonl(path: str) -> list[Mapping[str, Any]]:
    """The rows of a JSONL file; blank lines do not count."""
    return read_file(path)


def load_json(path: str) -> list[Mapping[str, Any]]:
    """The rows of a JSON file: a list, or the list under `data` or `examples`."""
    return read_file(path)


for _shipped in prompts.SHIPPED:
    DatasetRegistry.register(
        _shipped.name,
        read_file,
        _shipped.prompt,
        _shipped.description,
        default_batch_size=_shipped.batch_size,
        default_max_length=_shipped.max_length,
    )
