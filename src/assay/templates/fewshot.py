"""Few-shot prompts: solved examples before the question.

Every question is asked whatever the number of shots, the question itself (or its equal) is never among its shots, and
the ids of the shots stand in `Prompt.details["shots"]`. Equal are prompts that differ in blanks or in the order of the
options only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import (
    Fewshot,
    Message,
    Part,
    Prompt,
    Sample,
    TemplateError,
    Text,
    UsageError,
    blame,
    has_free_roles,
    shorten,
)
from .build import build_template
from .built import BuiltTemplate, held, join_parts, split_head
from .pick import Order, check_pick, generator_for, in_order

BETWEEN_EXAMPLES = "\n\n"


def apply_fewshot(
    template: Any,
    fewshot: Fewshot,
    pool: Sequence[Sample],
    *,
    own_data: bool | None = None,
    where: str = "fewshot",
) -> Callable[[Sample], Prompt]:
    """The template with solved examples before its question.

    `own_data` says that the questions themselves lie in the pool (by default: when the settings name neither source
    nor split); then equal ids mean the same sample, while ids of another split may be equal by chance.
    """
    base = (
        template
        if isinstance(template, BuiltTemplate)
        else build_template(template, where=where)
    )
    is_own = (
        fewshot.source is None and fewshot.split is None
        if own_data is None
        else own_data
    )
    shelf = _Shelf(pool, base, fewshot, is_own, where)
    return FewshotTemplate(base, shelf, fewshot.multiturn) if shelf.num else base


class FewshotTemplate:
    """A template that shows solved examples first."""

    def __init__(self, base: BuiltTemplate, shelf: "_Shelf", multiturn: bool) -> None:
        self._base = base
        self._shelf = shelf
        self._multiturn = multiturn
        self.name = base.name
        self.next_turn = base.next_turn
        self.hold = base.hold
        self.source = "\n".join([base.source, f"multiturn={multiturn}", shelf.source])
        self._lacking: set[str] = set()

    def __call__(self, sample: Sample) -> Prompt:
        """The prompt of one sample, with the ids of its shots in the details."""
        prompt = self._base.bare(sample)
        shots = self._shelf.shots(sample, prompt)
        head, body = split_head(prompt.messages)
        messages = _compose(shots, body, self._multiturn)
        details = {**prompt.details, "shots": [shot.id for shot in shots]}
        lacking = self._shelf.num - len(shots)
        if lacking:
            details["shots_lacking"] = lacking
            self._lacking.add(sample.id)
        whole = held(
            replace(prompt, messages=(*head, *messages), details=details), self.hold
        )
        return self._base.finish(whole)

    def notes(self) -> Iterator[str]:
        """What whoever reads the numbers should know of the prompts made so far."""
        if self._lacking:
            count = len(self._lacking)
            were = "sample was" if count == 1 else "samples were"
            fewer = f"fewer than {self._shelf.num} shots"
            yield f"{count} {were} asked with {fewer}: the others of the pool ask the same question"


@dataclass(frozen=True)
class Shot:
    """One solved example."""

    id: str
    asks: "Asked"
    """What its question asks."""
    solved: tuple[Message, ...]


class _Shelf:
    """A pool, ready to be picked from; examples are rendered once, when they are first shown."""

    def __init__(
        self,
        pool: Sequence[Sample],
        template: BuiltTemplate,
        fewshot: Fewshot,
        is_own: bool,
        where: str,
    ) -> None:
        self.num = fewshot.num
        self._samples = pool
        self._template = template
        self._is_own = is_own
        self._seed = fewshot.seed
        self._pick, self._same = _split_pick(fewshot.pick, where)
        self._groups = _grouped(pool, self._same)
        self._orders: dict[str, Order] = {}
        self._shots: dict[str, dict[int, Shot]] = {key: {} for key in self._groups}
        self._check(where)
        ids = [sample.id for sample in pool]
        self.source = f" num={self.num} pick={_pick_name(fewshot.pick)} seed={self._seed} {ids!r}\n{template.source}"

    def _check(self, where: str) -> None:
        if self.num < 0:
            raise UsageError(
                f"{self.num} shots", where=where, fix="the number of shots is 0 or more"
            )
        if not self.num:
            return
        needed = self.num + 1 if self._is_own else self.num
        if not self._samples:
            raise UsageError(
                f"{self.num} shots are wanted, but the pool is empty",
                where=where,
                fix="check its source",
            )
        for key, samples in self._groups.items():
            if len(samples) < needed:
                of = f" of {self._same} {key!r}" if self._same else ""
                besides = " beside the question" if self._is_own else ""
                raise UsageError(
                    f"{self.num} shots are wanted{besides}, but the pool has only {len(samples)} samples{of}",
                    where=where,
                    fix=f"use at most {max(0, len(samples) - (needed - self.num))} shots, or a larger pool",
                )
        for sample in () if self._template.solves_itself else self._samples:
            if sample.turns:
                # Only the last answer of a dialogue is known; those between, which lead to it, are not.
                raise UsageError(
                    f"sample {shorten(sample.id)} of the pool is a dialogue of {1 + len(sample.turns)} turns, "
                    "of which a shot could show only the first and the last answer",
                    where=where,
                    fix="leave the shots out, or take them from rows of one question (--fewshot_data FILE)",
                )
            try:
                self._template.answer(sample)
            except TemplateError as error:
                what = f"a sample of the pool cannot be shown solved: {error.where}: {error.what}"
                raise UsageError(what, where=where, fix=error.fix) from error

    def shots(self, sample: Sample, prompt: Prompt) -> list[Shot]:
        """The shots of one question: fewer than asked for only where all the rest equal the question."""
        key = _value_of(sample, self._same)
        pool = self._groups.get(key)
        if pool is None:
            raise TemplateError(
                f"the pool of shots has no sample of {self._same} {key!r}",
                where=f"sample {shorten(sample.id)}",
            )
        question = asked(split_head(prompt.messages)[1])
        if callable(self._pick):
            return self._picked_by_user(sample, question, key, pool)
        if key not in self._orders:
            self._orders[key] = in_order(pool, self._pick, seed=self._seed)
        shots: list[Shot] = []
        for place in self._orders[key](sample):
            if self._may_show(sample, question, key, place):
                shots.append(self._shot(key, place))
                if len(shots) == self.num:
                    break
        return shots

    def _picked_by_user(
        self, sample: Sample, question: "Asked", key: str, pool: Sequence[Sample]
    ) -> list[Shot]:
        places = [
            place
            for place in range(len(pool))
            if self._may_show(sample, question, key, place)
        ]
        allowed = {id(pool[place]): place for place in places}
        rng = generator_for(self._seed, sample.id)
        with blame(
            TemplateError, f"few-shot pick {_pick_name(self._pick)!r}", sample.id
        ):
            chosen = list(
                self._pick(sample, [pool[place] for place in places], self.num, rng)
            )
        if len(chosen) != min(self.num, len(places)) or not all(
            id(shot) in allowed for shot in chosen
        ):
            raise TemplateError(
                f"the function that picks shots must return {self.num} samples of the pool it was given,"
                f" not {shorten(chosen)}",
                where=f"few-shot pick {_pick_name(self._pick)!r}, sample {shorten(sample.id)}",
            )
        return [self._shot(key, allowed[id(shot)]) for shot in chosen]

    def _may_show(
        self, sample: Sample, question: "Asked", key: str, place: int
    ) -> bool:
        """Whether an example is neither the question itself, nor its equal, nor judged together with it."""
        candidate = self._groups[key][place]
        if candidate is sample:
            return False
        if self._is_own and (
            candidate.id == sample.id or _same_group(candidate, sample)
        ):
            return False
        if self._shot(key, place).asks == question:
            return False
        if candidate.choices == sample.choices or _options(candidate) != _options(
            sample
        ):
            return True
        # The same options, in another order or with other blanks: asked as the question asks them, is it the question?
        return self._asks(replace(candidate, choices=sample.choices)) != question

    def _asks(self, sample: Sample) -> "Asked":
        return asked(split_head(self._template.bare(sample).messages)[1])

    def _shot(self, key: str, place: int) -> Shot:
        shot = self._shots[key].get(place)
        if shot is None:
            sample = self._groups[key][place]
            shot = self._shots[key][place] = Shot(
                sample.id, self._asks(sample), self._template.solved(sample)
            )
        return shot


Asked = tuple[tuple[str, tuple[Any, ...]], ...]
"""Turns by which two questions are compared."""


def asked(messages: Iterable[Message]) -> Asked:
    """Turns with their blanks folded: a space or a line end more does not make another question."""
    return tuple(
        (
            message.role,
            tuple(
                _folded(part.text) if isinstance(part, Text) else part
                for part in message.parts or ()
            ),
        )
        for message in messages
    )


def _compose(
    shots: Sequence[Shot], body: tuple[Message, ...], multiturn: bool
) -> tuple[Message, ...]:
    """Shots and question as turns; as one text where the prompt is a completion or one text was asked for.

    Free roles are turns even then: they are written out as text when they are sent.
    """
    is_completion = all(message.role == "" for message in body)
    is_text = is_completion or any(len(shot.solved) == 1 for shot in shots)
    if not is_text and (multiturn or has_free_roles(body)):
        return (*(message for shot in shots for message in shot.solved), *body)
    parts: tuple[Part, ...] = ()
    for shot in shots:
        parts = join_parts(parts, _flat(shot.solved), separator=BETWEEN_EXAMPLES)
    first = body[0]
    return (
        Message(
            first.role, join_parts(parts, first.parts or (), separator=BETWEEN_EXAMPLES)
        ),
        *body[1:],
    )


def _flat(solved: Iterable[Message]) -> tuple[Part, ...]:
    """A solved example as one run of parts; the answer goes on after a colon, else on a line of its own."""
    flat: tuple[Part, ...] = ()
    for message in solved:
        last = flat[-1] if flat else None
        is_open = isinstance(last, Text) and last.text.endswith(":")
        flat = join_parts(flat, message.parts or (), separator=" " if is_open else "\n")
    return flat


def _split_pick(pick: Any, where: str) -> tuple[Any, str | None]:
    """The way of picking and, for `{name: random, same: subject}`, the column shots share with the question."""
    same = None
    if isinstance(pick, Mapping):
        unknown = [key for key in pick if key not in ("name", "same")]
        if unknown:
            raise UsageError(
                f"`pick` has no {unknown[0]!r}",
                where=where,
                fix="its keys are name and same",
            )
        pick, same = pick.get("name", "random"), pick.get("same")
    check_pick(pick, where)
    return pick, same


def _pick_name(pick: Any) -> str:
    return getattr(pick, "__name__", str(pick))


def _grouped(
    samples: Sequence[Sample], column: str | None
) -> dict[str, Sequence[Sample]]:
    if column is None:
        return {"": samples}
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(_value_of(sample, column), []).append(sample)
    return dict(groups)


def _value_of(sample: Sample, column: str | None) -> str:
    if column is None:
        return ""
    return str(
        sample.tags[column] if column in sample.tags else sample.fields.get(column)
    )


def _same_group(one: Sample, other: Sample) -> bool:
    return one.group is not None and one.group == other.group


def _options(sample: Sample) -> list[str]:
    return sorted(map(_folded, sample.choices))


def _folded(text: str) -> str:
    return " ".join(text.split())
