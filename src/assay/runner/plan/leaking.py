"""Leaks seen before anything is asked: prompts that hold the transcript, questions that are their own answer."""

from collections.abc import Iterator, Sequence
from itertools import islice

from ...core import AssayError, DataError, Prompt, Sample, UsageError
from ..counts.leaks import Leaks, is_whole, told_transcript
from .cell import Cell

ROWS_LOOKED_AT = 2000
PROMPTS_LOOKED_AT = 8


def check_leaks(cell: Cell) -> None:
    """Refuses a task whose first prompts hold the transcript, or whose questions are all their own answer."""
    leaks = Leaks(cell.scorings, cell.task.produces)
    where = f"task {cell.task.name!r}"
    if _asks_the_answer(cell):
        raise UsageError(
            "the question of every sample is its own target, word for word",
            where=where,
            fix="name two columns: --columns input=…,target=… (`input=` where the media are the whole question)",
        )
    transcripts: list[tuple[Sample, str]] = []
    try:
        for sample, prompt in _first_prompts(cell):
            leaks.look(sample, prompt)
            if leaks.is_transcript(prompt):
                transcripts.append((sample, _text_of(prompt)))
        if _tell_short_transcripts(transcripts):
            raise told_transcript(transcripts[0][0])
    except DataError as error:
        raise UsageError(error.what, where=where, fix=error.fix) from error


def _first_prompts(cell: Cell) -> Iterator[tuple[Sample, Prompt]]:
    samples = (item for item in cell.view() if isinstance(item, Sample))
    for sample in islice(samples, PROMPTS_LOOKED_AT):
        try:
            prompt = cell.template(sample)
        except AssayError:
            continue  # counted when its turn comes
        yield sample, prompt


def _tell_short_transcripts(prompts: Sequence[tuple[Sample, str]]) -> bool:
    """Whether each prompt holds its own transcript, of a word perhaps, and none of those that differ from it.

    A list of all words that may be said holds those of the others too.
    """
    transcripts = {str(sample.target).strip().casefold() for sample, _ in prompts}
    return len(transcripts) > 1 and all(
        (word == str(sample.target).strip().casefold()) == is_whole(word, text)
        for sample, text in prompts
        for word in transcripts
        if word
    )


def _asks_the_answer(cell: Cell) -> bool:
    """Whether input and target are one text in all samples, for scorers that compare what is written."""
    if (
        set(cell.task.produces) != {"text"}
        or not cell.scorings
        or cell.task.to_sample is not None
    ):
        return False
    if any(scoring.roles for scoring in cell.scorings):
        return False  # a judge may be asked about anything
    looked_at = 0
    for item in islice(cell.view(), ROWS_LOOKED_AT):
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
    return "\n".join(
        message.text for message in prompt.messages if message.parts is not None
    ).casefold()
