"""Few-shot prompts: solved examples before the question.

Every question may get any number of shots. The question itself, or an equal one, is
never among its shots. The ids of the shots are in `Prompt.details["shots"]`. Questions
that differ only in white space or in the order of the options are equal.
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
from ..core.errors import plural
from .build import build_template
from .built import BuiltTemplate, check_files, join_parts, split_head
from .pick import Order, check_pick, generator_for, in_order

BETWEEN_EXAMPLES = "\n\n"


def apply_fewshot(
    template: object,
    fewshot: Fewshot,
    pool: Sequence[Sample],
    *,
    own_data: bool | None = None,
    where: str = "fewshot",
) -> Callable[[Sample], Prompt]:
    """Return the template with solved examples before its question.

    With `own_data`, the pool contains the questions themselves; this is the default if
    the settings name neither source nor split. Then equal ids are the same sample. In
    another split ids may be equal by chance.
    """
    if isinstance(template, BuiltTemplate):
        base = template
    else:
        base = build_template(template, where=where)
    if own_data is None:
        is_own = fewshot.source is None and fewshot.split is None
    else:
        is_own = own_data
    shot_pool = _ShotPool(pool, base, fewshot, is_own, where)
    if shot_pool.num:
        return FewshotTemplate(base, shot_pool, fewshot.multiturn)
    return base


class FewshotTemplate:
    """A template that shows solved examples first."""

    def __init__(
        self,
        base: BuiltTemplate,
        shot_pool: "_ShotPool",
        multiturn: bool,
    ) -> None:
        self._base = base
        self._shot_pool = shot_pool
        self._multiturn = multiturn
        self.name = base.name
        self.next_turn = base.next_turn
        self.hold = base.hold
        self.source = "\n".join(
            [base.source, f"multiturn={multiturn}", shot_pool.source]
        )
        self._lacking: set[str] = set()

    def __call__(self, sample: Sample) -> Prompt:
        """Return the prompt of one sample, with the ids of its shots in the details."""
        prompt = self._base.bare(sample)
        shots = self._shot_pool.shots(sample, prompt)
        head, body = split_head(prompt.messages)
        messages = _compose(shots, body, self._multiturn)
        details = {**prompt.details, "shots": [shot.id for shot in shots]}
        lacking = self._shot_pool.num - len(shots)
        if lacking:
            details["shots_lacking"] = lacking
            self._lacking.add(sample.id)
        whole = check_files(
            replace(
                prompt,
                messages=(*head, *messages),
                details=details,
            ),
            self.hold,
        )
        return self._base.finished(whole, sample)

    def notes(self) -> Iterator[str]:
        """Yield notes for the results about prompts with fewer examples than requested."""
        if self._lacking:
            count = len(self._lacking)
            fewer = f"fewer than {plural(self._shot_pool.num, 'example')}"
            whose = "its question" if count == 1 else "their question"
            yield f"{plural(count, 'sample')} got {fewer}, because the rest of the pool repeats {whose}"


@dataclass(frozen=True)
class Shot:
    """One solved example of a pool."""

    id: str
    asks: "Asked"
    """The example's question, with white space normalized so that equal questions are recognised."""
    solved: tuple[Message, ...]


class _ShotPool:
    """A pool of solved examples. Each is rendered when it is first shown, and reused."""

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
        self._groups = _group_by_column(pool, self._same)
        self._orders: dict[str, Order] = {}
        self._shots: dict[str, dict[int, Shot]] = {key: {} for key in self._groups}
        self._check(where)
        ids = [sample.id for sample in pool]
        self.source = f" num={self.num} pick={_pick_name(fewshot.pick)} seed={self._seed} {ids!r}\n{template.source}"

    def _check(self, where: str) -> None:
        if self.num < 0:
            raise UsageError(
                f"the number of shots cannot be {self.num}",
                where=where,
                fix="use 0 or more",
            )
        if not self.num:
            return
        if self._is_own:
            needed = self.num + 1
        else:
            needed = self.num
        if not self._samples:
            raise UsageError(
                f"{self.num} shots are wanted, but the pool is empty",
                where=where,
                fix="check its source",
            )
        for key, samples in self._groups.items():
            if len(samples) < needed:
                if self._same:
                    group = f" of {self._same} {key!r}"
                else:
                    group = ""
                beside = " beside the question" if self._is_own else ""
                raise UsageError(
                    f"{self.num} shots are wanted{beside}, but the pool has only {len(samples)} samples{group}",
                    where=where,
                    fix=f"use at most {max(0, len(samples) - (needed - self.num))} shots, or a larger pool",
                )
        for sample in () if self._template.solves_itself else self._samples:
            if sample.turns:
                # Only the last answer of a dialogue is known, not those in between.
                raise UsageError(
                    f"sample {shorten(sample.id)} of the pool is a dialogue of {1 + len(sample.turns)} turns, "
                    "of which a shot could show only the first and the last answer",
                    where=where,
                    fix="leave the shots out, or take them from rows of one question (--fewshot_data FILE)",
                )
            try:
                self._template.answer(sample)
            except TemplateError as error:
                reason = f"a sample of the pool cannot be shown solved: {error.where}: {error.what}"
                raise UsageError(
                    reason,
                    where=where,
                    fix=error.fix,
                ) from error

    def shots(self, sample: Sample, prompt: Prompt) -> list[Shot]:
        """Return the shots of one question.

        There may be fewer than requested, if too few examples differ from the question
        and may be shown with it.
        """
        key = _value_of(sample, self._same)
        pool = self._groups.get(key)
        if pool is None:
            raise TemplateError(
                f"the pool of shots has no sample of {self._same} {key!r}",
                where=f"sample {shorten(sample.id)}",
            )
        question = comparable(split_head(prompt.messages)[1])
        if callable(self._pick):
            return self._pick_by_user(sample, question, key, pool)
        if key not in self._orders:
            self._orders[key] = in_order(pool, self._pick, seed=self._seed)
        shots: list[Shot] = []
        for index in self._orders[key](sample):
            if self._may_show(sample, question, key, index):
                shots.append(self._shot(key, index))
                if len(shots) == self.num:
                    break
        return shots

    def _pick_by_user(
        self,
        sample: Sample,
        question: "Asked",
        key: str,
        pool: Sequence[Sample],
    ) -> list[Shot]:
        indexes = [
            index
            for index in range(len(pool))
            if self._may_show(sample, question, key, index)
        ]
        allowed = {id(pool[index]): index for index in indexes}
        rng = generator_for(self._seed, sample.id)
        with blame(
            TemplateError,
            f"few-shot pick {_pick_name(self._pick)!r}",
            sample.id,
        ):
            chosen = list(
                self._pick(sample, [pool[index] for index in indexes], self.num, rng)
            )
        if len(chosen) != min(self.num, len(indexes)) or not all(
            id(shot) in allowed for shot in chosen
        ):
            raise TemplateError(
                f"the function that picks shots must return {self.num} samples of the pool it was given,"
                f" not {shorten(chosen)}",
                where=f"few-shot pick {_pick_name(self._pick)!r}, sample {shorten(sample.id)}",
            )
        return [self._shot(key, allowed[id(shot)]) for shot in chosen]

    def _may_show(
        self,
        sample: Sample,
        question: "Asked",
        key: str,
        place: int,
    ) -> bool:
        """Return True if an example may be shown with a question.

        It may not be the question itself, an equal question, or one of the same group.
        """
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
        # The options are the same in another order or with other white space: compare with the question's own order.
        return self._asks(replace(candidate, choices=sample.choices)) != question

    def _asks(self, sample: Sample) -> "Asked":
        return comparable(split_head(self._template.bare(sample).messages)[1])

    def _shot(self, key: str, place: int) -> Shot:
        """Return the solved example at index `place` of the group `key`. It is rendered on first use."""
        shots = self._shots[key]
        if place not in shots:
            sample = self._groups[key][place]
            question = self._asks(sample)
            solved = self._template.solved(sample)
            shots[place] = Shot(sample.id, question, solved)
        return shots[place]


Asked = tuple[tuple[str, tuple[Any, ...]], ...]
"""The turns of a question with white space normalized, so that equal questions are recognised."""


def comparable(messages: Iterable[Message]) -> Asked:
    """Return turns with white space normalized, so that an extra space or line end makes no difference."""
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
    shots: Sequence[Shot],
    body: tuple[Message, ...],
    multiturn: bool,
) -> tuple[Message, ...]:
    """Return shots and question as turns. For a completion, or without `multiturn`, return them as one text.

    Turns with custom roles are not joined, because they are converted to text when they
    are sent.
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
    """Return a solved example as one sequence of parts, without turns.

    The answer follows on the same line after a colon; otherwise it starts a new line.
    """
    flat: tuple[Part, ...] = ()
    for message in solved:
        parts = message.parts or ()
        if flat:
            last = flat[-1]
        else:
            last = None
        ends_with_colon = isinstance(last, Text) and last.text.endswith(":")
        separator = " " if ends_with_colon else "\n"
        flat = join_parts(flat, parts, separator=separator)
    return flat


def _split_pick(setting: object, where: str) -> tuple[Any, str | None]:
    """Return the rule for picking examples, and the column in which they must equal the question; None without one.

    For `{name: random, same: subject}` these are `random` and `subject`.
    """
    pick, same = setting, None
    if isinstance(setting, Mapping):
        unknown = [key for key in setting if key not in ("name", "same")]
        if unknown:
            raise UsageError(
                f"`pick` has no {unknown[0]!r}",
                where=where,
                fix="its keys are name and same",
            )
        pick, same = setting.get("name", "random"), setting.get("same")
    check_pick(pick, where)
    return pick, same


def _pick_name(pick: object) -> str:
    return getattr(pick, "__name__", str(pick))


def _group_by_column(
    samples: Sequence[Sample],
    column: str | None,
) -> dict[str, Sequence[Sample]]:
    if column is None:
        return {"": samples}
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(_value_of(sample, column), []).append(sample)
    return dict(groups)


def _value_of(
    sample: Sample,
    column: str | None,
) -> str:
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
