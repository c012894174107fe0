"""Leaks: a target that stands word for word in its own prompt. A model that repeats the prompt would look perfect.

In a transcript of a recording that is never meant: such a task is refused, and a later sample with the fault is a
data error. Elsewhere it may be meant, as where the answer is a sentence of a passage; it is counted and said. Looked
for are targets of some length, since labels and short answers stand in many questions by right, and texts that are
nothing but the target.
"""

from collections.abc import Iterator, Sequence

from ...core import DataError, Prompt, Sample, Text
from ..scoring.scoring import Scoring

FEW_WORDS = 4
LONG_WORD = 24
LONG_HAN = 8
"""Characters of a script that is written without blanks."""


class Leaks:
    """Counts the samples of a cell whose prompt tells their target."""

    def __init__(
        self, scorings: Sequence[Scoring] = (), produces: Sequence[str] = ("text",)
    ) -> None:
        self._for_transcripts = any(
            getattr(one.scorer, "measures_transcripts", False) for one in scorings
        )
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
        return (
            self._for_transcripts
            and self._looks
            and any(medium.kind == "audio" for medium in prompt.media)
        )

    def to_plain(self) -> dict[str, int]:
        """For `summary.json`; empty where there is none."""
        return {"targets_in_prompts": len(self._ids)} if self._ids else {}

    def lines(self, task: str) -> Iterator[str]:
        """For people."""
        if self._ids:
            count = len(self._ids)
            whose = (
                "1 sample stands in its"
                if count == 1
                else f"{count} samples stands in their own"
            )
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


def is_leak(sample: Sample, prompt: Prompt, *, fold: bool = False) -> bool:
    """Whether a target stands in its prompt where it has no business; with `fold`, in whatever case."""
    target = sample.target
    if (
        target is None
        or sample.choices
        or prompt.continuations is not None
        or prompt.rolling
    ):
        return False
    if type(target) is str:
        return _tells(target, prompt, fold)
    return type(target) is tuple and any(
        type(one) is str and _tells(one, prompt, fold) for one in target
    )


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
                if is_whole(wanted, text):
                    return True
            elif (
                len(wanted) == len(text) > 1 and wanted == text and not wanted.isdigit()
            ):
                return True
    return False


def is_whole(wanted: str, text: str) -> bool:
    """Whether the words stand apart from what is before and after them somewhere."""
    at = text.find(wanted)
    while at >= 0:
        before, after = (
            text[at - 1 : at] if at else "",
            text[at + len(wanted) : at + len(wanted) + 1],
        )
        joined = (before + wanted[0]).isalnum() and before != "" and before < "\u2e80"
        joins = (wanted[-1] + after).isalnum() and after != "" and after < "\u2e80"
        if not joined and not joins:
            return True
        at = text.find(wanted, at + 1)
    return False
