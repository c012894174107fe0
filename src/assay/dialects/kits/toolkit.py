"""Describe a toolkit to the modules that both share: its names, classes, checkout, and the users' files for it.

VLMEvalKit and ULMEvalKit each have one `Toolkit`. A model is found with it in two ways:

    mine.py:Model      `Toolkit.model` loads the file as a `UserFile`, and `adapt` makes a model of assay of its class
    qwen2-vl           `model_of_checkout` looks the name up in the `config.py` of a checkout, and loads its class

Datasets are found in the same ways, by `UserFile.datasets` and `dataset_of_checkout`.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...code.sources import digest_behind
from ...code.userfiles import split_reference
from ...core import Model, UnknownName, UsageError
from ...models.calling import Builder
from ..guest import Guest
from ..outside import installed_mount
from ..request_models import RequestModel
from ..shapes import Fields, Record
from .checkout import Checkout, Defined
from .user_code import own_classes

HINT = "--register FILE names the file that defines it"
"""Advice in errors about a model or a class that no loaded file defines."""
_loaded: dict[tuple[str, Path, str, bool], "UserFile"] = {}
"""The loaded files, by toolkit, path, digest of the source, and `force`."""


@dataclass(frozen=True, eq=False)
class Toolkit:
    """The differences between VLMEvalKit and ULMEvalKit that the shared modules need."""

    package: str
    names: Mapping[str, str]
    """The toolkit's modules that assay replaces, each with the module of assay."""
    models: Fields
    """The registry to which user files add functions that create a model, by name."""
    is_dataset: Callable[[type], bool]
    is_model: Callable[[Any], bool]
    model_class: Callable[..., Model]
    """Class of the adapter for a user's model. Its arguments: the class or function, a name, arguments, a file."""
    api_class: Callable[..., Model]
    """Class of the adapter for users' models that call an API. Several calls run at once."""
    named_datasets: Callable[["UserFile"], Sequence[tuple[Any, str]]]
    """Function that returns a (class, dataset name) pair for each dataset in a file."""
    model_folders: tuple[str, ...]
    """Names of the folders with model classes in the toolkit's package."""
    own_dataset_files: frozenset[str]
    """Dataset files of the toolkit that assay replaces with its own version."""

    def load(
        self,
        path: str | Path,
        *,
        force: bool = False,
    ) -> "UserFile":
        """Return a user's file, loaded once for each version of its source.

        With `force`, the toolkit's names hide the user's modules of the same names.
        """
        file = Path(path).expanduser().resolve()
        if not file.is_file():
            raise UsageError("no such file", where=str(path))
        guest = Guest.of_file(self.package, self.names, file, force=force)
        key = (self.package, file, digest_behind(file, libraries=False), force)
        if key not in _loaded:
            _loaded[key] = UserFile(self, guest, file)
        return _loaded[key]

    def model(self, reference: str, args: Fields) -> Model | None:
        """Return the model that `file.py` or `file.py:name` defines, or None."""
        path, name = split_reference(reference)
        if not path.endswith(".py"):
            return None
        definition = self.load(path).model(name)
        if definition is None:
            return None
        _, target = definition
        return self.adapt(target, reference, args, Path(path).expanduser())

    def adapt(
        self,
        target: object,
        name: str,
        args: Fields,
        file: Path | None,
    ) -> Model | None:
        """Wrap a user's class, a `partial` of one, or an object as a model of assay. None if it is not a model."""
        kind = class_of(target)
        if not self.is_model(kind):
            return None
        if getattr(kind, "is_api", False):
            adapter = self.api_class
        else:
            adapter = self.model_class
        return adapter(target, name, args, file)

    def checkout(self, folder: Path | None = None) -> Checkout | None:
        """Return the checkout around `folder` or the working folder; without one, the installed package or None."""
        start = (folder or Path.cwd()).resolve()
        folders = [start, *start.parents]
        installed = installed_mount(self.package)
        if installed is not None:
            folders.append(installed.folder)
        for candidate in folders:
            package = candidate / self.package
            if (package / "dataset").is_dir() and (package / "config.py").is_file():
                return Checkout(
                    package,
                    self.model_folders,
                    self.own_dataset_files,
                    lambda file: self.named_datasets(self.load(file)),
                )
        return None

    def dataset_of_checkout(self, name: str) -> tuple[Any, Fields] | None:
        """Return the checkout's class for a dataset and its configured arguments. None if the checkout defines none."""
        checkout = self.checkout()
        if checkout is None:
            return None
        defined = checkout.dataset(name)
        if defined is None:
            return None
        return self.load(defined.file).member(defined.cls), defined.arguments

    def definition_of_model(self, name: str) -> Defined | None:
        """Return the class and arguments that the checkout's `config.py` lists for a model; None if there is none."""
        checkout = self.checkout()
        if checkout is None:
            return None
        return checkout.model(name)

    def model_of_checkout(self, name: str) -> Callable[[], Any] | None:
        """Return a function that creates the model listed in the checkout's `config.py`; None if there is none."""
        defined = self.definition_of_model(name)
        if defined is None:
            return None
        return partial(self.load(defined.file).member(defined.cls), **defined.arguments)


class UserFile:
    """A user's file after loading: its dataset classes, model classes, and models registered by name."""

    def __init__(
        self,
        toolkit: Toolkit,
        guest: Guest,
        path: Path,
    ) -> None:
        self.path = path
        self._toolkit = toolkit
        before = dict(toolkit.models)
        # The file's own code may add entries to `toolkit.models`.
        self.module = guest.load(path)
        self.registered: Record = {}
        for name, factory in toolkit.models.items():
            if before.get(name) is not factory:
                self.registered[name] = factory
        self.datasets: list[type] = []
        self.models: Record = {}
        for kind in own_classes(self.module):
            if toolkit.is_dataset(kind):
                self.datasets.append(kind)
            elif toolkit.is_model(kind):
                self.models[kind.__name__] = kind

    def member(self, name: str) -> Any:
        """Return the object with this name in the file's module."""
        return getattr(self.module, name)

    def model(self, name: str | None) -> tuple[str, Any] | None:
        """Return the name of a model in the file with its class or function; None if the file has no models.

        Without a name, return the file's only model: the registered one or, if none is
        registered, the class.
        """
        if name is None:
            return self._only_model()
        models = {**self.models, **self.registered}
        if name in models:
            return name, models[name]
        # Another file of `--register` may have registered it.
        target = getattr(self.module, name, None) or self._toolkit.models.get(name)
        if target is None:
            raise UnknownName(
                "model",
                name,
                models,
                where=str(self.path),
                hint=f"{self.path.name} has {', '.join(models) or 'none'}",
            )
        if self._toolkit.is_model(class_of(target)):
            return name, target
        return None

    def _only_model(self) -> tuple[str, Any] | None:
        """Return the file's registered model or, if none is registered, its class. Raise if there are several."""
        models = self.registered or self.models
        if len(models) > 1:
            raise UsageError(
                f"{self.path.name} defines {len(models)} models",
                fix=f"write {self.path}:name",
            )
        return next(iter(models.items()), None)


def class_of(factory: object) -> type:
    """Return the class of a model that is given as a class, a `partial` of one, or an object."""
    while isinstance(factory, partial):
        factory = factory.func
    if isinstance(factory, type):
        return factory
    return type(factory)


def find_class(
    noun: str,
    name: object,
    builtin: Fields,
    files: Sequence[UserFile],
    classes_of: Callable[[UserFile], Fields],
    where: str,
) -> tuple[Any, Path | None]:
    """Return the class named in a config entry, and the user's file that defines it (None if it is built in)."""
    classes: dict[str, tuple[Any, Path | None]] = {}
    for label, kind in builtin.items():
        classes[label] = (kind, None)
    for file in files:
        for label, kind in classes_of(file).items():
            classes[label] = (kind, file.path)
    if name not in classes:
        raise UnknownName(
            noun,
            str(name),
            classes,
            where=where,
            hint=HINT,
        )
    return classes[name]


def names_of_parts(
    package: str,
    names: Mapping[str, str],
    *parts: str,
) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package's module. It takes each name from the first submodule that defines it.

    `names` has the module of assay for each submodule, and the names that it defines if these are not all in `__all__`:

        {"vlmeval.config": "assay.dialects.vlmeval.vlmeval_toolkit: api_models partial supported_VLM"}
    """

    def find(name: str) -> object:
        is_special = name.startswith("__")
        if not is_special:
            for part in parts:
                module_name, _, listed = names[f"{package}.{part}"].partition(":")
                module = importlib.import_module(module_name)
                offered = listed.split() or module.__all__
                if name in offered:
                    return getattr(module, name)
        raise AttributeError(f"the {package} dialect has no {name!r} in {package!r}")

    return find


class KitModel(RequestModel):
    """Adapter of a user's model, which is given as a class, a `partial` of one, or an existing object."""

    identity: Fields

    def __init__(
        self,
        target: Any,
        name: str,
        args: Fields,
        file: Path | None,
    ) -> None:
        self.name = name
        self.kind: Any = class_of(target)
        self.source = {
            "file": file.name if file else self.kind.__module__,
            "sha256": digest_behind(file, libraries=False) if file else "",
        }
        """The user's file and its digest, for the identity of the model."""
        self._builder = Builder(target, args, name)
        is_existing_object = not callable(target)
        if is_existing_object:
            self._builder.built = target

    def build(self) -> Any:
        """Return the user's object, which is built on first use."""
        self.built = self._builder.build()
        return self.built
