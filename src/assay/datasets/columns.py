"""Columns: which column of a row is the question, which the answer, which the options.

Names are matched by convention, or said outright: `columns={"input": "q", "target": "gold", "choices": "A,B,C",
"image": "photo"}`; an empty name says that there is none. A column named for one part is guessed for no other: with
`target=text` the text is not the question too. The mapping is worked out once for each set of columns and then only
applied.

`answer` among them names no column: it says how numbers in the column of the right option are read, `answer=text` or
`answer=index` (from 0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..core import EMPTY, Media, Message, PlanError, Sample, UsageError, nearest
from .cells import Source, as_input, as_name, as_target, dialogue_of, is_missing
from .choices import LETTERS, Way, letter_of, options_from_cells, options_of, way_of
from .faults import RowFault
from .media import KINDS, column_list, media_columns, media_of, within_reach
from .reach import Reach

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
    "messages": ("messages", "conversation"),
    "turns": ("turns",),
    "group": (),
    "cluster": (),
}
ANSWER = "answer"
"""The setting that says how numbers in the column of the right option are read."""
WAYS = ("text", "index")
PARTS = (*CONVENTION, *KINDS, ANSWER)
LISTED = frozenset({"choices", *KINDS})
"""Parts that several columns may play, named with commas between."""
INDEX_COLUMNS = frozenset({"label", "answer_index", "answer_idx", "gold"})
"""Columns in which digits are an option's number, not its text."""
CONTINUATIONS = frozenset({"completion", "continuation"})
ANYWHERE = Reach()
"""Of rows made by the user's own code."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The parts that rows with one set of columns play; built by `find_columns`."""

    names: tuple[str, ...]
    id: str | None = None
    input: str | None = None
    target: str | None = None
    choices: str | None = None
    option_cells: tuple[str, ...] = ()
    messages: str | None = None
    turns: str | None = None
    media: tuple[tuple[str, type[Media]], ...] = ()
    tags: tuple[str, ...] = ()
    group: str | None = None
    cluster: str | None = None
    is_index: bool | None = None
    """Whether a number in the column of the right option counts options from 0, or is one's text; `None`: not said."""
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    """By column that was found by its name: others of the same part, for rows in which its cell is empty."""
    lacking: tuple[str, ...] = ()
    """Columns that were asked for and are not there: each row with these columns is faulty."""
    plain: bool = False
    """Only text in, text out: rows take the short way."""
    source: Source = "file"

    @property
    def kind(self) -> Kind:
        """What a task over such rows looks like."""
        if self.messages or self.turns:
            return "dialogue"
        if self.choices or self.option_cells:
            return "choice"
        if self.input is None:
            return (
                "qa" if self.media else "unknown"
            )  # an image or a recording may be all that is asked
        return (
            "completion"
            if self.target is None or self.target in CONTINUATIONS
            else "qa"
        )

    def sample(
        self, row: Mapping[str, Any], sample_id: str, reach: Reach = ANYWHERE
    ) -> Sample:
        """A row as a sample; raises `RowFault`."""
        if self.plain:
            text, gold = row[self.input], row[self.target]  # type: ignore[index]
            if type(text) is str and type(gold) is str and gold:
                return Sample(sample_id, text, gold, (), row, (), EMPTY)
        return self._sample(row, sample_id, reach)

    def _sample(self, row: Mapping[str, Any], sample_id: str, reach: Reach) -> Sample:
        if self.lacking:
            raise RowFault(
                f"column {self.lacking[0]!r} is missing",
                column=self.lacking[0],
                got=sorted(row)[:8],
            )
        column = self._filled(row, self.target)
        target = None if column is None else row[column]
        choices, labels = self._options(row)
        if choices and not is_missing(target):
            target = letter_of(
                target,
                choices,
                labels,
                column or "",
                is_index=self._reads_index(column or ""),
            )
        else:
            target = as_target(target, self.source)
        turns: tuple[Any, ...] = ()
        question_text: str | tuple[Message, ...] = ""
        if self.messages is not None or self.turns is not None:
            question_text, turns, spoken = dialogue_of(row, self.messages, self.turns)
            target = spoken if target is None else target
        elif self.input is not None:
            question = self._filled(row, self.input) or self.input
            question_text = as_input(row[question], question)
        if not isinstance(question_text, str):
            question_text = within_reach(
                question_text, self.messages or self.turns or self.input or "", reach
            )
        media = media_of(row, self.media, reach) if self.media else ()
        if self.media and not media and not question_text:
            column, kind = self.media[0]
            raise RowFault(
                f"the row has no {kind.kind} and no question",
                column=column,
                fix="fill the cell, or leave the row out",
            )
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
        )

    def _filled(self, row: Mapping[str, Any], column: str | None) -> str | None:
        """The column that holds a part of this row: an empty one loses to another of the same part that is filled."""
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

    def _is_empty(self, cell: Any) -> bool:
        return is_missing(cell) or (cell == "" and self.source == "table")

    def _reads_index(self, column: str) -> bool | None:
        """`is_index` as somebody said it; else as the column says it that holds the answer of a row."""
        is_said = self.is_index != _counts_options(self.target or "")
        return self.is_index if is_said else _counts_options(column)

    def way_of(self, row: Mapping[str, Any]) -> Way | None:
        """How a row shows that numbers among the right answers are read; `None` where it does not tell."""
        try:
            column = self._filled(row, self.target)
            gold = None if column is None else row.get(column)
            choices, labels = self._options(row)
        except (KeyError, RowFault):
            return None
        golds = gold if isinstance(gold, (list, tuple)) else (gold,)
        ways = {way_of(one, choices, labels) for one in golds} if choices else set()
        return ways.pop() if len(ways) == 1 else None

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
        """Whether a row without options is a question of its own: its right answer is not the letter of one."""
        gold = None if self.target is None else row[self.target]
        return not (isinstance(gold, str) and len(gold) == 1 and gold in LETTERS)


def tags_of(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """The breakdowns of a row; one whose cell is empty is left out."""
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
    """The parts the columns play. `needed` is the mapping of the first rows: what it has, these must have too."""
    claimed = _named_outright(names, settings)
    unclaimed = [name for name in names if name not in claimed]
    folded = {name.lower(): name for name in reversed(unclaimed)}
    parts = _single_columns(settings, folded)
    lacking = [
        wanted
        for part in parts
        if (wanted := settings.get(part)) and wanted not in names
    ]
    if cluster:
        parts["cluster"] = cluster
    lacking += [
        name for name in (*tags, *([cluster] if cluster else ())) if name not in names
    ]
    parts["choices"], parts["option_cells"], absent = _find_choices(
        names, unclaimed, settings.get("choices")
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
    instead = {
        parts[part]: others
        for part in ("input", "target")
        if part not in settings and parts[part]
        for others in [
            tuple(
                folded[name]
                for name in CONVENTION[part]
                if name in folded and folded[name] not in busy
            )
        ]
        if others
    }
    is_index = _counts_options(parts["target"] or "")
    more = [
        parts[part]
        for part in ("choices", "option_cells", "messages", "turns", "group", "cluster")
    ]
    plain = None not in (parts["input"], parts["target"]) and not any(
        (media, tags, lacking, *more)
    )
    return Columns(
        tuple(names),
        media=media,
        tags=tuple(tags),
        is_index=settings[ANSWER] == "index" if ANSWER in settings else is_index,
        lacking=tuple(lacking),
        instead=instead,
        plain=plain,
        source=source,
        **parts,
    )


def _single_columns(
    settings: Mapping[str, str], folded: Mapping[str, str]
) -> dict[str, Any]:
    """The column of each part that one column plays: as named, or as convention has it."""
    usual = {
        part: next((folded[one] for one in names if one in folded), None)
        for part, names in CONVENTION.items()
    }
    return {
        part: (settings[part] or None) if part in settings else usual[part]
        for part in usual
        if part != "choices"
    }


def _counts_options(column: str) -> bool | None:
    """Whether digits in a column are an option's number, by the column's name; `None` where it does not say."""
    return (
        True
        if column.lower() in INDEX_COLUMNS or column.lower().endswith("_index")
        else None
    )


def _named_outright(
    names: Sequence[str], settings: Mapping[str, str]
) -> frozenset[str]:
    """The columns that settings name for a part of the prompt or for the target; a breakdown may share its column."""
    parts = (
        (part, name)
        for part, name in settings.items()
        if part not in (ANSWER, "group", "cluster")
    )
    listed = (
        [name] if part not in LISTED else column_list(name, names)
        for part, name in parts
    )
    return frozenset(name for several in listed for name in several)


def _find_choices(
    names: Sequence[str], unclaimed: Sequence[str], setting: str | None
) -> tuple[str | None, tuple[str, ...], list[str]]:
    """The column with a list of options, or the columns with one option each, and those that are not there."""
    if setting is not None:
        wanted = column_list(setting, names)
        absent = [name for name in wanted if name not in names]
        return (
            (wanted[0], (), absent)
            if len(wanted) == 1
            else (None, tuple(wanted), absent)
        )
    folded = {name.lower(): name for name in reversed(unclaimed)}
    listed = next(
        (folded[name] for name in CONVENTION["choices"] if name in folded), None
    )
    if listed is not None:
        return listed, (), []
    count = next(
        (place for place, letter in enumerate(LETTERS) if letter not in unclaimed),
        len(LETTERS),
    )
    return None, tuple(LETTERS[:count]) if count >= 2 else (), []


def check_given(
    settings: Mapping[str, str],
    required: Sequence[str],
    columns: Sequence[str],
    where: str,
) -> None:
    """Raises for parts that do not exist and for columns that no row has, all of them at once."""
    faults: list[UsageError] = []
    wanted = [*required]
    for part, name in settings.items():
        if part == ANSWER:
            if name not in WAYS:
                fix = f"text or index, how numbers are read; target={name} names the column"
                faults.append(
                    UsageError(
                        f"columns: answer is {name!r}", where=where or None, fix=fix
                    )
                )
        elif part not in PARTS:
            close = nearest(part, PARTS)
            fix = f"did you mean {close!r}?" if close else f"parts: {', '.join(PARTS)}"
            faults.append(
                UsageError(
                    f"columns: unknown part {part!r}", where=where or None, fix=fix
                )
            )
        else:
            wanted += (
                column_list(name, columns) if part in LISTED else [name] if name else []
            )
    for name in dict.fromkeys(wanted):
        if name not in columns:
            close = nearest(name, columns)
            hint = f"did you mean {close!r}? " if close else ""
            fix = f"{hint}columns: {', '.join(columns)}"
            faults.append(
                UsageError(f"there is no column {name!r}", where=where or None, fix=fix)
            )
    if faults:
        raise faults[0] if len(faults) == 1 else PlanError(faults)
