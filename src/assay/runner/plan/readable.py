"""What scorers can read: one for which the answers of a run hold nothing is refused before anything is asked or scored.

A scorer declares in `reads` what it cannot do without: `text`, `image`, `audio` or `video` of an answer, an `answer` of
any kind, `likelihood`s, the `logprobs` of tokens, and of the sample its `target`. One that declares nothing is tried.
"""

from ...core import GenerateOptions, Prompt, UsageError
from ..scoring.scoring import Scoring
from .cell import Cell

OF_SAMPLES = frozenset({"target"})
SCORERS_OF_LIKELIHOODS = "choice_likelihood, last_word, perplexity"
_WORDS = {
    "likelihood": "likelihoods",
    "logprobs": "log-probabilities of tokens",
    "answer": "answers",
}


def check_reads(cell: Cell) -> None:
    """Refuses a scorer that would find nothing of what it reads in any answer of a cell."""
    prompt = cell.first_prompt()
    if prompt is None:
        return
    kinds = held_by(prompt, cell.options_for(prompt))
    for scoring in cell.scorings:
        for kind in scoring.reads:
            if kind not in kinds and kind not in OF_SAMPLES:
                raise _unreadable(cell, scoring, kind, kinds)


def held_by(prompt: Prompt, options: GenerateOptions) -> frozenset[str]:
    """What the answer to a prompt has in it."""
    if prompt.continuations is not None or prompt.rolling:
        return frozenset({"likelihood"})
    tokens = () if options.logprobs is None else ("logprobs",)
    return frozenset({"answer", *prompt.produces, *tokens})


def _unreadable(
    cell: Cell, scoring: Scoring, kind: str, kinds: frozenset[str]
) -> UsageError:
    words = " and ".join(_WORDS.get(one, one) for one in sorted(kinds - {"answer"}))
    by = f" by {cell.measure}" if cell.measure else ""
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
        where=f"task {cell.task.name!r}",
        fix=fix,
    )
