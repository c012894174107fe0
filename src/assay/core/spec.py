"""Specs: components as plain data, from which a stored run can rebuild them.

A spec is a name with options: `{"name": "choice", "layout": "lines"}`. The name is registered, or
`file.py:attribute`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import UsageError, shorten
from .sample import EMPTY

# "wer:normalize=whisper-en,any_script=true", "mine.py:score:limit=3"
_WITH_OPTIONS = re.compile(r"(?P<name>[^{}=]+?):(?P<options>[A-Za-z_]\w*=.*)")
_PAIRS = re.compile(r",(?=[A-Za-z_]\w*=)")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_PROMPT_FILES = (".jinja", ".jinja2", ".j2", ".txt", ".md")


@dataclass(frozen=True, slots=True)
class Spec:
    """A registered name or a `file.py:attribute`, with the options to build it."""

    name: str
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @classmethod
    def of(
        cls,
        value: object,
        *,
        where: str | None = None,
    ) -> "Spec":
        """Return a spec from a name, a dictionary with `name`, or a dictionary of one name to its options.

        A text may also contain options: `wer:normalize=whisper-en`, or JSON, as typed on a command line.
        """
        if isinstance(value, Spec):
            return value
        if isinstance(value, str):
            return _from_text(value, where)
        if isinstance(value, Mapping):
            if "name" in value:
                return cls(
                    str(value["name"]), {k: v for k, v in value.items() if k != "name"}
                )
            if len(value) == 1:
                ((name, options),) = value.items()
                if options is None or isinstance(options, Mapping):
                    return cls(str(name), dict(options or {}))
        raise UsageError(
            f"expected a name or a name with options, got {shorten(value)}", where=where
        )

    def to_plain(self) -> str | dict[str, object]:
        """Return the shortest JSON from which `of` builds an equal spec."""
        if not self.options:
            return self.name
        if "name" in self.options:
            return {self.name: dict(self.options)}
        return {"name": self.name, **self.options}

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return (
            f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.options.items())})"
        )


def _from_text(
    text: str,
    where: str | None,
) -> Spec:
    if text.lstrip().startswith("{"):
        try:
            return Spec.of(json.loads(text), where=where)
        except ValueError as error:
            raise UsageError(
                f"not valid JSON: {error}",
                where=where,
                fix='write {"name": "wer", "normalize": "whisper-en"}',
            ) from error
    match = _WITH_OPTIONS.fullmatch(text)
    if match is None:
        return Spec(text)
    options = {}
    for pair in _PAIRS.split(match["options"]):
        name, _, value = pair.partition("=")
        options[name] = scalar(value)
    return Spec(match["name"], options)


def scalar(text: str) -> object:
    """Convert a text to the value it represents: a boolean, None for `null`, a number,
    or JSON in brackets.

    Any other text is returned unchanged. A number counts only if printing it gives the
    same text. So `0012`, `12e4567`, `nan` and `1.10` stay text, because they may be a
    revision or a name. `none` stays text too. If a component's annotation accepts a
    number or None, `registry.fit_options` converts such texts.
    """
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered == "null":
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    if text[:1] in "[{":
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def is_prompt_file(prompt: str) -> bool:
    """Return True if a prompt option names a file instead of containing the prompt."""
    return "\n" not in prompt and "{{" not in prompt and prompt.endswith(_PROMPT_FILES)
