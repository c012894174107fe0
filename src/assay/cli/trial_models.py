"""Scripted answers, substitutes for judges and an event loop, with which `assay check` tries scorers."""

import asyncio
import inspect
import io
import json
import math
import struct
import wave
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from ..core import (
    AllOf,
    Audio,
    Candidate,
    GenerateOptions,
    Image,
    Likelihood,
    Model,
    Output,
    Prompt,
    Request,
    Round,
    Sample,
    Score,
    Token,
    ToolCall,
    as_score,
)
from ..core.message import Part, plain_turns
from ..core.record import prompt_to_plain
from ..core.request import DEFAULT_OPTIONS
from ..core.sample import REFERENCE_COLUMNS
from ..rendering import LETTERS
from ..runner.options import RunOptions
from ..runner.scoring.scoring import with_rounds
from ..scorers.given_models import GivenModel, ModelsByRole
from ..tooling import ToolSet, smallest_arguments
from .explain import Fault, explained, place_of

T = TypeVar("T")


class WouldAsk(BaseException):
    """Raised when a scorer calls a helper model that the user did not name. It contains the question.

    It is not an `Exception`, so that scorers that catch exceptions do not hide it.
    """

    def __init__(self, role: str, prompt: Prompt) -> None:
        super().__init__(role)
        self.role = role
        self.prompt = prompt


class TrialModel(GivenModel):
    """A helper model in `assay check`. Its calls are not recorded."""

    def __init__(
        self,
        role: str,
        model: Model | None,
    ) -> None:
        self.role = role
        self.model = model

    async def answer(
        self,
        prompt: Prompt,
        options: GenerateOptions | None = None,
    ) -> Output:
        """Return the helper model's answer. Raise `WouldAsk` if the user did not name a model for this role."""
        if self.model is None:
            raise WouldAsk(self.role, prompt)
        chosen = options or prompt.options or DEFAULT_OPTIONS
        reply = self.model.generate([Request(prompt, chosen, id="check")])
        outputs: Sequence[Output] = await reply if inspect.isawaitable(reply) else reply
        return outputs[0]


class TrialModels:
    """The helper models of `assay check` by role. Each is built and loaded once."""

    def __init__(self, run: RunOptions) -> None:
        self._run = run
        self._built: dict[str, Model | None] = {}

    def give(self, scorer: T) -> T:
        """Return a copy of the scorer with a helper model for each role that it needs."""
        roles = tuple(getattr(scorer, "needs", ()))
        if not roles:
            return scorer
        return replace(scorer, models=self.models(roles))  # type: ignore[type-var]

    def models(self, roles: Sequence[str]) -> Mapping[str, TrialModel]:
        """Return a model for each role. If the user named no model for a role, a call
        raises `WouldAsk` with the question.
        """
        return ModelsByRole(
            {role: TrialModel(role, self._model(role)) for role in roles}
        )

    def _model(self, role: str) -> Model | None:
        from ..runner.plan.judges import judge_model

        if role not in self._built:
            model = None
            if self._run.helper_of(role) is not None:
                model = judge_model(self._run, role)
                load = getattr(model, "load", None)
                if load is not None:
                    load()
            self._built[role] = model
        return self._built[role]


WRONG_ANSWER = "I do not know."
RESULT = "(the tool's result)"
TARGET_LABEL = "for the target"
WRONG_LABEL = f"for {WRONG_ANSWER!r}"
Scripted = tuple[str, Output]
"""A scripted answer and its name in the printed lines."""


def scripted_answers(
    sample: Sample,
    prompts: Sequence[Prompt],
    scorer: object = None,
    tools: ToolSet | None = None,
) -> list[Scripted]:
    """Return a right and a wrong answer to a sample, as text, media or likelihoods, as the task requires.

    `prompts` has the prompt of each round. Every round of a dialogue gets the same
    answer, except that the right answer is the reference of the round if there is one.
    In a task with tools, the right answer comes after a call to each tool, and the
    wrong one without calls.
    """
    prompt = prompts[-1]
    if prompt.continuations is not None or prompt.rolling:
        return _likelihoods(sample, prompt)
    if "logprobs" in getattr(scorer, "reads", ()):
        return _first_tokens(sample)
    media: list[Part] = [MEDIA[kind]() for kind in prompt.produces if kind in MEDIA]
    if media:
        output = Output((Candidate(tuple(media), "stop"),))
        outputs = [output] * len(prompts)
        return [(f"for a scripted {media[0].kind}", _in_rounds(outputs, prompts))]
    texts = [(WRONG_LABEL, WRONG_ANSWER)]
    right = right_answer(sample)
    if right:
        texts.insert(0, (TARGET_LABEL, right))
    answers = []
    for label, text in texts:
        output = Output.of(text, stop_reason="stop")
        references = _references(sample, len(prompts))
        if label == TARGET_LABEL and references and tools is None:
            answers.append((label, _in_rounds(references, prompts)))
        elif tools is None:
            answers.append((label, _in_rounds([output] * len(prompts), prompts)))
        else:
            has_calls = label == TARGET_LABEL
            output = _after_calls(output, prompts, sample, tools, has_calls)
            answers.append((label, output))
    return answers


def _after_calls(
    output: Output,
    prompts: Sequence[Prompt],
    sample: Sample,
    tools: ToolSet,
    has_calls: bool,
) -> Output:
    """Return an answer in the form that scorers get in a task with tools: rounds, tool
    calls and final state.

    A user turn without calls is one round. With calls it is two: the calls, then the
    answer to their results.
    """
    calls = tuple(
        ToolCall(f"call_{number}", tool.name, smallest_arguments(tool.parameters))
        for number, tool in enumerate(tools.tools(sample))
    )
    rounds = []
    for prompt in prompts:
        turns = plain_turns(prompt_to_plain(prompt))
        if has_calls:
            rounds.append(Round(turns, Output((Candidate(calls),))))
            for call in calls:
                turns += (("assistant", call.text), ("tool", RESULT))
        rounds.append(Round(turns, output))
    make_state = tools.make_state
    state = make_state(sample) if make_state else None
    return replace(output, rounds=tuple(rounds), state=state)


def right_answer(sample: Sample) -> str:
    """Return the text of a right answer; empty if the sample has no target."""
    target = sample.target
    if isinstance(target, AllOf):
        parts = [part if isinstance(part, str) else part[0] for part in target.parts]
        return " ".join(parts)
    first = next(iter(sample.targets), None)
    if isinstance(first, Mapping):
        return json.dumps(first, ensure_ascii=False)
    return "" if first is None else str(first)


def _references(sample: Sample, rounds: int) -> list[Output]:
    """Return the reference answer of each round of a dialogue. A round without a reference gets an empty text."""
    for column in REFERENCE_COLUMNS:
        references = sample.fields.get(column)
        if rounds > 1 and isinstance(references, list) and len(references) == rounds:
            return [Output.of(str(text), stop_reason="stop") for text in references]
    return []


def _in_rounds(
    outputs: Sequence[Output],
    prompts: Sequence[Prompt],
) -> Output:
    """Return the last answer of a dialogue, with all of its rounds attached."""
    plain = [prompt_to_plain(prompt) for prompt in prompts]
    return with_rounds(list(outputs), plain)


def _likelihoods(sample: Sample, prompt: Prompt) -> list[Scripted]:
    """Return two answers with likelihoods: in the first the target is the most likely
    option, in the second another one.
    """
    texts = list(prompt.continuations or ("",))
    right = _target_place(sample, len(texts))
    cases = [("when the target is the likeliest", right)]
    if right is None:
        cases = [("when the first continuation is the likeliest", 0)]
    elif len(texts) > 1:
        cases.append(("when another option is", (right + 1) % len(texts)))
    answers = []
    for label, best in cases:
        weights = []
        for index in range(len(texts)):
            weights.append(
                Likelihood(-1.0 if index == best else -9.0 - index, index == best, 1)
            )
        details = {"continuations": texts}
        answers.append(
            (
                label,
                Output(
                    likelihoods=tuple(weights),
                    details=details,
                ),
            )
        )
    return answers


def _first_tokens(sample: Sample) -> list[Scripted]:
    """Return two answers with token log-probabilities: one prefers the target's letter, the other a wrong letter."""
    count = len(sample.choices or ())
    right = _target_place(sample, count)
    if right is None:
        return []
    answers = []
    for label, best in (
        (TARGET_LABEL, right),
        ("for another letter", (right + 1) % count),
    ):
        letter = LETTERS[best]
        top = tuple(
            (other, -0.1 if other == letter else -4.0) for other in LETTERS[:count]
        )
        candidate = Candidate(
            Output.of(letter).candidates[0].parts,
            "length",
            (Token(letter, -0.1, top),),
        )
        answers.append((label, Output((candidate,))))
    return answers


def _target_place(sample: Sample, count: int) -> int | None:
    """Return the index of the target among the first `count` options; None if it is not among them."""
    target = right_answer(sample).strip()
    choices = [str(choice) for choice in sample.choices or ()]
    if target in choices:
        index = choices.index(target)
    else:
        index = _letter_place(target)
    if target and 0 <= index < count:
        return index
    return None


def _letter_place(text: str) -> int:
    if text.upper() in LETTERS:
        return LETTERS.index(text.upper())
    return -1


def _tiny_image() -> Part:
    from PIL import Image as PilImage

    return Image(PilImage.new("RGB", (8, 8), "white"))


def _tiny_audio() -> Part:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        tone = (
            int(8000 * math.sin(2 * math.pi * 440 * t / 16000)) for t in range(1600)
        )
        file.writeframes(b"".join(struct.pack("<h", value) for value in tone))
    return Audio(buffer.getvalue())


MEDIA = {"image": _tiny_image, "audio": _tiny_audio}


@dataclass
class Trial:
    """The objects that all scorers of a check share: the user's file, the helper models, and an event loop."""

    file: Path
    run: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        self.models = TrialModels(self.run)
        self._loop = asyncio.Runner()

    def close(self) -> None:
        """Close the event loop."""
        self._loop.close()

    def score(
        self,
        scorer: Callable[..., object],
        sample: Sample,
        output: Output,
        line: int | None,
    ) -> Score:
        """Return the scorer's score. If it fails or returns no number, raise an error
        that names the line in the user's file.
        """
        try:
            reply = scorer(sample, output)
            if inspect.isawaitable(reply):
                reply = self._loop.run(_await_reply(reply))
            score = as_score(reply)
        except Exception as error:
            raise explained(
                error,
                self.file,
                line=line,
                sample=sample,
            ) from error
        _check_numbers(score, place_of(self.file, line))
        return score


async def _await_reply(reply: Awaitable[T]) -> T:
    return await reply


def _check_numbers(score: Score, where: str) -> None:
    values: Iterable[float | None]
    if isinstance(score.value, Mapping):
        values = score.value.values()
    else:
        values = [score.value]
    for value in values:
        if value is not None and not math.isfinite(value):
            fix = "return a number, or Score.unparsed()"
            raise Fault(
                f"the score is {value}",
                where=where,
                fix=fix,
            )
    if isinstance(score.value, Mapping) and not score.value:
        fix = "return a number, or a dict of numbers"
        raise Fault("the score is an empty dict", where=where, fix=fix)
