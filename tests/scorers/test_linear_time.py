"""No scorer is slower than linear on hostile text: as much of each as a model may write is read in little CPU time."""

import inspect
import time

import pytest
from fault_counts import COUNTS

from assay.catalogue import SCORERS
from assay.core import AssayError, Output, Sample, Spec
from assay.registry import scorers

pytestmark = pytest.mark.faults
SIZE = COUNTS.hostile_characters
PIECES = {
    "newlines": "\n", "blanks": " ", "blank lines": " \n", "one letter": "a", "brackets": "(",
    "nested LaTeX": "\\frac{1}{",
    "boxes": "\\boxed{", "digits": "9", "numbers": "1,", "option letters": "A, B, ", "declarations": "answer is ",
    "Chinese": "答案是",
    "tags": "<think>", "mixed": "A. (\\frac{1}{2}) the answer is 1,000\n",
}  # fmt: skip
CPU_SECONDS = 0.5 + 2.5 * SIZE / 1_000_000
"""Of a million the slowest pair, BLEU of brackets, takes 1.7; CPU time grows too where many share a machine."""
CHOICES = ("cat", "dog", "bird", "fish")


def text_scorers():
    for name in sorted(SCORERS):
        try:
            scorer = scorers.build(Spec.of(name, where="test"), where="test")
        except AssayError:
            continue  # needs options or a library
        call = getattr(scorer, "__call__", scorer)  # noqa: B004
        if not (getattr(scorer, "needs", ()) or inspect.iscoroutinefunction(call)):
            yield name, scorer


@pytest.mark.parametrize("kind", PIECES)
def test_every_scorer_reads_a_long_hostile_text_in_linear_time(kind):
    text = PIECES[kind] * (SIZE // len(PIECES[kind].encode()))
    slow = {}
    for name, scorer in text_scorers():
        is_choice = "choice" in name or "mmlu" in name
        sample = Sample(
            "a", "q", "B" if is_choice else "42", CHOICES if is_choice else ()
        )
        began = time.process_time()
        try:
            scorer(sample, Output.of(text))
        except Exception:
            pass
        if (seconds := time.process_time() - began) > CPU_SECONDS:
            slow[name] = round(seconds, 1)

    assert slow == {}
