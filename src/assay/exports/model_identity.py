"""Names of models and datasets as other tools expect them: `organisation/name`."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..core import DataSource, Suite, Task
from ..datasets.hub import is_hub_name
from ..registry import models, tasks

LOCAL = "local"
"""The organisation of a model that is a file of the user, or whose origin is unknown."""
WEIGHTS = ("hf", "vllm", "diffusers", "gguf")
"""Schemes that are followed by a hub id or a path of weights."""


def hub_name(model: str) -> str:
    """Return a model as `organisation/name`: the id on the hub, the service and its name, or `local/name`."""
    scheme, slash, rest = model.partition("/")
    if not slash or scheme not in models:
        return _local_name(model)
    if scheme not in WEIGHTS:
        return f"{scheme}/{_plain_name(rest)}"

    looks_like_id = rest.count("/") == 1 and not rest.startswith((".", "/", "~"))
    if looks_like_id and not Path(rest).exists():
        return rest
    return _local_name(rest)


def _local_name(path: str) -> str:
    """Return `local/name` for a path."""
    name = Path(path).name
    return f"{LOCAL}/{_plain_name(name)}"


def _plain_name(text: str) -> str:
    """Return a name with letters, digits, `.`, `_` and `-` only."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "model"


def is_self_deployed(model: str) -> bool | None:
    """Return True for a model that runs on this machine, False for a service; None if it is unknown."""
    scheme = model.partition("/")[0]
    if scheme in ("anthropic", "gemini", "litellm"):
        return False
    if scheme in ("openai", "replay", "predictions"):
        return None
    return True


@dataclass(frozen=True, slots=True)
class HubData:
    """The dataset of a task on the hub."""

    id: str
    config: str | None
    split: str | None


def hub_data(task: str, files: list[str]) -> HubData | None:
    """Return the dataset of a task, or the one of which its file is a copy; None if it is not on the hub."""
    for file in files:
        if is_hub_name(file):
            return _split_reference(file)
    name = task.partition("@")[0]
    if name not in tasks:
        return None
    shipped = tasks.get(name)
    if callable(shipped) and not isinstance(shipped, (Task, Suite)):
        shipped = shipped()
    source = shipped.dataset if isinstance(shipped, Task) else None
    if isinstance(source, DataSource) and source.hub:
        return HubData(source.hub, source.config or None, source.split or None)
    return None


def _split_reference(reference: str) -> HubData:
    """Split `hub:ORG/NAME@CONFIG#SPLIT`."""
    text = reference.removeprefix("hub:").partition("?")[0]
    text, _, split = text.partition("#")
    name, _, config = text.partition("@")
    return HubData(name, config or None, split or None)
