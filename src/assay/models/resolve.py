"""Build a model from its name: `smollm2`, `openai/gpt-x`, `weights.gguf`, `file.py:fn`, `worker/detector`.

No weights are loaded here: a model loads itself with the first request.
"""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..code.userfiles import is_reference, load_attribute, split_reference
from ..core import EMPTY, Model, Spec, UnknownName, UsageError, nearest
from ..registry import construct, model_recognisers
from ..registry import models as registry
from . import embedded
from .calling import check_declared, check_same_style
from .function import FunctionModel, with_options
from .other_names import translate_name
from .server_pool import ServerPool, urls_of

DEFAULT_MODEL = "smollm2"


def build_model(
    name: str,
    args: Mapping[str, Any] = EMPTY,
    *,
    dialect: str | None = None,
) -> Model:
    """Build the model with a given name. For an unknown name or option, the error suggests the nearest one.

    `dialect` names the toolkit that a user's file was written for, if the file itself does not show it.
    """
    if is_reference(name) and not _is_worker(name):
        for recognise in model_recognisers():
            model: Model | None = recognise(name, args, dialect)
            if model is not None:
                return model
        return _from_file(name, args)
    naming = translate_name(name, args)
    name = naming.name
    args = naming.args
    canonical = registry.resolve(name) or name
    if canonical in embedded.CATALOGUE:
        return embedded.build(canonical, args)
    if name in registry:
        return _adapted(registry.get(name), name, args)
    scheme, slash, rest = name.partition("/")
    if slash and rest and scheme in registry:
        thing = registry.get(scheme)
        field = getattr(thing, "reference", None)
        if isinstance(field, str):
            return _behind_urls(thing, scheme, {field: rest, **args})
        raise UsageError(
            f"model {scheme!r} takes nothing after the slash, got {rest!r}"
        )
    if name.endswith(".gguf"):
        return _adapted(registry.get("gguf"), "gguf", {"path": name, **args})
    hint = (
        "`assay ls models` prints all; a Python file is named as file.py:function, weights as hf/PATH_OR_HUB_ID or"
        f" path.gguf, a model behind a URL as openai/{name} --base_url URL"
    )
    if re.match(r"\w+=", name):
        hint = f"options of a model: -a {name}"
    elif Path(f"{name.partition(':')[0]}.py").is_file():
        hint = f"did you mean {name.replace(':', '.py:', 1)}?"
    elif rest and (close := nearest(scheme, registry.names())):
        hint = f"did you mean {close}/{rest}? {hint}"
    raise UnknownName(
        "model",
        name,
        {*registry.names(), *embedded.CATALOGUE},
        hint=hint,
    )


def _behind_urls(
    thing: object,
    scheme: str,
    args: Mapping[str, Any],
) -> Model:
    """Build a model. If `base_url` has several URLs, build a pool with one model per URL."""
    urls = urls_of(args.get("base_url"))
    if len(urls) < 2 or not hasattr(thing, "url_env"):
        return _adapted(thing, scheme, args)
    return ServerPool.of(
        [_adapted(thing, scheme, {**args, "base_url": url}) for url in urls]
    )


def _is_worker(name: str) -> bool:
    """Return True for `worker/FILE.py:Class`, and False for an existing file in a folder named worker."""
    return name.startswith("worker/") and not Path(split_reference(name)[0]).is_file()


def adapt_model(thing: object) -> Model:
    """Convert an object to a model: a model stays unchanged, a function or another object is wrapped."""
    name = getattr(thing, "__name__", type(thing).__name__)
    return _adapted(thing, name, EMPTY)


def _from_file(
    name: str,
    args: Mapping[str, Any],
) -> Model:
    path, attribute = split_reference(name)
    if attribute is None:
        module = load_attribute(name)
        if not hasattr(module, "generate"):
            raise UsageError(
                f"{Path(path).name} does not say which model", fix=f"write {path}:name"
            )
        return _adapted(module.generate, f"{path}:generate", args)
    return _adapted(load_attribute(name), name, args)


def _adapted(
    thing: object,
    name: str,
    args: Mapping[str, Any],
) -> Model:
    """Convert an object to a model: a model class is built, anything else is wrapped."""
    if (
        inspect.isclass(thing)
        and hasattr(thing, "abilities")
        and hasattr(thing, "identity")
    ):
        model: Model = construct(thing, Spec(name, args), kind="model")
        if (
            isinstance(thing.identity, Mapping)
            and model.identity is thing.identity
            and args
        ):
            _add_options_to_identity(model, thing.identity, args, name)
    elif isinstance(thing, Model) and not inspect.isclass(thing) and not args:
        model = thing
    else:
        return FunctionModel(thing, name, args)
    check_same_style(
        model.generate, getattr(model, "likelihood", None), f"model {name!r}"
    )
    check_declared(model, f"model {name!r}")
    return model


def _add_options_to_identity(
    model: Model,
    identity: Mapping[str, Any],
    args: Mapping[str, Any],
    name: str,
) -> None:
    """Add a model's options to its identity, if its class declares the same identity for all options."""
    try:
        object.__setattr__(model, "identity", with_options(identity, args))
    except AttributeError as error:
        raise UsageError(
            f"model {name!r} has the same identity with all options",
            fix="make `identity` a property that names them",
        ) from error
