"""Prompts of this dialect: VLMEvalKit's own for plain TSVs, and whatever a user's `build_prompt` returns."""

import string
from collections.abc import Mapping
from typing import Any

from ...core import EMPTY, DataError, Message, Prompt, Sample, TemplateError, Text
from ...datasets.declared_fetch import fetch_declared
from ...datasets.tsv_images import is_blank
from ...templates.message_lists import SUFFIX_KINDS, message_turns
from .kinds import Kind
from .loading import parameters_of
from .places import data_root
from .rows import LineRow
from .session import session

SELECT = "Please select the correct answer from the options above. \n"


def question_with_options(row: Mapping[str, Any]) -> str:
    """Hint, question, options and the request to select one, as VLMEvalKit words them."""
    lines = [] if is_blank(row.get("hint")) else [f"Hint: {row['hint']}"]
    lines.append(f"Question: {row['question']}")
    options = options_of(row)
    if options:
        lines.append("Options:")
        lines += [f"{letter}. {text}" for letter, text in options.items()]
        return "\n".join([*lines, SELECT])
    return "\n".join(lines)


def options_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The options of a row by their letters; empty cells are none."""
    return {letter: str(row[letter]) for letter in string.ascii_uppercase if not is_blank(row.get(letter))}


class TsvPrompt:
    """The prompt of a plain TSV's row: its pictures, then its question."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.source = f"vlmeval {kind}"

    def __call__(self, sample: Sample) -> Prompt:
        text = question_with_options(sample.fields) if self.kind == "MCQ" else str(sample.fields["question"])
        return checked(Prompt((Message("user", (*sample.media, Text(text))),)), sample)  # type: ignore[arg-type]


class GuestPrompt:
    """The prompt that a user's `build_prompt` makes of a line."""

    def __init__(self, dataset: Any, name: str, code: str) -> None:
        self._dataset = dataset
        self._name = name
        self._takes_dataset = "dataset" in parameters_of(dataset.build_prompt)
        self.source = f"vlmeval {name} {code}"
        """What prompts depend on: the name and the digest of the user's file."""

    def __repr__(self) -> str:
        return f"{type(self._dataset).__name__}.build_prompt"

    def __call__(self, sample: Sample) -> Prompt:
        row = sample.fields
        line = row.line if isinstance(row, LineRow) else row
        if self._takes_dataset:
            made = self._dataset.build_prompt(line, dataset=self._name)
        else:
            made = self._dataset.build_prompt(line)
        known = row.source.dumped if isinstance(row, LineRow) else EMPTY
        return checked(Prompt(message_turns(made, fetched, known)), sample)


def checked(prompt: Prompt, sample: Sample) -> Prompt:
    """A prompt whose media can be read; one that cannot is the fault of its row, found before anybody is asked."""
    try:
        for medium in prompt.media:
            _ = medium.digest
    except DataError as error:
        where = f"sample {sample.id!r}, {error.where or 'image'}"
        raise TemplateError(error.what, where=where, fix=error.fix) from error
    return prompt


def fetched(url: str) -> Any:
    """The file behind a URL in a prompt, under `$LMUData/files`."""
    import hashlib
    import os
    from urllib.parse import urlsplit

    suffix = os.path.splitext(urlsplit(url).path)[1].lower()
    name = hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()
    path = data_root() / "files" / f"{name}{suffix if suffix in SUFFIX_KINDS else ''}"
    return fetch_declared(url, path, allow_private=session.allow_private_urls)
