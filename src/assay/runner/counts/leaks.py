"""Leaked targets: a target that occurs literally in its prompt.

A model that repeats such a prompt would seem perfect. If the prompt of a recording
contains the transcript, the task is refused before the run; if this happens only in a
later sample, that sample is a data error. In other tasks a leak may be intended, for
example if the answer is a sentence of a passage, so it is only counted and reported.
Only long targets are searched for, because labels and short answers occur in many
questions. A short target is reported only if it is a whole message, and is neither a
number nor a single character.
"""

from collections.abc import Iterator, Sequence

from ...core import DataError, Prompt, Sample, Text
from ...core.errors import plural
from ..scoring.scoring import Scoring

FEW_WORDS = 4
LONG_WORD = 24
LONG_HAN = 8
"""Minimum length of a long target in a script without spaces, such as Chinese."""


class Leaks:
    """Counts the samples of one task × model whose prompt contains their target."""

    def __init__(
        self,
        scorings: Sequence[Scoring] = (),
        produces: Sequence[str] = ("text",),
    ) -> None:
        self._for_transcripts = any(
            getattr(scoring.scorer, "measures_transcripts", False)
            for scoring in scorings
        )
        # A text to be spoken or drawn belongs in the prompt.
        self._looks = set(produces) <= {"text"}
        self._ids: dict[str, None] = {}

    def look(self, sample: Sample, prompt: Prompt) -> None:
        """Check whether the target occurs in the prompt. Raise `DataError` if it is the transcript of a recording."""
        if not self._looks or sample.target is None:
            return
        is_transcript = self._for_transcripts and self.is_transcript(prompt)
        if not is_leak(sample, prompt, fold=is_transcript):
            return
        if is_transcript:
            raise transcript_leak(sample)
        self._ids[sample.id] = None

    def is_transcript(self, prompt: Prompt) -> bool:
        """Return True if the task is to transcribe a recording that the prompt contains."""
        return (
            self._for_transcripts
            and self._looks
            and any(medium.kind == "audio" for medium in prompt.media)
        )

    def to_plain(self) -> dict[str, int]:
        """Return the number of leaked targets for `summary.json`; empty if there are none."""
        if self._ids:
            return {"targets_in_prompts": len(self._ids)}
        return {}

    def lines(self, task: str) -> Iterator[str]:
        """Yield a warning if prompts contain their targets."""
        if not self._ids:
            return
        samples = plural(
            len(self._ids), "sample occurs in its", "samples occurs in their own"
        )
        first_id = next(iter(self._ids))
        yield (
            f"warning: {task}: the target of {samples} prompt, word for word (the first:"
            f" {first_id!r}): look at it with --dry_run before trusting the number"
        )


def transcript_leak(sample: Sample) -> DataError:
    """Return the error for a prompt that contains the transcript of its recording."""
    return DataError(
        f"the transcript of sample {sample.id!r} occurs in its prompt",
        fix="show the model the recording alone (--columns input=), or a template without the transcript",
    )


def is_leak(
    sample: Sample,
    prompt: Prompt,
    *,
    fold: bool = False,
) -> bool:
    """Return True if a prompt contains its target although the task does not require this.

    With `fold`, case is ignored.
    """
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
        type(text) is str and _tells(text, prompt, fold) for text in target
    )


def _tells(
    target: str,
    prompt: Prompt,
    fold: bool,
) -> bool:
    """Return True if a message of the prompt contains the target. Few-shot examples are not searched."""
    target_text = target.strip()
    words = target_text.count(" ")
    is_long = len(target_text) >= LONG_WORD or words >= FEW_WORDS - 1
    if not is_long and not target_text.isascii():
        is_long = sum(character >= "\u2e80" for character in target_text) >= LONG_HAN
    if fold:
        target_text = target_text.casefold()
    for message in prompt.messages:
        if message.role == "assistant":
            continue  # the answer of a solved example, which may also be the answer to this question
        for part in message.parts or ():
            if type(part) is not Text:
                continue
            if fold:
                text = part.text.casefold()
            else:
                text = part.text
            if is_long and target_text in text:
                if is_whole(target_text, text):
                    return True
            elif (
                len(target_text) == len(text) > 1
                and target_text == text
                and not target_text.isdigit()
            ):
                return True
    return False


def is_whole(wanted: str, text: str) -> bool:
    """Return True if a text contains `wanted` as whole words, not only inside longer words."""
    offset = text.find(wanted)
    while offset >= 0:
        end = offset + len(wanted)
        if offset:
            before = text[offset - 1 : offset]
        else:
            before = ""
        after = text[end : end + 1]
        joins_before = _are_joined(before, wanted[0])
        joins_after = _are_joined(after, wanted[-1])
        if not joins_before and not joins_after:
            return True
        offset = text.find(wanted, offset + 1)
    return False


def _are_joined(neighbour: str, edge: str) -> bool:
    """Return True if `neighbour`, the character next to a match, belongs to the same word.

    CJK characters never do.
    """
    if not neighbour or neighbour >= "\u2e80":
        return False
    return (neighbour + edge).isalnum()
