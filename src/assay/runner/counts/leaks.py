"""Leaks: a target that stands word for word in its own prompt. A model that repeats the prompt would look perfect.

In a transcript of a recording that is never meant: such a task is refused, and a later sample with the fault is a
data error. Elsewhere it may be meant, as where the answer is a sentence of a passage; it is counted and said. Looked
for are targets of some length, since labels and short answers stand in many questions by right, and texts that are
nothing but the target.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from ...core import AssayError, DataError, Prompt, Sample, Text, UsageError
from ..plan.cell import Cell
from ..score.scoring import Scoring

FEW_WORDS = 4
LONG_WORD = 24
LONG_HAN = 8
"""Characters of a script that is written without blanks."""
ROWS_LOOKED_AT = 2000
PROMPTS_LOOKED_AT = 8


class Leaks:
    """Counts the samples of a cell whose prompt tells their target."""

    def __init__(self, scorings: Sequence[Scoring] = (), produces: Sequence[str] = ("text",)) -> None:
        self._for_transcripts = any(getattr(one.scorer, "measures_transcripts", False) for one in scorings)
        # What is to be spoken or drawn stands in the prompt by right.
        self._looks = set(produces) <= {"text"}
        self._ids: dict[str, None] = {}

    def look(self, sample: Sample, prompt: Prompt) -> None:
        """Notes a target in its prompt; raises `DataError` where it is the transcript of a recording."""
        if not self._looks or sample.target is None:
            return
        is_transcript = self._for_transcripts and self.is_transcript(prompt)
        if not is_leak(sample, prompt, fold=is_transcript):
            return
        if is_transcript:
            raise told_transcript(sample)
        self._ids[sample.id] = None

    def is_transcript(self, prompt: Prompt) -> bool:
        """Whether what is asked for is what is said in a recording."""
        return self._for_transcripts and self._looks and any(medium.kind == "audio" for medium in prompt.media)

    def to_plain(self) -> dict[str, int]:
        """For `summary.json`; empty where there is none."""
        return {"targets_in_prompts": len(self._ids)} if self._ids else {}

    def lines(self, task: str) -> Iterator[str]:
        """For people."""
        if self._ids:
            count = len(self._ids)
            whose = "1 sample stands in its" if count == 1 else f"{count} samples stands in their own"
            yield (
                f"warning: {task}: the target of {whose} prompt, word for word (the first:"
                f" {next(iter(self._ids))!r}): look at it with --dry_run before trusting the number"
            )


def told_transcript(sample: Sample) -> DataError:
    """The fault of a prompt that holds the words of its recording."""
    return DataError(
        f"the transcript of sample {sample.id!r} stands in its prompt",
        fix="show the model the recording alone (--columns input=), or a template without the transcript",
    )


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
    said = {str(sample.target).strip().casefold() for sample, _ in prompts}
    return len(said) > 1 and all(
        (word == str(sample.target).strip().casefold()) == _is_whole(word, text)
        for sample, text in prompts
        for word in said
        if word
    )


def _asks_the_answer(cell: Cell) -> bool:
    """Whether input and target are one text in all samples, for scorers that compare what is written."""
    if set(cell.task.produces) != {"text"} or not cell.scorings or cell.task.to_sample is not None:
        return False
    if any(scoring.roles for scoring in cell.scorings):
        return False  # a judge may be asked about anything
    looked_at = 0
    for item in islice(cell.view(), ROWS_LOOKED_AT):
        if isinstance(item, Sample):
            if not isinstance(item.input, str) or item.input != item.target or not item.input:
                return False
            looked_at += 1
    return looked_at > 1


def is_leak(sample: Sample, prompt: Prompt, *, fold: bool = False) -> bool:
    """Whether a target stands in its prompt where it has no business; with `fold`, in whatever case."""
    target = sample.target
    if target is None or sample.choices or prompt.continuations is not None or prompt.rolling:
        return False
    if type(target) is str:
        return _tells(target, prompt, fold)
    return type(target) is tuple and any(type(one) is str and _tells(one, prompt, fold) for one in target)


def _tells(target: str, prompt: Prompt, fold: bool) -> bool:
    wanted = target.strip()
    is_long = len(wanted) >= LONG_WORD or wanted.count(" ") >= FEW_WORDS - 1
    if not is_long and not wanted.isascii():
        is_long = sum(character >= "\u2e80" for character in wanted) >= LONG_HAN
    if fold:
        wanted = wanted.casefold()
    for message in prompt.messages:
        if message.role == "assistant":
            continue  # the answer of a solved example, which another question may share
        for part in message.parts or ():
            if type(part) is not Text:
                continue
            text = part.text.casefold() if fold else part.text
            if is_long and wanted in text:
                if _is_whole(wanted, text):
                    return True
            elif len(wanted) == len(text) > 1 and wanted == text and not wanted.isdigit():
                return True
    return False


def _text_of(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages if message.parts is not None).casefold()


def _is_whole(wanted: str, text: str) -> bool:
    """Whether the words stand apart from what is before and after them somewhere."""
    at = text.find(wanted)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(wanted) : at + len(wanted) + 1]
        joined = (before + wanted[0]).isalnum() and before != "" and before < "\u2e80"
        joins = (wanted[-1] + after).isalnum() and after != "" and after < "\u2e80"
        if not joined and not joins:
            return True
        at = text.find(wanted, at + 1)
    return False
