"""Leaks that are visible before anything is asked: prompts with the transcript, questions that are their own answer."""

from collections.abc import Iterator, Sequence
from itertools import islice

from ...core import AssayError, DataError, Prompt, Sample, UsageError
from ..counts.leaks import Leaks, is_whole, told_transcript
from .planned_task import PlannedTask

ROWS_LOOKED_AT = 2000
PROMPTS_LOOKED_AT = 8


def check_leaks(planned: PlannedTask) -> None:
    """Raise if the first prompts contain the transcript, or if every question is its own answer."""
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
            raise told_transcript(transcripts[0][0])
    except DataError as error:
        raise UsageError(error.what, where=where, fix=error.fix) from error


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
    """Return True if each prompt contains its own transcript, even of one word, and no other transcript.

    A list of all words that may be spoken contains the other transcripts, too.
    """
    transcripts = {str(sample.target).strip().casefold() for sample, _ in prompts}
    return len(transcripts) > 1 and all(
        (word == str(sample.target).strip().casefold()) == is_whole(word, text)
        for sample, text in prompts
        for word in transcripts
        if word
    )


def _asks_the_answer(planned: PlannedTask) -> bool:
    """Return True if input and target are the same text in all samples, for scorers that compare text."""
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
