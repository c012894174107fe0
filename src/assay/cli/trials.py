"""Trying things out: three samples through a task, one prompt to a model, three answers to a scorer.

Each trial yields lines to print and raises at the first fault.
"""

import asyncio
import inspect
import io
import math
import struct
import wave
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..core import (
    EMPTY,
    AllOf,
    AssayError,
    Audio,
    BadSample,
    Candidate,
    Image,
    Likelihood,
    Message,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Request,
    Sample,
    Score,
    ScoreRecord,
    Task,
    Text,
    as_score,
)
from ..core.errors import shorten
from ..core.message import Part
from ..core.record import output_to_plain
from ..report import printable
from .explain import Fault, explained, place_of
from .row_trials import remarks_on, whole_dialogue, why_unscored
from .samples import answer_lines, prompt_lines
from .summary_trials import trial_record, try_summarizers

SAMPLES = 3
ROWS_LOOKED_AT = 10_000
ROWS_SCORED = 200
"""Whose own target must get a verdict."""
WRONG_ANSWER = "I do not know."
WRONG_LABEL = f"for {WRONG_ANSWER!r}"


def try_task(
    task: Task, file: Path, data: str | None, columns: Mapping[str, str] = EMPTY
) -> Iterator[str]:
    """Three samples: the prompt as it is sent, and what each scorer says of the right and of a wrong answer."""
    from ..runner.options import RunOptions
    from ..runner.plan.planning import prepare
    from ..runner.tasks.components import default_scorers

    if task.driver is not None:
        yield f"task {printable(task.name)}: drives the model by itself, so it was not tried"
        return
    faults: list[AssayError] = []
    try:
        prepared = prepare(task, RunOptions(data=data, columns=columns), faults)
        if faults:
            raise faults[0]
        rows = list(islice(prepared.samples, ROWS_LOOKED_AT))
    except Exception as error:
        raise explained(error, file, line=_defined_at(task.template)) from error
    for row in rows:
        if isinstance(row, BadSample):
            raise explained(row.error, file)
    usable = [row for row in rows if isinstance(row, Sample)]
    samples = usable[:SAMPLES]
    more = "at least " if len(rows) == ROWS_LOOKED_AT else ""
    yield f"task {printable(task.name)}: {more}{len(rows)} rows, {prepared.samples.kind}"
    scorers = prepared.scorers
    _need_targets(samples, scorers, file)
    judged: dict[str, list[ScoreRecord]] = {}
    prompts: list[Prompt] = []
    for number, sample in enumerate(samples):
        try:
            prompt = prepared.template(sample)
            prompts.append(whole_dialogue(task, sample, prompt, prepared.template))
            lines = list(prompt_lines(prompts[-1]))
        except Exception as error:
            raise explained(
                error, file, line=_defined_at(task.template), sample=sample
            ) from error
        yield f"sample {printable(sample.id)}"
        yield from lines
        for entry, (name, scorer) in zip(
            task.scorers or default_scorers(prepared.samples.kind), scorers, strict=True
        ):
            scores: list[Score] = []
            yield from _try_on(
                scorer,
                name,
                sample,
                prompt,
                file,
                _defined_at(entry) or _defined_at(scorer),
                scores,
            )
            judged.setdefault(name, []).extend(
                trial_record(score, sample, name, number) for score in scores[:1]
            )
    _score_targets(usable[SAMPLES:ROWS_SCORED], prepared, file)
    yield from try_summarizers(task, judged, file)
    built = [scorer for _, scorer in scorers]
    yield from remarks_on(
        task, prepared.samples, usable, prompts, built, prepared.template
    )


def _need_targets(
    samples: Sequence[Sample], scorers: Sequence[tuple[str, Any]], file: Path
) -> None:
    names = [
        name for name, scorer in scorers if "target" in getattr(scorer, "reads", ())
    ]
    for sample in samples if names else ():
        if sample.target is None:
            need = "needs" if len(names) == 1 else "need"
            raise Fault(
                f"sample {printable(sample.id)} has no answer to compare with, and {' and '.join(names)} {need} one",
                where=str(file),
                fix="name the column `answer` or `target`, map it (columns: {target: …}), or name a scorer",
            )


def _score_targets(samples: Sequence[Sample], prepared: Any, file: Path) -> None:
    """Further rows: one whose own target gets no verdict would be lost in a run."""
    tried = [
        (name, scorer)
        for name, scorer in prepared.scorers
        if "target" in getattr(scorer, "reads", ())
        and not getattr(scorer, "needs", ())
        and not _is_slow(scorer)
    ]
    for sample in samples:
        prompt = prepared.template(sample)
        for name, scorer in tried:
            label, output = scripted_outputs(sample, prompt)[0]
            _verdict(scorer, name, sample, label, output, file, None)


def _is_slow(scorer: Any) -> bool:
    is_async = inspect.iscoroutinefunction(type(scorer).__call__)
    return (
        is_async
        or hasattr(scorer, "score_all")
        or bool(getattr(scorer, "blocking", False))
    )


def _verdict(
    scorer: Any,
    name: str,
    sample: Sample,
    label: str,
    output: Output,
    file: Path,
    line: int | None,
) -> Score:
    """What a scorer says of a scripted answer; raises where it has no verdict on the target itself."""
    score = scored(scorer, sample, output, file, line)
    is_of_target = label != WRONG_LABEL or score.outcome is Outcome.DATA_ERROR
    reason = why_unscored(score) if is_of_target else None
    if reason is not None:
        target = shorten(sample.target)
        raise Fault(
            f"{name} cannot score the target {target} of sample {printable(sample.id)}: {printable(reason)}",
            where=place_of(file, line),
            fix="give a target that the scorer can compare with, or name another scorer",
        )
    return score


def _try_on(
    scorer: Any,
    name: str,
    sample: Sample,
    prompt: Prompt,
    file: Path,
    line: int | None,
    values: list[Score],
) -> Iterator[str]:
    """What a scorer says of scripted answers; what it gave is put to `values`."""
    if getattr(scorer, "needs", ()):
        yield f"  {name}: needs a model as {', '.join(scorer.needs)}, so it was not tried"
        return
    if hasattr(scorer, "score_all"):
        yield f"  {name}: scores all samples at once, so it was not tried"
        return
    for label, output in scripted_outputs(sample, prompt):
        score = _verdict(scorer, name, sample, label, output, file, line)
        values.append(score)
        yield f"  {name}: {_shown(score)} {label}"
    if len(values) == 2 and _first(values[0]) == _first(values[1]):
        yield f"  note: {name} does not tell the target from {WRONG_ANSWER!r}"


def scripted_outputs(sample: Sample, prompt: Prompt) -> list[tuple[str, Output]]:
    """What a scripted model answers: the target and something else; where media are asked for, one such medium."""
    if prompt.continuations is not None or prompt.rolling:
        count = len(prompt.continuations or ("",))
        return [
            (
                "when the first continuation is the likeliest",
                Output(
                    likelihoods=tuple(
                        Likelihood(-1.0 - i, i == 0, 1) for i in range(count)
                    ),
                    details={"continuations": list(prompt.continuations or ())},
                ),
            )
        ]
    media: list[Part] = [MEDIA[kind]() for kind in prompt.produces if kind in MEDIA]
    if media:
        return [
            (
                f"for a scripted {media[0].kind}",
                Output((Candidate(tuple(media), "stop"),)),
            )
        ]
    right = _right_answer(sample)
    answers = [("for the target", right)] if right else []
    answers.append((WRONG_LABEL, WRONG_ANSWER))
    return [(label, Output.of(text, stop_reason="stop")) for label, text in answers]


def _right_answer(sample: Sample) -> str:
    target = sample.target
    if isinstance(target, AllOf):
        return " ".join(
            part if isinstance(part, str) else part[0] for part in target.parts
        )
    first = next(iter(sample.targets), None)
    return "" if first is None else str(first)


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


def scored(
    scorer: Any, sample: Sample, output: Output, file: Path, line: int | None
) -> Score:
    """What a scorer says; whatever is wrong with it is a fault of the file."""
    try:
        reply = scorer(sample, output)
        score = as_score(asyncio.run(reply) if inspect.iscoroutine(reply) else reply)
    except Exception as error:
        raise explained(error, file, line=line, sample=sample) from error
    values = score.value.values() if isinstance(score.value, Mapping) else [score.value]
    for value in values:
        if value is not None and not math.isfinite(value):
            raise Fault(
                f"the score is {value}",
                where=place_of(file, line),
                fix="return a number, or Score.unparsed()",
            )
    if isinstance(score.value, Mapping) and not score.value:
        fix = "return a number, or a dict of numbers"
        raise Fault("the score is an empty dict", where=place_of(file, line), fix=fix)
    return score


def _first(score: Score) -> float | None:
    return (
        next(iter(score.value.values()), None)
        if isinstance(score.value, Mapping)
        else score.value
    )


def _shown(score: Score) -> str:
    value = dict(score.value) if isinstance(score.value, Mapping) else score.value
    return f"{value}" if score.outcome == "scored" else f"{value} ({score.outcome})"


def try_scorer(scorer: Any, name: str, file: Path) -> Iterator[str]:
    """Two built-in samples, each with the right answer and another one."""
    line = _defined_at(scorer)
    if inspect.isclass(scorer):
        try:
            scorer = scorer()
        except Exception as error:
            raise explained(error, file, line=line) from error
    check_parameters(scorer, 2, "def score(sample, output)", file, line)
    yield f"scorer {name}"
    rows = [("What is 2 + 2?", "4"), ("Which city is the capital of France?", "Paris")]
    for number, (question, answer) in enumerate(rows):
        sample = Sample(
            str(number),
            question,
            answer,
            fields={"question": question, "answer": answer},
        )
        yield f"  {question} (target {answer!r})"
        yield from (
            f"  {line_}"
            for line_ in _try_on(scorer, name, sample, Prompt(()), file, line, [])
        )


def try_template(
    template: Any, name: str, file: Path, data: str | None, row: Mapping[str, Any]
) -> Iterator[str]:
    """The template on three samples of `data`, else on one made-up row."""
    from ..datasets import open_dataset
    from ..templates import build_template

    yield f"template {name}"
    try:
        source: Any = data if data is not None else [dict(row)]
        samples = [
            s for s in islice(open_dataset(source), SAMPLES) if isinstance(s, Sample)
        ]
        built = build_template(template, where=str(file))
        prompts = [(sample, built(sample)) for sample in samples]
    except Exception as error:
        raise explained(error, file, line=_defined_at(template)) from error
    for sample, prompt in prompts:
        yield f"sample {printable(sample.id)}"
        yield from prompt_lines(prompt)


def try_model(reference: str, file: Path, args: Mapping[str, Any]) -> Iterator[str]:
    """One tiny prompt; of a model that weighs continuations, two of them as well."""
    from ..code.userfiles import load_attribute, split_reference
    from ..models import build_model

    path, attribute = split_reference(reference)
    try:
        line = _defined_at(load_attribute(f"{path}:{attribute or 'generate'}"))
    except AssayError:
        line = None  # a file for another system: only its dialect can load it
    try:
        model = build_model(reference, args)
        abilities = model.abilities
        load = getattr(model, "load", None)
        if load is not None:
            load()
    except Exception as error:
        raise explained(error, file, line=line) from error
    yield f"model {reference}: {_abilities_line(model)}"
    prompt = Prompt(
        (Message("user", (Text("What is 2 + 2? Answer with the number only."),)),)
    )
    yield from prompt_lines(prompt)
    output = _asked(model.generate, prompt, file, line)
    yield from answer_lines(output_to_plain(output))
    if abilities.likelihood:
        weighed = Prompt(prompt.messages, continuations=("4", "5"))
        yield from answer_lines(
            output_to_plain(_asked(getattr(model, "likelihood"), weighed, file, line))
        )  # noqa: B009


def _abilities_line(model: Any) -> str:
    """What a model takes and makes, as far as it says so: a function that declares nothing is handed anything."""
    abilities = model.abilities
    declared = getattr(model, "declares", frozenset({"accepts", "produces"}))
    takes, makes = (
        ", ".join(sorted(abilities.accepts)),
        ", ".join(sorted(abilities.produces)),
    )
    if len(declared) == 2:
        return f"{takes} → {makes}"
    takes = takes if "accepts" in declared else "anything, since it declares nothing"
    makes = makes if "produces" in declared else "is not declared"
    verb = "makes" if "produces" in declared else "what it makes"
    return f"takes {takes}; {verb} {makes} (annotate it, def generate(text: str) -> str, or set accepts and produces)"


def _asked(ask: Any, prompt: Prompt, file: Path, line: int | None) -> Output:
    try:
        reply = ask([Request(prompt, id="check")])
        outputs: Sequence[Output] = (
            asyncio.run(reply) if inspect.iscoroutine(reply) else reply
        )
        output = outputs[0]
    except Exception as error:
        raise explained(error, file, line=line) from error
    if output.error is not None:
        raise explained(_failure(output.error.message), file, line=line)
    if not output.candidates and not output.likelihoods:
        raise Fault(
            "the model gave no answer",
            where=place_of(file, line),
            fix="return text, a medium or an Output",
        )
    return output


def _failure(message: str) -> ModelError:
    """What a model raised, with the remedy that fits its kind."""
    if "return" in message:
        return ModelError(
            message, fix="look at its `return`: it must give that on every way through"
        )
    return ModelError(message, fix=FAILURES.get(message.partition(":")[0]))


FAILURES = {
    "KeyError": "each message is {'role': …, 'content': …}",
    "TypeError": "take the messages as first parameter; each is {'role': …, 'content': …}",
    "AttributeError": "messages are dictionaries: message['content']; annotate `messages: list[Message]` for objects",
    "NameError": "define or import that name",
    "IndexError": "look how long it is before taking that place",
    "ZeroDivisionError": "look whether it is 0 before dividing",
}


def check_parameters(
    function: Any, wanted: int, form: str, file: Path, line: int | None
) -> None:
    """Refuses a function that cannot be called with `wanted` values."""
    if not callable(function):
        raise Fault(
            f"{type(function).__name__} cannot be called",
            where=place_of(file, line),
            fix=f"write {form}",
        )
    try:
        inspect.signature(function).bind(*[None] * wanted)
    except TypeError as error:
        names = ", ".join(inspect.signature(function).parameters)
        raise Fault(
            f"it takes ({names})", where=place_of(file, line), fix=f"write {form}"
        ) from error
    except ValueError:
        return


def _defined_at(thing: Any) -> int | None:
    """The line on which a function or class of a Python file starts."""
    if isinstance(thing, (str, Mapping, type(None), tuple, list)):
        return None
    target = (
        thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
    )
    try:
        return inspect.getsourcelines(target)[1] or None
    except (TypeError, OSError):
        return None
