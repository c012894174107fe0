"""Columns: which column of a row has the question, which the answer, which the options.

The part of a sample that a column provides is called its role. Columns are matched by
their usual names, or named by the user: `columns={"input": "q", "target": "gold",
"choices": "A,B,C", "image": "photo"}`. An empty name means that the column does not
exist. A column that the user names for one role is never guessed for another: with
`target=text` the column `text` is not also the question. The mapping is computed once
for each set of columns.

The key `answer` names no column. It defines how right answers are read: `answer=text`, `answer=letter`, `answer=index`
(from 0) or `answer=number` (from 1).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..core import EMPTY, Media, Message, PlanError, Sample, Tool, UsageError, nearest
from .cells import (
    Source,
    as_input,
    as_name,
    as_target,
    as_weight,
    dialogue_of,
    is_missing,
    tools_of,
)
from .choices import (
    LETTERS,
    WAYS,
    Way,
    letter_of,
    options_from_cells,
    options_of,
    readings,
)
from .faults import RowFault
from .reach import Reach
from .row_media import KINDS, column_list, media_columns, media_of, within_reach

Kind = Literal["choice", "mixed", "qa", "completion", "dialogue", "unknown"]

CONVENTION: dict[str, tuple[str, ...]] = {
    "id": ("index", "key", "id", "idx", "question_id", "sample_id", "uid"),
    "input": ("question", "prompt", "input", "text", "problem", "query", "instruction"),
    "target": (
        "answer",
        "target",
        "reference",
        "label",
        "answers",
        "targets",
        "references",
        "gold",
        "ground_truth",
        "completion",
        "continuation",
        "answer_index",
        "answer_idx",
        "transcription",
        "transcript",
    ),
    "choices": ("options", "choices"),
    "messages": ("messages", "conversation", "conversations", "contents"),
    "turns": ("turns",),
    "tools": ("tools", "functions"),
    "group": (),
    "cluster": (),
    "weight": (),
}
ANSWER = "answer"
"""The setting that says how to read the right option: as text, letter, index or number."""
OPTION_PREFIXES = ("option", "choice", "opt", "op")
# option_a, optionA, "Option A", choice_b, opa
OPTION_COLUMN = re.compile(
    rf"(?P<prefix>{'|'.join(OPTION_PREFIXES)})[ _-]?(?P<letter>[a-z])", re.IGNORECASE
)
"""A pattern for the names of columns with one option each, such as `option_a`."""
PARTS = (*CONVENTION, *KINDS, ANSWER)
LISTED = frozenset({"choices", *KINDS})
"""Roles for which several columns may be named, separated by commas."""
INDEX_COLUMNS = frozenset({"label", "answer_index", "answer_idx", "gold"})
"""Target columns in which a digit is the index of an option, not the option's text."""
CONTINUATIONS = frozenset({"completion", "continuation"})
"""Target columns whose text continues the prompt: `{"prompt": "The sky is", "completion": " blue"}`."""
QUESTIONS = frozenset({"question", "problem", "query", "instruction"})
"""Columns that always contain a question, even in rows that also have a continuation column."""
PLAIN_TEXT = frozenset({"text"})
"""Input columns whose text the model continues, in rows without a target."""
ANYWHERE = Reach()
"""Allows all files. Used for rows that the user's own code built."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The column mapping: which column has which role, for all rows with the same
    columns.

    `find_columns` builds it.
    """

    names: tuple[str, ...]
    id: str | None = None
    input: str | None = None
    target: str | None = None
    choices: str | None = None
    option_cells: tuple[str, ...] = ()
    is_numbered: bool = False
    """True if the options are in columns that are numbered from 1, such as option1, option2."""
    messages: str | None = None
    turns: str | None = None
    tools: str | None = None
    """The column with the tools that the model may call."""
    media: tuple[tuple[str, type[Media]], ...] = ()
    tags: tuple[str, ...] = ()
    group: str | None = None
    cluster: str | None = None
    weight: str | None = None
    """The column with the weight of a row. Used only if the user names it."""
    answer: Way | None = None
    """How to read an ambiguous right answer, as decided by the setting or by other rows."""
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    """Fallback columns: for a column matched by name, other columns that can have its
    role.

    They are used in rows in which the matched column is empty.
    """
    lacking: tuple[str, ...] = ()
    """Columns that the user requested but that do not exist. Every row with this mapping is faulty."""
    plain: bool = False
    """True if rows have only a text input and a text target, which `sample` handles in a faster way."""
    source: Source = "file"

    @property
    def kind(self) -> Kind:
        """The kind of task that these columns suggest, such as `choice` or `qa`."""
        if self.messages or self.turns:
            return "dialogue"
        if self.choices or self.option_cells:
            return "choice"
        if self.input is None:
            return (
                "qa" if self.media else "unknown"
            )  # An image or a recording may be the whole question.
        if self.media:
            return "qa"  # Media need a user turn: a plain completion cannot carry them.
        if self.input in PLAIN_TEXT and self.target is None:
            return "completion"
        if self.input not in QUESTIONS and self.target in CONTINUATIONS:
            return "completion"
        return "qa"

    def sample(
        self,
        row: Mapping[str, Any],
        sample_id: str,
        reach: Reach = ANYWHERE,
    ) -> Sample:
        """Return the row as a sample. Raise `RowFault` if the row cannot be used."""
        if self.plain:
            text = row[self.input]  # type: ignore[index]
            gold = row[self.target]  # type: ignore[index]
            is_plain_text = type(text) is str and type(gold) is str
            if is_plain_text and gold:
                return Sample(sample_id, text, gold, (), row, (), EMPTY)
        return self._sample(row, sample_id, reach)

    def _sample(
        self,
        row: Mapping[str, Any],
        sample_id: str,
        reach: Reach,
    ) -> Sample:
        if self.lacking:
            raise RowFault(
                f"column {self.lacking[0]!r} is missing",
                column=self.lacking[0],
                got=sorted(row)[:8],
            )
        column = self._filled_column(row, self.target)
        if column is None:
            target = None
        else:
            target = row[column]
        choices, labels = self._options(row)
        if choices and not is_missing(target):
            target = letter_of(
                target,
                choices,
                labels,
                column or "",
                self._ways_in(column or ""),
                is_numbered=self.is_numbered,
            )
        else:
            target = as_target(target, self.source)
        turns: tuple[Any, ...] = ()
        question_text: str | tuple[Message, ...] = ""
        if self.messages is not None or self.turns is not None:
            question_text, turns, reference = dialogue_of(
                row,
                self.messages,
                self.turns,
            )
            target = reference if target is None else _last_reference(target, turns)
        elif self.input is not None:
            question = self._filled_column(row, self.input) or self.input
            question_text = as_input(row[question], question)
        if not isinstance(question_text, str):
            question_text = within_reach(
                question_text,
                self.messages or self.turns or self.input or "",
                reach,
            )
        if self.media:
            media = media_of(row, self.media, reach)
        else:
            media = ()
        if self.media and not media and not question_text:
            column, kind = self.media[0]
            raise RowFault(
                f"the row has no {kind.kind} and no question",
                column=column,
                fix="fill the cell, or leave the row out",
            )
        tools: tuple[Tool, ...] = ()
        if self.tools is not None:
            is_required = self.messages is not None
            tools = tools_of(row[self.tools], self.tools, is_required=is_required)
        return Sample(
            sample_id,
            question_text,
            target,
            choices,
            row,
            media,
            tags_of(row, self.tags) if self.tags else EMPTY,
            None if self.group is None else as_name(row[self.group]),
            None if self.cluster is None else as_name(row[self.cluster]),
            turns,
            None if self.weight is None else as_weight(row[self.weight], self.weight),
            tools,
        )

    def for_row(self, row: Mapping[str, Any]) -> "Columns":
        """Return the mapping for this row. If the target column is empty in the row, a
        fallback column replaces it.
        """
        target = self._filled_column(row, self.target)
        if target == self.target:
            return self
        return replace(self, target=target)

    def _filled_column(
        self,
        row: Mapping[str, Any],
        column: str | None,
    ) -> str | None:
        """Return `column`, or a fallback column if the cell of `column` is empty in this row."""
        if (
            column is None
            or column not in self.instead
            or not self._is_empty(row[column])
        ):
            return column
        return next(
            (
                other
                for other in self.instead[column]
                if not self._is_empty(row.get(other))
            ),
            column,
        )

    def _is_empty(self, cell: object) -> bool:
        return is_missing(cell) or (cell == "" and self.source == "table")

    def _ways_in(self, column: str) -> tuple[Way, ...]:
        """Return the preferred ways to read right answers in a column, best first.
        Empty without a preference.

        The `answer` setting comes first. Without it, columns such as `label` or
        `answer_index` are read as an index, unless the options are in columns numbered
        from 1.
        """
        if self.answer is not None:
            return (self.answer, *WAYS)
        if _counts_options(column) and not self.is_numbered:
            return ("index",)
        return ()

    def way_of(self, row: Mapping[str, Any]) -> Way | None:
        """Return the way to read this row's right answer if only one is possible, otherwise None."""
        try:
            column = self._filled_column(row, self.target)
            if column is None:
                return None
            gold = row.get(column)
            choices, labels = self._options(row)
        except (KeyError, RowFault):
            return None
        golds = gold if isinstance(gold, (list, tuple)) else (gold,)
        ways: set[Way] = set()
        for value in golds:
            possible = readings(value, choices, labels, is_numbered=self.is_numbered)
            if len(possible) == 1:
                ways.update(possible)
        if len(ways) == 1:
            return ways.pop()
        return None

    def _options(
        self, row: Mapping[str, Any]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self.option_cells:
            has_none = all(
                is_missing(row.get(cell)) or row.get(cell) == ""
                for cell in self.option_cells
            )
            return () if has_none and self._is_open(row) else options_from_cells(
                row, self.option_cells
            ), ()
        if (
            self.choices is None
            or is_missing(row[self.choices])
            or (row[self.choices] == "" and self._is_open(row))
        ):
            return (), ()
        return options_of(row[self.choices], self.choices)

    def _is_open(self, row: Mapping[str, Any]) -> bool:
        """Return True if a row without options is an open question: its right answer is more than a single letter."""
        if self.target is None:
            gold = None
        else:
            gold = row[self.target]
        return not (isinstance(gold, str) and len(gold) == 1 and gold in LETTERS)


def _last_reference(target: Any, turns: Sequence[object]) -> object:
    """Return the reference of the last round.

    If the target is a list with a reference for each round, this is its last item,
    otherwise the target itself.
    """
    rounds = 1 + len(turns)
    has_one_each = isinstance(target, (list, tuple)) and len(target) == rounds
    if rounds > 1 and has_one_each:
        return target[-1]
    return target


def tags_of(
    row: Mapping[str, Any],
    names: Sequence[str],
) -> dict[str, str]:
    """Return the non-empty values by which results are broken down: `{"subject": "law"}`."""
    named = {name: as_name(row[name]) for name in names}
    return {name: value for name, value in named.items() if value is not None}


def find_columns(
    names: Sequence[str],
    settings: Mapping[str, str],
    tags: Sequence[str] = (),
    cluster: str | None = None,
    needed: "Columns | None" = None,
    source: Source = "file",
) -> Columns:
    """Find the column for each role of a sample.

    `needed` is the mapping of the dataset's first rows. If it has a column for the
    input or the target, the returned mapping must have one too.
    """
    claimed = _columns_in_settings(names, settings)
    unclaimed = [name for name in names if name not in claimed]
    folded = {name.lower(): name for name in reversed(unclaimed)}
    parts = _single_columns(settings, folded)
    has_question = parts["input"] is not None and "messages" not in settings
    if has_question and (parts["messages"] or "").lower() == "conversations":
        parts["messages"] = None  # data of other kinds use this name beside a question
    lacking = [
        requested
        for part in parts
        if (requested := settings.get(part)) and requested not in names
    ]
    if cluster:
        parts["cluster"] = cluster
    lacking += [
        name for name in (*tags, *([cluster] if cluster else ())) if name not in names
    ]
    parts["choices"], parts["option_cells"], absent = _find_choices(
        names,
        unclaimed,
        settings.get("choices"),
    )
    lacking += absent
    if needed is not None:
        for part in ("input", "target"):
            before = getattr(needed, part)
            if (
                before
                and parts[part] is None
                and not (part == "input" and (parts["messages"] or parts["turns"]))
            ):
                lacking.append(before)
    media, absent = media_columns(names, settings, unclaimed)
    lacking += absent
    busy = {
        *(parts[part] for part in parts if isinstance(parts[part], str)),
        *(name for name, _ in media),
        *tags,
    }
    instead = {}
    for part in ("input", "target"):
        if part in settings or not parts[part]:
            continue
        candidates = [folded[name] for name in CONVENTION[part] if name in folded]
        others = tuple(name for name in candidates if name not in busy)
        if others:
            instead[parts[part]] = others
    answer = settings.get(ANSWER)
    is_numbered = bool(parts["option_cells"]) and all(
        re.search(rf"(?<!\d)0?{number}\Z", name)
        for number, name in enumerate(parts["option_cells"], 1)
    )
    more = [
        parts[part]
        for part in (
            "choices",
            "option_cells",
            "messages",
            "turns",
            "tools",
            "group",
            "cluster",
            "weight",
        )
    ]
    plain = None not in (parts["input"], parts["target"]) and not any(
        (media, tags, lacking, *more)
    )
    return Columns(
        tuple(names),
        media=media,
        tags=tuple(tags),
        is_numbered=is_numbered,
        answer=next((way for way in WAYS if way == answer), None),
        lacking=tuple(lacking),
        instead=instead,
        plain=plain,
        source=source,
        **parts,
    )


def _single_columns(
    settings: Mapping[str, str],
    folded: Mapping[str, str],
) -> dict[str, Any]:
    """Return the column for each role that has a single column: from the settings, or by its usual name."""
    usual = {
        part: next((folded[name] for name in names if name in folded), None)
        for part, names in CONVENTION.items()
    }
    return {
        part: (settings[part] or None) if part in settings else usual[part]
        for part in usual
        if part != "choices"
    }


def _counts_options(column: str) -> bool:
    """Return True if digits in a column are option indexes, judging by the column's name."""
    return column.lower() in INDEX_COLUMNS or column.lower().endswith("_index")


def _columns_in_settings(
    names: Sequence[str],
    settings: Mapping[str, str],
) -> frozenset[str]:
    """Return the columns that the settings assign to roles.

    Columns for group, cluster and weight are left out, because they may have a second
    role.
    """
    parts = (
        (part, name)
        for part, name in settings.items()
        if part not in (ANSWER, "group", "cluster", "weight")
    )
    listed = (
        [name] if part not in LISTED else column_list(name, names)
        for part, name in parts
    )
    return frozenset(name for several in listed for name in several)


def _find_choices(
    names: Sequence[str],
    unclaimed: Sequence[str],
    setting: str | None,
) -> tuple[str | None, tuple[str, ...], list[str]]:
    """Return the columns of the options, and the missing ones.

    The options are in one column with a list, or in one column each.
    """
    if setting is not None:
        requested = column_list(setting, names)
        absent = [name for name in requested if name not in names]
        if len(requested) == 1:
            return (requested[0], (), absent)
        return (None, tuple(requested), absent)
    folded = {name.lower(): name for name in reversed(unclaimed)}
    listed = next(
        (folded[name] for name in CONVENTION["choices"] if name in folded), None
    )
    if listed is not None:
        return listed, (), []
    return None, _lettered_columns(unclaimed), []


def _lettered_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Return the option columns, such as A, B, C or option_a, option_b; empty if there are fewer than two."""
    families: dict[str, dict[str, str]] = {}
    for name in names:
        match = OPTION_COLUMN.fullmatch(name)
        if match is not None:
            family = families.setdefault(match["prefix"].lower(), {})
            family.setdefault(match["letter"].upper(), name)
    families[""] = {letter: letter for letter in LETTERS if letter in names}
    for prefix in ("", *OPTION_PREFIXES):
        columns = families.get(prefix, {})
        missing = (
            index for index, letter in enumerate(LETTERS) if letter not in columns
        )
        count = next(missing, len(LETTERS))
        if count >= 2:
            return tuple(columns[letter] for letter in LETTERS[:count])
    return ()


def check_given(
    settings: Mapping[str, str],
    required: Sequence[str],
    columns: Sequence[str],
    where: str,
) -> None:
    """Raise a single error that lists all unknown roles, and all named columns that no row has."""
    faults: list[UsageError] = []
    requested = [*required]
    for part, name in settings.items():
        if part == ANSWER:
            if name not in WAYS:
                fix = (
                    f"{', '.join(WAYS)}: how it is read; target={name} names the column"
                )
                faults.append(
                    UsageError(
                        f"columns: answer cannot be {name!r}",
                        where=where or None,
                        fix=fix,
                    )
                )
        elif part not in PARTS:
            close = nearest(part, PARTS)
            if close:
                fix = f"did you mean {close!r}?"
            else:
                fix = f"parts: {', '.join(PARTS)}"
            faults.append(
                UsageError(
                    f"columns: unknown part {part!r}",
                    where=where or None,
                    fix=fix,
                )
            )
        else:
            if part in LISTED:
                requested += column_list(name, columns)
            elif name:
                requested.append(name)
    for name in dict.fromkeys(requested):
        if name not in columns:
            close = nearest(name, columns)
            hint = f"did you mean {close!r}? " if close else ""
            fix = f"{hint}columns: {', '.join(columns)}"
            faults.append(
                UsageError(
                    f"there is no column {name!r}",
                    where=where or None,
                    fix=fix,
                )
            )
    if faults:
        raise faults[0] if len(faults) == 1 else PlanError(faults)
