"""Determine the accepted and produced kinds of media of each shipped model, without loading it."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any

from .. import registry
from ..core import Abilities, Model
from . import embedded

AT_MOST: Mapping[str, Mapping[str, frozenset[str]]] = {
    "hf": {
        "accepts": frozenset({"text", "image", "audio", "video"}),
        "produces": frozenset({"text", "image", "audio"}),
    },
    "vllm": {
        "accepts": frozenset({"text", "image", "audio"}),
        "produces": frozenset({"text"}),
    },
    "diffusers": {
        "accepts": frozenset({"text", "image"}),
        "produces": frozenset({"image"}),
    },
}
"""For each backend, kinds of media that only some of its models accept or produce, depending on the weights."""

BY_OPTION: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "openai": {
        "accepts": {"video": "accepts=text,image,video"},
        "produces": {"image": "api=images", "audio": "api=speech"},
    },
    "gemini": {"produces": {"image": "produces=text,image", "audio": "produces=audio"}},
    "litellm": {
        "produces": {"image": "produces=text,image", "audio": "produces=text,audio"}
    },
}
"""The option that makes an endpoint accept or produce a kind of media, by backend and kind."""


NOT_ASKED = frozenset({"scripted", "replay", "predictions", "worker", "sandbox"})
"""Models that are never suggested, because they repeat stored answers or only serve scorers."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The kinds of media that a model accepts and produces; None if its options determine them."""

    accepts: frozenset[str] | None = None
    produces: frozenset[str] | None = None
    missing: str = ""
    """The command that installs the model; empty if the model is already installed."""


def declared(name: str) -> Declared:
    """Return the kinds of media that a shipped model declares."""
    entry = embedded.CATALOGUE.get(name)
    if entry is None:
        return _of_class(registry.models.get(name))
    if entry.missing:
        return Declared(missing=entry.install)
    abilities = embedded.build(name).abilities
    return Declared(abilities.accepts, abilities.produces)


def _of_class(thing: Any) -> Declared:
    if is_dataclass(thing):
        defaults = {f.name: f.default for f in fields(thing)}
    else:
        defaults = {}
    accepts = defaults.get("accepts", MISSING)
    produces = defaults.get("produces", MISSING)
    if accepts is not MISSING and produces is not MISSING:
        return Declared(frozenset(accepts), frozenset(produces))
    if isinstance(vars(thing).get("abilities"), property):
        try:
            # Use an instance without options: abilities that depend on options are unknown here.
            abilities = thing.__new__(thing).abilities
        except AttributeError:
            return Declared()
        if isinstance(abilities, Abilities):
            return Declared(abilities.accepts, abilities.produces)
    return Declared()


@lru_cache(maxsize=64)
def models_that(part: str, kind: str) -> tuple[str, ...]:
    """Return the names of models that accept or produce a kind of medium; `part` is `accepts` or `produces`."""
    certain = []
    by_option = []
    possible = []
    for name in registry.models:
        if name in NOT_ASKED:
            continue
        declaration = declared(name)
        kinds: frozenset[str] | None = getattr(declaration, part)
        option = BY_OPTION.get(name, {}).get(part, {}).get(kind)
        if kinds is not None and kind in kinds:
            certain.append(_spelled(name))
        elif option is not None:
            by_option.append(f"{_spelled(name)} with -a {option}")
        elif (
            kinds is None
            and not declaration.missing
            and kind in AT_MOST.get(name, {}).get(part, {kind})
        ):
            possible.append(f"{_spelled(name)} where its weights do")
    return (*certain, *by_option, *possible)


def fix_for_kind(model: Model, kind: str) -> str:
    """Return advice on a kind of medium that a model does not accept: a library to install, or other models."""
    fixes: Mapping[str, str] = getattr(model, "media_fixes", {})
    if kind in fixes:
        return fixes[kind]
    names = [*models_that("accepts", kind), "or your own"]
    return f"models that accept {kind}: {', '.join(names)}"


def _spelled(name: str) -> str:
    """Return a model's name as a user types it. A backend gets a placeholder: `hf -> hf/PATH_OR_ID`."""
    summary = registry.models.summary(name)
    if summary.startswith(f"{name}/"):
        return summary.partition(":")[0]
    return name
