"""Rows for tasks of other libraries, made up from the columns that a task seems to read."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.dialects.harness.task_index import IndexEntry

ROWS = 8
WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
]


def number_of(text: str) -> int:
    """Return a number that depends on a text alone."""
    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8], 16)


LISTS = {
    "choices", "options", "endings", "distractors", "candidates", "references", "incorrect_answers", "answers",
    "mc_answers", "candidate_answers", "alternatives", "opciones", "option_list", "short_answers", "answer_choices",
    "all_classes", "classes", "evidence", "tags", "ner_tags", "tokens", "instruction_id_list", "facts", "aliases",
    "correct_answers", "sentences", "words", "targets", "kwargs",
}  # fmt: skip
INDICES = {
    "label", "gold", "answer_idx", "answerindex", "gold_index", "correct_answer_idx", "target_idx", "idx", "index",
    "answer_index", "correct", "gold_label", "answer_id", "correct_option", "labels", "cop", "target_label",
    "correct_answer_index", "is_correct", "response_index", "class", "level", "id", "correct_answer_num",
}  # fmt: skip
KINDS = {
    "category",
    "subject",
    "type",
    "domain",
    "country",
    "language",
    "group",
    "medical_specialty",
    "context_condition",
}
ANSWERS = {
    "answer",
    "answerkey",
    "answer_key",
    "correct_answer",
    "target",
    "correct_answer_num",
    "ra",
    "gold",
}
STRATEGIES = (
    "by name",
    "indices as text",
    "answer as index",
    "lists of records",
    "texts",
    "letters",
    "counted from one",
    "lists as text",
    "kinds by name",
    "answers in lists",
    "lists of dictionaries",
    "words as labels",
)
MOST_COLUMNS_ADDED = 16


def value_of(column: str, row: int, strategy: str, kind: str) -> Any:
    """Return a made-up value for a column: its kind is guessed by its name."""
    name = column.lower()
    words = [WORDS[(row + place) % 10] for place in range(4)]
    if strategy == "kinds by name" and name in KINDS:
        return kind
    if strategy == "counted from one" and (name in INDICES or name in ANSWERS):
        return str(row % 2 + 1)
    if strategy == "lists as text" and name in LISTS:
        return repr(words)
    if strategy == "lists of dictionaries" and name in LISTS:
        return [
            {"text": word, "label": "AB"[place % 2]} for place, word in enumerate(words)
        ]
    if strategy == "answers in lists" and name in ANSWERS:
        return words[:1]
    if strategy == "words as labels" and (name in ANSWERS or name in INDICES):
        return words[0]
    if strategy == "lists of records" and name in LISTS:
        return {"text": words, "label": ["A", "B", "C", "D"]}
    if strategy == "texts":
        return f"{WORDS[row % 10]} {column} {row}"
    if name in LISTS:
        return words
    if name in INDICES:
        return str(row % 2) if strategy == "indices as text" else row % 2
    if name in ("answer", "answerkey", "answer_key", "correct_answer", "target"):
        if strategy == "answer as index":
            return row % 2
        return "ABCD"[row % 4] if strategy != "letters" else "abcd"[row % 4]
    blank = " _" if "sentence" in name else ""
    return f"{WORDS[row % 10]} {column}{blank} {row}"


_KEY = re.compile(r"""(?:\[|get\(|\.pop\()\s*["']([A-Za-z_][\w .-]*)["']""")
_NAME = re.compile(r"\b([A-Za-z_]\w*)\b")
_JINJA_WORDS = {
    "if", "else", "endif", "for", "in", "endfor", "range", "not", "and", "or", "is", "set", "elif", "loop", "index",
    "true", "false", "none", "strip", "join", "int", "string", "length", "replace", "trim", "list", "upper", "lower",
    "split", "rstrip", "lstrip", "format", "title", "doc", "item", "choice", "True", "False", "None", "index0",
    "first", "last",
}  # fmt: skip


def columns_of(entry: IndexEntry, config: Mapping[str, Any]) -> set[str]:
    """Return the columns that a task seems to read, in its templates and in its helper modules."""
    columns: set[str] = set()
    for key in (
        "doc_to_text",
        "doc_to_target",
        "doc_to_choice",
        "description",
        "gen_prefix",
    ):
        text = config.get(key)
        if not isinstance(text, str):
            continue
        if "{{" in text or "{%" in text:
            for piece in re.findall(r"\{[{%](.*?)[}%]\}", text, re.S):
                bare = re.sub(r"\"[^\"]*\"|'[^']*'", " ", piece)
                columns |= set(_NAME.findall(bare))
                columns |= set(_KEY.findall(piece))
        elif key != "description" and text.isidentifier():
            columns.add(text)
    modules = {function.rpartition(".")[0] for function in entry.functions}
    for module in modules:
        file = Path(entry.path).parent / f"{module.replace('.', '/')}.py"
        if file.is_file():
            columns |= set(_KEY.findall(file.read_text(encoding="utf-8")))
    return columns - _JINJA_WORDS or {"question", "answer"}


def rows_for(columns: set[str], strategy: str, kind: str) -> list[dict[str, Any]]:
    """Return the made-up rows of a task; `kind` is what tasks of one dataset select rows by."""
    return [
        {column: value_of(column, row, strategy, kind) for column in sorted(columns)}
        for row in range(ROWS)
    ]


_LACKING = re.compile(
    r"^'([\w .#-]+)' is undefined|^'([\w .#-]+)'$|has no attribute '(\w+)'$"
)


def lacking_column(error: Exception) -> str | None:
    """Return the column that made-up rows lack, if that is what an error says."""
    if type(error).__name__ not in ("KeyError", "UndefinedError"):
        return None
    match = _LACKING.match(str(error))
    if match is None:
        return None
    return match[1] or match[2]
