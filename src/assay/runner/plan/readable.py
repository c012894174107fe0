"""Refuse a scorer that could not read the answers of a run, before anything is asked.

A scorer declares in `reads` what it needs: `text`, `image`, `audio` or `video` of an answer, an `answer` of any
kind, `likelihood`s, the `logprobs` of tokens, and the `target` of the sample. A scorer that declares nothing is
accepted.
"""

from ...core import GenerateOptions, Prompt, UsageError
from ..scoring.scoring import Scoring
from .planned_task import PlannedTask

OF_SAMPLES = frozenset({"target"})
SCORERS_OF_LIKELIHOODS = "choice_likelihood, last_word, perplexity"
_WORDS = {
    "likelihood": "likelihoods",
    "logprobs": "log-probabilities of tokens",
    "answer": "answers",
}


def check_reads(planned: PlannedTask) -> None:
    """Raise if a scorer reads something that no answer of the task × model has."""
    prompt = planned.first_prompt()
    if prompt is None:
        return
    kinds = held_by(prompt, planned.options_for(prompt))
    for scoring in planned.scorings:
        for kind in scoring.reads:
            if kind not in kinds and kind not in OF_SAMPLES:
                raise _unreadable(planned, scoring, kind, kinds)


def held_by(prompt: Prompt, options: GenerateOptions) -> frozenset[str]:
    """Return the kinds of content that the answer to a prompt has."""
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
    """Return the error for a scorer that has nothing to read."""
    words = " and ".join(
        _WORDS.get(kind_of_content, kind_of_content)
        for kind_of_content in sorted(kinds - {"answer"})
    )
    by = f" by {planned.measure}" if planned.measure else ""
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
