"""Find users' dataset classes in a file, create their objects, and read their rows."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import EMPTY, ComponentError, Sample, UnknownName, UsageError, blamed
from ...datasets.files import open_file
from ..kits.toolkit import UserFile
from ..kits.user_code import most_derived
from ..parameters import parameters_of
from ..shapes import Fields, Function
from .dataset_facts import DATASET_URLS, Kind, added_url, data_root, kind_of
from .vlmeval_rows import RowsWithImages, Source, rows_of_frame

if TYPE_CHECKING:
    from pandas import DataFrame

_KINDS: dict[str, Kind] = {
    "MCQ": "MCQ",
    "MULTI-CHOICE": "MCQ",
    "Y/N": "Y/N",
    "VQA": "VQA",
    "QA": "VQA",
    "MT": "MT",
    "VIDEO-MCQ": "MCQ",
    "VIDEO-VQA": "VQA",
}
OWN_MODULES = __package__
"""Prefix of the module names of assay's own VLMEvalKit classes, which distinguishes them from users' classes."""


def dataset_classes(
    file: UserFile,
    attribute: str | None,
    data_name: str | None,
    *,
    quiet: bool = False,
) -> list[tuple[type, str]]:
    """Return pairs of a dataset class in a file and a dataset name. Raise if there is none.

    `attribute` selects a class, a dataset, or `Class@dataset`; without it, all pairs
    are returned. `data_name` is the name of the table in `--data`.
    """
    classes = file.datasets
    if not classes and not quiet:
        raise UsageError(
            "defines no dataset class",
            where=str(file.path),
            fix="a class with build_prompt(self, line, dataset=None); a model is named by --model file.py:Class",
        )
    if attribute is None:
        declared = [
            (kind, name)
            for kind in classes
            if not is_only_a_base(kind, classes)
            for name in names_of(kind, data_name, quiet=quiet)
        ]
        return most_derived(declared)
    name_wanted, _, dataset = attribute.partition("@")
    named = []
    for kind in classes:
        if kind.__name__ == name_wanted:
            if dataset:
                names = [dataset]
            else:
                names = names_of(kind, data_name)
            return [(kind, name) for name in names]
        if name_wanted in names_of(kind, None, quiet=True):
            named.append((kind, name_wanted))
    if named:
        return most_derived(named)
    names = [kind.__name__ for kind in classes]
    raise UnknownName(
        "dataset class",
        name_wanted,
        names,
        where=str(file.path),
        hint=f"it has {', '.join(names)}",
    )


def named_datasets(file: UserFile) -> list[tuple[type, str]]:
    """Return a (class, dataset name) pair for each dataset that the classes in a file declare."""
    return dataset_classes(file, None, None, quiet=True)


def idle_classes(file: UserFile) -> list[type]:
    """Return the dataset classes in a file that declare no dataset. A user must select them by name."""
    return [
        kind
        for kind in file.datasets
        if not is_only_a_base(kind, file.datasets)
        and not names_of(kind, None, quiet=True)
    ]


def is_only_a_base(
    kind: type,
    classes: Sequence[type],
) -> bool:
    """Return True if a class declares no dataset and another class in the file derives from it."""
    declares = any(name in vars(kind) for name in ("DATASET_URL", "supported_datasets"))
    return not declares and any(
        issubclass(other, kind) for other in classes if other is not kind
    )


def names_of(
    kind: type,
    data_name: str | None,
    *,
    quiet: bool = False,
) -> list[str]:
    """Return the dataset names of a class: the file name in `--data` or, without `--data`, those it declares.

    If the class declares none, the constructor's default and the class's own name are
    tried, each of which needs a table in `$LMUData`. Next come datasets for which user
    files added a URL. A class that loads its own data needs neither.
    """
    if data_name is not None:
        return [data_name]
    supported: Any = getattr(kind, "supported_datasets", None)
    if callable(supported):
        declared = supported()
    else:
        declared = getattr(kind, "DATASET_URL", ())
    if declared:
        return [str(name) for name in declared]
    default = _default_dataset(kind)
    for name in (default, kind.__name__):
        if name and (data_root() / f"{name}.tsv").exists():
            return [name]
    added = [name for name in DATASET_URLS if added_url(name)]
    if added:
        return added
    if _loads_itself(kind):
        return [default or kind.__name__]
    if quiet:
        return []
    raise UsageError(
        f"class {kind.__name__} does not say which dataset it reads",
        fix=f"--data FILE.tsv, or put {kind.__name__}.tsv into {data_root()}, or declare DATASET_URL",
    )


class ClassDataset:
    """One dataset of a user's class. The user's object is created when its rows are first read."""

    def __init__(
        self,
        kind: type,
        name: str,
        data: str | None,
        file: str,
        settings: Fields = EMPTY,
    ) -> None:
        self.kind_class = kind
        self.name = name
        self._settings = settings
        """Further arguments of the constructor, from a config."""
        self._data = Path(data).expanduser() if data else None
        self._file = file

    @cached_property
    def instance(self) -> Any:
        """The user's dataset object."""
        constructor = _constructor(self.kind_class)
        accepted = parameters_of(constructor)[1:]
        takes_arguments = constructor is not object.__init__ and bool(accepted)
        unknown = [
            key
            for key in self._settings
            if key not in accepted and "**" not in accepted
        ]
        if unknown:
            fix = f"it takes {', '.join(accepted)}"
            raise UsageError(
                f"class {self.kind_class.__name__} takes no {unknown[0]!r}",
                where=self._file,
                fix=fix,
            )
        try:
            if takes_arguments:
                instance = self._built(accepted)
            else:
                instance = self.kind_class(**self._settings)
        except UsageError:
            raise
        except Exception as error:
            raise blamed(
                ComponentError,
                error,
                f"class {self.kind_class.__name__} of {self._file}",
            ) from error
        # Check the class: on an instance, this would look for the file and download it.
        if self._data is not None and hasattr(self.kind_class, "data_file"):
            instance.data_file = self._data
        return instance

    def _built(self, accepted: Sequence[str]) -> Any:
        """Create the user's object, with keyword arguments as in VLMEvalKit.

        The dataset's name is passed by position if the constructor calls the parameter
        something else.
        """
        if "dataset" in accepted or (
            "**" in accepted and "*" not in accepted and len(accepted) == 1
        ):
            return self.kind_class(
                dataset=self.name,
                **self._settings,
            )
        return self.kind_class(self.name, **self._settings)

    @cached_property
    def path(self) -> Path | None:
        """The TSV file whose rows are passed one by one, or None if the user's object has created its data frame."""
        if self._data is not None:
            return self._data
        instance = self.instance
        if getattr(instance, "is_loaded", True):
            return None
        path: Path = instance.data_file
        return path

    @cached_property
    def source(self) -> Source:
        """The object that reads the cells of this dataset's rows, such as their images."""
        if self.path is None:
            frame = self._frame()
        else:
            frame = None
        source = Source(self.name, self.path, frame, self.instance)
        if hasattr(self.instance, "rows_source"):
            self.instance.rows_source = source
        return source

    @property
    def rows(self) -> object:
        """The rows for the task's samples: from the TSV file if it can be streamed, otherwise from the data frame."""
        if self.path is None:
            return rows_of_frame(self._frame())
        if getattr(self.instance, "skip_noimg", False):
            return RowsWithImages(self.path, self.name)
        return self.path

    @property
    def is_dialogue(self) -> bool:
        """True if each row is a dialogue of several turns, which `build_prompt` returns together."""
        return str(getattr(self.kind_class, "TYPE", "")).upper() == "MT"

    @property
    def is_video(self) -> bool:
        """True if rows are about videos. Their `build_prompt(line, video_llm)` receives the row's number."""
        return str(getattr(self.kind_class, "MODALITY", "")).upper() == "VIDEO"

    @property
    def columns(self) -> frozenset[str]:
        """The names of the table's columns."""
        if self.path is None:
            return frozenset(str(name) for name in self._frame().columns)
        return columns_of(self.path)

    @property
    def evaluates(self) -> bool:
        """True if the user's class scores its predictions with its own `evaluate`."""
        evaluate = getattr(self.kind_class, "evaluate", None)
        return evaluate is not None and not str(
            getattr(evaluate, "__module__", "")
        ).startswith(OWN_MODULES)

    def kind(self, columns: frozenset[str]) -> Kind:
        """Return the type of questions: the class's own, or one judged by the dataset's name and columns."""
        declared = str(getattr(self.kind_class, "TYPE", "") or "").upper()
        return _KINDS.get(declared) or kind_of(self.name, columns)

    def _frame(self) -> "DataFrame":
        frame = getattr(self.instance, "data", None)
        if frame is None or not hasattr(frame, "iloc"):
            raise UsageError(
                f"class {self.kind_class.__name__} has no data",
                where=self._file,
                fix="let __init__ set self.data to a DataFrame, or give --data FILE.tsv",
            )
        return frame


def columns_of(path: Path) -> frozenset[str]:
    """Return the column names of a table, from its header or its first row."""
    shard = open_file(path)
    if shard.columns is not None:
        return frozenset(shard.columns)
    first = next((row for _, _, row in shard.rows() if isinstance(row, Mapping)), {})
    return frozenset(first.fields if isinstance(first, Sample) else first)


def is_dataset_class(kind: type) -> bool:
    """Return True if a class has `build_prompt` and is not a model class."""
    has_prompt = callable(getattr(kind, "build_prompt", None))
    return (
        has_prompt
        and not callable(getattr(kind, "generate", None))
        and not hasattr(kind, "generate_inner")
    )


def _default_dataset(kind: type) -> str | None:
    """Return the default of the parameter `dataset` in the user's own constructor, or None."""
    import inspect

    constructor = _constructor(kind)
    if getattr(constructor, "__module__", "").startswith(OWN_MODULES):
        return None
    try:
        parameter = inspect.signature(constructor).parameters.get("dataset")
    except (TypeError, ValueError):
        return None
    if parameter is not None and isinstance(parameter.default, str):
        return parameter.default
    return None


def _loads_itself(kind: type) -> bool:
    """Return True if a class defines a constructor or `load_data` that creates its data."""
    methods: Sequence[Any] = (_constructor(kind), getattr(kind, "load_data", None))
    return any(
        method not in (None, object.__init__)
        and not getattr(method, "__module__", "").startswith(OWN_MODULES)
        for method in methods
    )


def _constructor(kind: type) -> Function:
    constructor: Function = getattr(kind, "__init__")  # noqa: B009 - the class's own, which mypy takes for an instance's
    return constructor
