"""Check before a run that the task has usable prompts, targets, scorers and predictions.

A misspelled column leaves every row without a target or without a prompt: such a task is refused before it costs
anything. A single row without a target is counted during the run like any other data error.

A scorer that could not read the answers is refused as well. It declares in `reads` what it needs: `text`, `image`,
`audio` or `video` of an answer, an `answer` of any kind, `likelihood`s, the `logprobs` of tokens, and the `target` of
the sample. A scorer that declares nothing is accepted.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from ...code.userfiles import file_digest
from ...core import (
    AnswersById,
    AssayError,
    ComponentError,
    DataError,
    GenerateOptions,
    Prompt,
    Sample,
    UsageError,
    nearest,
)
from ...core.errors import ForbiddenTemplate, UnfitTemplate, UnknownColumn
from ...predictions.predictions_model import Predictions
from ..counts.leaks import Leaks, is_whole, transcript_leak
from ..scoring.scoring import Scoring
from .planned_task import PlannedTask

WHATEVER_THE_ROW = (UnknownColumn, ForbiddenTemplate, UnfitTemplate)
"""Template errors that do not depend on the row, so that every row would fail."""
MISTAKES = (LookupError, AttributeError, NameError, TypeError, SystemExit)
"""Exceptions that indicate a mistake in the code of a template, which would fail for every row."""
ROWS_LOOKED_AT = 2000
"""Maximum number of rows to search for the first target."""


def check_targets(planned: PlannedTask) -> None:
    """Raise if none of the first samples has a target although every scorer needs one."""
    if not planned.scorings or not all(
        "target" in scoring.reads for scoring in planned.scorings
    ):
        return
    sample = planned.first_sample()
    if sample is not None and sample.target is not None:
        return
    first: Sample | None = None
    looked_at = 0
    for item in islice(planned.view(), ROWS_LOOKED_AT):
        if isinstance(item, Sample):
            if item.target is not None:
                return
            first = first or item
            looked_at = looked_at + 1
    if first is None:
        return
    columns = list(first.fields)
    close = next(
        filter(None, (nearest(name, columns) for name in ("answer", "target"))), None
    )
    likely = f"--columns target={close}" if close else "--columns target=…"
    names = " and ".join(scoring.name for scoring in planned.scorings)
    raise UsageError(
        f"none of {looked_at} samples has an answer to compare with (the columns are {', '.join(columns) or 'none'}), "
        f"and {names} {'needs' if len(planned.scorings) == 1 else 'need'} one",
        where=f"task {planned.task.name!r}",
        fix=f"name the column `answer` or `target`, map it ({likely}), or name a scorer that needs none",
    )


def check_prompts(planned: PlannedTask) -> None:
    """Raise if a template fails for all of the first samples because of a mistake in the template itself.

    Errors in the values of rows are counted during the run.
    """
    if planned.first_prompt() is not None:
        return
    first: ComponentError | None = None
    for item in islice(planned.view(), ROWS_LOOKED_AT):
        if not isinstance(item, Sample):
            continue
        try:
            planned.template(item)
        except ComponentError as error:
            if not isinstance(error, WHATEVER_THE_ROW) and not isinstance(
                error.__cause__, MISTAKES
            ):
                return
            first = first or error
        except Exception:  # noqa: BLE001 - a fault of this row: it is counted when its turn comes
            return
        else:
            return
    if first is not None:
        raise UsageError(
            f"no sample can be asked: {first.what}",
            where=first.where,
            fix=first.fix,
        )


OF_SAMPLES = frozenset({"target"})
SCORERS_OF_LIKELIHOODS = "choice_likelihood, last_word, perplexity"
_WORDS = {
    "likelihood": "likelihoods",
    "logprobs": "log-probabilities of tokens",
    "answer": "answers",
}


def check_reads(planned: PlannedTask) -> None:
    """Raise if a scorer needs something that the answers of this task × model do not contain."""
    prompt = planned.first_prompt()
    if prompt is None:
        return
    kinds = answer_kinds(prompt, planned.options_for(prompt))
    for scoring in planned.scorings:
        for kind in scoring.reads:
            if kind not in kinds and kind not in OF_SAMPLES:
                raise _unreadable(planned, scoring, kind, kinds)


def answer_kinds(prompt: Prompt, options: GenerateOptions) -> frozenset[str]:
    """Return the kinds of content in the answer to a prompt."""
    if prompt.continuations is not None or prompt.rolling:
        return frozenset({"likelihood"})
    tokens = () if options.logprobs is None else ("logprobs",)
    return frozenset({"answer", *prompt.produces, *tokens})


def _unreadable(
    planned: PlannedTask,
    scoring: Scoring,
    kind: str,
    kinds: frozenset[str],
) -> UsageError:
    """Return the error for a scorer that needs a kind of content that the model's answers do not have."""
    words = " and ".join(
        _WORDS.get(kind_of_content, kind_of_content)
        for kind_of_content in sorted(kinds - {"answer"})
    )
    if planned.measure:
        by = f" by {planned.measure}"
    else:
        by = ""
    if kinds == {"likelihood"}:
        fix = f"ask for text (--measure letter, -o another folder), or name one of {SCORERS_OF_LIKELIHOODS}"
    elif kind == "likelihood":
        fix = "--measure letter_likelihood or text_likelihood (-o another folder), or name a scorer of text"
    elif kind == "logprobs":
        fix = "--measure first_token, or --logprobs 20 (-o another folder)"
    else:
        fix = f"name a scorer that reads {words}, or give the task produces: [{kind}]"
    return UsageError(
        f"scorer {scoring.name!r} reads {_WORDS.get(kind, kind)}, and the answers to this task{by} hold only {words}",
        where=f"task {planned.task.name!r}",
        fix=fix,
    )


SHOWN = 3


def check_known_answers(planned: PlannedTask) -> None:
    """Check a model that only repeats known answers, such as a file of predictions.

    Raise if its ids match no sample, or if its answers are the targets. Note samples
    without a prediction, and predictions without a sample.
    """
    model = planned.model
    if not isinstance(model, AnswersById):
        return
    where = f"task {planned.task.name!r}, model {planned.model_name!r}"
    if planned.task.driver is not None:
        fix = "give the model itself, or replay/RUN of a run that asked it"
        raise UsageError(
            "the task calls the model itself, without ids of samples",
            where=where,
            fix=fix,
        )
    if isinstance(model, Predictions):
        _refuse_targets(planned, model, where)
    counts = model.ids()
    ids = dict.fromkeys(item.id for item in planned.view())
    if not ids:
        return
    common_ids = [id for id in ids if id in counts]
    if not common_ids:
        prediction_id = next(iter(counts))
        sample_id = next(iter(ids))
        raise UsageError(
            "no id of the predictions is one of the task's samples:"
            f" they have {prediction_id!r}, the task has {sample_id!r}",
            where=where,
            fix="write the task's ids into the file (`assay show RUN` prints them), or -a id=COLUMN names their column",
        )
    most = max(common_ids, key=counts.__getitem__)
    if counts[most] > planned.task.epochs:
        if planned.task.epochs == 1:
            times = "once"
        else:
            times = f"{planned.task.epochs} times"
        fix = f"--epochs {counts[most]} takes them as repeats, in the order of the file; or leave one for each id"
        problem = (
            f"{counts[most]} predictions for {most!r}, and each sample is asked {times}"
        )
        raise UsageError(problem, where=where, fix=fix)
    planned.notices += tuple(_notices(planned, ids, counts))
    if isinstance(model, Predictions) and len(ids) > 1 and _are_targets(planned, model):
        planned.notices += (
            f"{planned.task.name}: all {len(ids):,} predictions equal their targets, character by character: "
            f"does column {model.prediction!r} hold the outputs of a model?",
        )


def _refuse_targets(
    planned: PlannedTask,
    model: Predictions,
    where: str,
) -> None:
    """Raise if the predictions come from the task's own targets, because these would get a perfect score."""
    if not _is_data(planned, model.path):
        return
    columns = planned.samples.head.columns
    if columns is None or planned.task.to_sample is not None:
        is_target = _are_targets(planned, model)
    else:
        is_target = columns.target == model.prediction
    if not is_target:
        return
    column = model.prediction
    raise UsageError(
        f"the predictions are the targets: column {column!r} of the same data is both",
        where=where,
        fix=f"-a prediction=COLUMN names the outputs; if {column!r} holds outputs and there are no references, "
        "--columns target= says so",
    )


def _is_data(planned: PlannedTask, path: Path) -> bool:
    """Return True if a file is one of the task's data files, or a copy of one."""
    try:
        size = path.stat().st_size
        for shard in planned.samples.shards:
            other = shard.path
            if other is None or not other.is_file() or other.stat().st_size != size:
                continue
            if other.samefile(path) or file_digest(other) == file_digest(path):
                return True
    except OSError:
        return False
    return False


def _are_targets(planned: PlannedTask, model: Predictions) -> bool:
    """Return True if every prediction is one of its sample's targets."""
    count = 0
    for item in planned.view():
        if not isinstance(item, Sample):
            continue
        texts = model.texts_of(item.id)
        if not texts or any(text not in item.targets for text in texts):
            return False
        count += 1
    return count > 0


def _notices(
    planned: PlannedTask,
    sample_ids: Mapping[str, None],
    ids: Mapping[str, int],
) -> Iterator[str]:
    """Yield notes about samples without a prediction, and predictions without a sample."""
    missing = [id for id in sample_ids if id not in ids]
    if missing:
        yield _note_on(
            planned,
            missing,
            f"of {len(sample_ids):,} samples without a prediction",
        )
    left = [id for id in ids if id not in sample_ids]
    if left:  # the file may cover all data while a part of it is asked
        whole = {item.id for item in planned.samples}
        left = [id for id in left if id not in whole]
    if left:
        yield _note_on(
            planned,
            left,
            f"of {len(ids):,} ids of the predictions belong to no sample",
        )


def _note_on(
    planned: PlannedTask,
    ids: Sequence[str],
    what: str,
) -> str:
    """Return a note with the number of ids and the first few of them."""
    first_ids = ", ".join(map(repr, ids[:SHOWN])) + (", …" if len(ids) > SHOWN else "")
    return f"{planned.task.name}: {len(ids):,} {what}: {first_ids}"


PROMPTS_LOOKED_AT = 8


def check_leaks(planned: PlannedTask) -> None:
    """Raise if the first prompts contain the transcript of their recording, or if every
    question equals its answer.
    """
    leaks = Leaks(planned.scorings, planned.task.produces)
    where = f"task {planned.task.name!r}"
    if _asks_the_answer(planned):
        raise UsageError(
            "the question of every sample is its own target, word for word",
            where=where,
            fix="name two columns: --columns input=…,target=… (`input=` where the media are the whole question)",
        )
    transcripts: list[tuple[Sample, str]] = []
    try:
        for sample, prompt in _first_prompts(planned):
            leaks.look(sample, prompt)
            if leaks.is_transcript(prompt):
                transcripts.append((sample, _text_of(prompt)))
        if _tell_short_transcripts(transcripts):
            raise transcript_leak(transcripts[0][0])
    except DataError as error:
        raise UsageError(
            error.what,
            where=where,
            fix=error.fix,
        ) from error


def _first_prompts(planned: PlannedTask) -> Iterator[tuple[Sample, Prompt]]:
    """Yield the first samples with their prompts."""
    samples = (item for item in planned.view() if isinstance(item, Sample))
    for sample in islice(samples, PROMPTS_LOOKED_AT):
        try:
            prompt = planned.template(sample)
        except AssayError:
            continue  # counted when it is asked
        yield sample, prompt


def _tell_short_transcripts(prompts: Sequence[tuple[Sample, str]]) -> bool:
    """Return True if each prompt contains the transcript of its own recording, and no other transcript.

    Transcripts may be single words. A prompt that lists all words that may be spoken is
    accepted, because it also contains the other transcripts.
    """
    transcripts = {str(sample.target).strip().casefold() for sample, _ in prompts}
    return len(transcripts) > 1 and all(
        (word == str(sample.target).strip().casefold()) == is_whole(word, text)
        for sample, text in prompts
        for word in transcripts
        if word
    )


def _asks_the_answer(planned: PlannedTask) -> bool:
    """Return True if the input of every sample equals its target although the scorers compare text."""
    if (
        set(planned.task.produces) != {"text"}
        or not planned.scorings
        or planned.task.to_sample is not None
    ):
        return False
    if any(scoring.roles for scoring in planned.scorings):
        return False  # a judge may be asked about anything
    looked_at = 0
    for item in islice(planned.view(), ROWS_LOOKED_AT):
        if isinstance(item, Sample):
            if (
                not isinstance(item.input, str)
                or item.input != item.target
                or not item.input
            ):
                return False
            looked_at += 1
    return looked_at > 1


def _text_of(prompt: Prompt) -> str:
    """Return the text of a prompt in lower case."""
    return "\n".join(
        message.text for message in prompt.messages if message.parts is not None
    ).casefold()
