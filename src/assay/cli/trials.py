"""Try a user's component: a task with three samples, a model with one prompt, a scorer with a few answers.

Each function yields lines to print, and raises at the first fault.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..core import (
    Abilities,
    AssayError,
    BadSample,
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
)
from ..core.errors import shorten
from ..core.protocols import Model
from ..core.record import output_to_plain
from ..report import printable
from ..runner.options import SANDBOX, RunOptions
from ..runner.scoring.scoring import takes_models
from ..tooling import ToolSet
from .explain import Fault, explained, place_of
from .samples import answer_lines, prompt_lines
from .trial_models import (
    WRONG_ANSWER,
    WRONG_LABEL,
    Scripted,
    Trial,
    WouldAsk,
    scripted_answers,
)
from .trial_notes import (
    Tried,
    dialogue_prompts,
    remarks_on,
    trial_record,
    try_summarizers,
    why_unscored,
)

SAMPLES = 3
ROWS_LOOKED_AT = 10_000
ROWS_SCORED = 200
"""The number of additional rows whose targets are scored as answers. Each should get a verdict."""
ANY_MODEL = Abilities(
    likelihood=True,
    logprobs=True,
    tools=True,
)
"""Abilities that satisfy every measure, so that `assay check` can try the first measure of a task."""


def try_task(
    task: Task,
    file: Path,
    run: RunOptions,
) -> Iterator[str]:
    """Try three samples: show the prompt, and each scorer's verdict on a right and a wrong answer."""
    trial = Trial(file, run)
    try:
        yield from _try_task(task, trial)
    finally:
        trial.close()


def _try_task(task: Task, trial: Trial) -> Iterator[str]:
    from ..runner.plan.planning import prepare
    from ..runner.tasks.components import default_scorers

    file = trial.file
    if task.driver is not None:
        yield f"task {printable(task.name)}: calls the model itself, so it was not tried"
        return
    faults: list[AssayError] = []
    try:
        task, way = _by_measure(task, trial.run)
        prepared = prepare(task, trial.run, faults)
        if faults:
            raise faults[0]
        rows = list(islice(prepared.samples, ROWS_LOOKED_AT))
    except Exception as error:
        raise explained(error, file, line=_defined_at(task.template, file)) from error
    for row in rows:
        if isinstance(row, BadSample):
            raise explained(row.error, file)
    usable = [row for row in rows if isinstance(row, Sample)]
    samples = usable[:SAMPLES]
    more = "at least " if len(rows) == ROWS_LOOKED_AT else ""
    noun = "row" if len(rows) == 1 else "rows"
    kind = prepared.samples.kind
    about = "" if kind == "unknown" else f", {kind}"
    yield f"task {printable(task.name)}: {more}{len(rows)} {noun}{about}"
    yield from way
    scorers = prepared.scorers
    _need_targets(samples, scorers, file)
    entries = task.scorers or default_scorers(prepared.samples.kind)
    tried = [
        TriedScorer(
            name,
            scorer,
            _defined_at(entry, file) or _defined_at(scorer, file),
            trial,
            prepared.tools,
        )
        for entry, (name, scorer) in zip(entries, scorers, strict=True)
    ]
    prompts: list[Prompt] = []
    for number, sample in enumerate(samples):
        try:
            prompt = prepared.template(sample)
            rounds = dialogue_prompts(task, sample, prompt, prepared.template)
            prompts.append(rounds[-1])
            lines = list(prompt_lines(rounds[-1]))
        except Exception as error:
            raise explained(
                error,
                file,
                line=_defined_at(task.template, file),
                sample=sample,
            ) from error
        yield f"sample {printable(sample.id)}"
        yield from lines
        for scorer in tried:
            yield from scorer.try_on(sample, rounds, number)
    for scorer in tried:
        yield from scorer.try_all()
    _score_targets(usable[SAMPLES:ROWS_SCORED], prepared, trial)
    yield from try_summarizers(task, [scorer.tried() for scorer in tried], file)
    yield from remarks_on(
        task,
        prepared.samples,
        usable,
        prompts,
        scorers,
        prepared.template,
    )


def _by_measure(task: Task, run: RunOptions) -> tuple[Task, list[str]]:
    """Return the task with the measure to try, such as the likelihood of letters, and a line that names the measure."""
    from ..runner.tasks.measure import measured

    if not task.measures and run.measure is None:
        return task, []
    way = measured(task, ANY_MODEL, run.measure, "the scripted model")
    if not way.measure:
        return task, []
    names = [getattr(measure, "name", measure) for measure in task.measures]
    others = [name for name in names if name != way.measure]
    if others:
        hint = f" (--measure tries another: {', '.join(others)})"
    else:
        hint = ""
    return way.task, [f"measured by {way.measure}{hint}"]


def _need_targets(
    samples: Sequence[Sample],
    scorers: Sequence[tuple[str, Any]],
    file: Path,
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


def _score_targets(
    samples: Sequence[Sample],
    prepared: Any,
    trial: Trial,
) -> None:
    """Score the targets of further rows as answers, to find rows that the scorer cannot score."""
    quick = [
        TriedScorer(name, scorer, None, trial)
        for name, scorer in prepared.scorers
        if "target" in getattr(scorer, "reads", ())
        and not getattr(scorer, "needs", ())
        and not _is_slow(scorer)
    ]
    for sample in samples:
        prompt = prepared.template(sample)
        for scorer in quick:
            for answer in scripted_answers(sample, [prompt], scorer.scorer)[:1]:
                scorer.verdict(sample, answer)


def _is_slow(scorer: object) -> bool:
    is_async = inspect.iscoroutinefunction(type(scorer).__call__)
    return (
        is_async
        or hasattr(scorer, "score_all")
        or bool(getattr(scorer, "blocking", False))
    )


class TriedScorer:
    """Tries one scorer in `assay check`, and collects the verdicts that the scorer gives."""

    def __init__(
        self,
        name: str,
        scorer: Any,
        line: int | None,
        trial: Trial,
        tools: ToolSet | None = None,
    ) -> None:
        self.name = name
        self.scorer = scorer
        self._line = line
        self._trial = trial
        self._tools = tools
        self.records: list[ScoreRecord] = []
        """The scorer's verdicts on right answers (or on wrong ones if no answer is right), to try summarizers with."""
        self._labels: set[str] = set()
        self._rows: list[tuple[Sample, Output]] = []
        self._roles = tuple(getattr(scorer, "needs", ()))
        self._is_shown = False

    def try_on(
        self,
        sample: Sample,
        prompts: Sequence[Prompt],
        number: int,
    ) -> Iterator[str]:
        """Yield the scorer's verdicts on scripted answers to one sample."""
        if self._tools is not None and not self._tools.are_functions:
            yield f"  {self.name}: scores what tools do, so it was not tried"
            return
        answers = scripted_answers(sample, prompts, self.scorer, self._tools)
        if hasattr(self.scorer, "score_all"):
            self._rows += [(sample, output) for _, output in answers[:1]]
            return
        if SANDBOX in self._roles:
            yield f"  {self.name}: runs programs in the sandbox, so it was not tried"
            return
        if self._roles and not takes_models(self.scorer):
            message = (
                f"scorer {self.name!r} has no field `models` for its helper models"
            )
            fix = "make it a dataclass with `models: Mapping[str, Any] = field(default_factory=dict)`"
            raise Fault(
                message,
                where=place_of(self._trial.file, self._line),
                fix=fix,
            )
        scores: list[Score] = []
        for label, output in answers:
            try:
                score = self.verdict(sample, (label, output))
            except WouldAsk as question:
                yield from self._describe_question(question, label)
                return
            scores.append(score)
            yield f"  {self.name}: {_score_text(score)} {label}"
        # Where lower is better, an answer that cannot be read has the worst value, not 0.
        is_error = getattr(self.scorer, "higher_is_better", True) is False
        differs = is_error and len({score.outcome for score in scores}) > 1
        if len({_first(score) for score in scores}) < len(scores) and not differs:
            yield f"  note: {self.name} does not tell the target from {WRONG_ANSWER!r}"
        self.records += [
            trial_record(score, sample, self.name, number) for score in scores[:1]
        ]
        self._labels.update(label for label, _ in answers[:1])

    def tried(self) -> Tried:
        """Return the scorer and its verdicts so far. Summarizers are tried with them."""
        if self._labels == {WRONG_LABEL}:
            answers = WRONG_LABEL
        else:
            answers = "for the targets"
        return Tried(self.name, self.scorer, self.records, answers)

    def verdict(self, sample: Sample, answer: Scripted) -> Score:
        """Return the verdict on a scripted answer.

        Raise if the scorer gives no verdict on the target, unless a judge is missing.
        """
        label, output = answer
        if self._roles:
            scorer = self._trial.models.give(self.scorer)
        else:
            scorer = self.scorer
        score = self._trial.score(scorer, sample, output, self._line)
        reason = why_unscored(score)
        if reason is None:
            return score
        where = place_of(self._trial.file, self._line)
        is_data_error = score.outcome is Outcome.DATA_ERROR
        if self._roles and not is_data_error:
            reply = score.details.get("reply")
            if reply:
                reply_text = f" (it replied {shorten(reply)})"
            else:
                reply_text = ""
            raise Fault(
                f"{self.name} got no verdict on sample {printable(sample.id)}: {printable(reason)}{reply_text}",
                where=where,
                fix="check the judge's prompt and how its reply is read",
            )
        if label == WRONG_LABEL and not is_data_error:
            return score
        raise Fault(
            f"{self.name} cannot score the target {shorten(sample.target)} of sample {printable(sample.id)}: "
            f"{printable(reason)}",
            where=where,
            fix="give what the scorer compares with, or name another scorer",
        )

    def _describe_question(self, question: WouldAsk, label: str) -> Iterator[str]:
        """Yield lines that show what the scorer would ask a helper model for which the
        user named no model.

        Only the first question is shown in full.
        """
        if question.role == "judge":
            named = "MODEL"
        else:
            named = f"{question.role}=MODEL"
        if self._is_shown:
            yield f"  {self.name}: not tried without --judge {named}"
            return
        self._is_shown = True
        yield f"  {self.name}: would ask the model under the role {question.role!r} {label}:"
        for line in prompt_lines(question.prompt):
            yield f"  {line}"
        yield f"  {self.name}: not tried without --judge {named}"

    def try_all(self) -> Iterator[str]:
        """Try a scorer that scores all samples at once, with the targets as answers,
        and yield its result.

        Scorers of assay and scorers that call a helper model are skipped. Some of them
        need more samples than the trial has.
        """
        if not self._rows:
            return
        if type(self.scorer).__module__.startswith("assay.") or self._roles:
            yield f"{self.name}: scores all samples at once, so it was not tried"
            return
        from ..runner.summary.results import flatten

        try:
            numbers = flatten(self.scorer.score_all(self._rows))
        except Exception as error:
            raise explained(error, self._trial.file, line=self._line) from error
        if not numbers:
            raise Fault(
                f"score_all of {self.name} gave no number",
                where=place_of(self._trial.file, self._line),
                fix="return a number, or a dict of numbers",
            )
        values = {name or self.name: value for name, value in numbers.items()}
        yield f"{self.name}: {values} for {len(self._rows)} targets"


def _first(score: Score) -> float | None:
    if isinstance(score.value, Mapping):
        return next(iter(score.value.values()), None)
    return score.value


def _score_text(score: Score) -> str:
    value = score.value
    if isinstance(value, Mapping):
        value = dict(value)
    if score.outcome == "scored":
        return str(value)
    return f"{value} ({score.outcome})"


def try_scorer(
    scorer: object,
    name: str,
    file: Path,
    run: RunOptions,
) -> Iterator[str]:
    """Try a scorer on two built-in samples, each with the right answer and a wrong one."""
    line = _defined_at(scorer, file)
    if inspect.isclass(scorer):
        try:
            scorer = scorer()
        except Exception as error:
            raise explained(error, file, line=line) from error
    if not hasattr(scorer, "score_all"):
        check_parameters(scorer, 2, "def score(sample, output)", file, line)
    yield f"scorer {name}"
    rows = [("What is 2 + 2?", "4"), ("Which city is the capital of France?", "Paris")]
    trial = Trial(file, run)
    tried = TriedScorer(name, scorer, line, trial)
    try:
        for number, (question, answer) in enumerate(rows):
            fields = {"question": question, "answer": answer}
            sample = Sample(str(number), question, answer, fields=fields)
            prompt = Prompt((Message("user", (Text(question),)),))
            yield f"  {question} (target {answer!r})"
            for text in tried.try_on(sample, [prompt], number):
                yield f"  {text}"
        yield from tried.try_all()
    finally:
        trial.close()


def try_template(
    template: object,
    name: str,
    file: Path,
    data: str | None,
    row: Mapping[str, Any],
) -> Iterator[str]:
    """Try a template on three samples of `data`, or on one example row."""
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
        raise explained(error, file, line=_defined_at(template, file)) from error
    for sample, prompt in prompts:
        yield f"sample {printable(sample.id)}"
        yield from prompt_lines(prompt)


def try_model(
    reference: str,
    file: Path,
    args: Mapping[str, Any],
) -> Iterator[str]:
    """Try a model with one tiny prompt; a model with likelihoods also scores two continuations."""
    from ..code.userfiles import load_attribute, split_reference
    from ..models import build_model

    path, attribute = split_reference(reference)
    try:
        line = _defined_at(
            load_attribute(f"{path}:{attribute or 'generate'}"), Path(path)
        )
    except AssayError:
        line = None  # a file for another system, which only its dialect can load
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
    output = _ask(model.generate, prompt, file, line)
    yield from answer_lines(output_to_plain(output))
    if abilities.likelihood:
        weighed = Prompt(prompt.messages, continuations=("4", "5"))
        likelihood = getattr(model, "likelihood")  # noqa: B009
        output = _ask(likelihood, weighed, file, line)
        yield from answer_lines(output_to_plain(output))


def _abilities_line(model: Model) -> str:
    """Return a line with the inputs and outputs that a model declares.

    A model that is a function without a declaration is sent every kind of input.
    """
    abilities = model.abilities
    declared = getattr(model, "declares", frozenset({"accepts", "produces"}))
    takes = ", ".join(sorted(abilities.accepts))
    makes = ", ".join(sorted(abilities.produces))
    if len(declared) == 2:
        return f"{takes} → {makes}"
    takes = takes if "accepts" in declared else "anything, since it declares nothing"
    makes = makes if "produces" in declared else "is not declared"
    verb = "makes" if "produces" in declared else "what it makes"
    return f"takes {takes}; {verb} {makes} (annotate it, def generate(text: str) -> str, or set accepts and produces)"


def _ask(
    ask: Callable[..., Any],
    prompt: Prompt,
    file: Path,
    line: int | None,
) -> Output:
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
    """Return a `ModelError` with this message and a matching fix."""
    if "return" in message:
        return ModelError(
            message, fix="check its `return` statements: every path must return that"
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
    function: object,
    wanted: int,
    form: str,
    file: Path,
    line: int | None,
) -> None:
    """Raise if a function does not accept `wanted` positional arguments."""
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
            f"it takes ({names})",
            where=place_of(file, line),
            fix=f"write {form}",
        ) from error
    except ValueError:
        return


def _defined_at(thing: object, file: Path) -> int | None:
    """Return the line of `file` on which a function or class starts; `None` if another file defines it."""
    if isinstance(thing, (str, Mapping, type(None), tuple, list)):
        return None
    if inspect.isroutine(thing) or inspect.isclass(thing):
        target = thing
    else:
        target = type(thing)
    try:
        source = Path(inspect.getfile(target))
        line = inspect.getsourcelines(target)[1]
    except (TypeError, OSError):
        return None
    return line if source.resolve() == file.resolve() else None
