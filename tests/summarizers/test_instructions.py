"""Accuracy over instructions: pooled, not the mean over prompts."""

from dataclasses import replace

import pytest
from summary_context import Context, record

from assay.summarizers.pooled import instructions


def judged(id: str, *followed: bool):
    each = [(f"kind:{place}", verdict) for place, verdict in enumerate(followed)]
    counts = {"asked": len(followed), "strict": sum(followed), "loose": len(followed)}
    return record(id, 1.0, details={**counts, "each_strict": each, "each_loose": each})


def test_each_instruction_counts_once():
    results = list(
        instructions(
            [judged("a", True), judged("b", True, False, False)],
            Context(scorer="ifeval"),
        )
    )

    assert {result.metric: result.value for result in results} == pytest.approx(
        {"ifeval.instruction_strict": 0.5, "ifeval.instruction_loose": 1.0}
    )
    kinds = results[0].groups["instruction"]
    assert {name: (kind.value, kind.n) for name, kind in kinds.items()} == {
        "kind:0": (1.0, 2),
        "kind:1": (0.0, 1),
        "kind:2": (0.0, 1),
    }


def test_repeats_of_a_prompt_are_one_verdict_on_each_of_its_instructions():
    once = [judged(str(n), n % 2 == 0) for n in range(8)]

    one, four = (
        next(iter(instructions(records, Context(scorer="ifeval")))).groups[
            "instruction"
        ]["kind:0"]
        for records in (
            once,
            [replace(each, epoch=epoch) for epoch in range(4) for each in once],
        )
    )

    assert (four.value, four.ci, four.n) == (one.value, one.ci, 8)


def test_answers_that_differ_count_as_their_mean():
    records = [
        judged("a", True),
        replace(judged("a", False), epoch=1),
        judged("b", True),
    ]

    (kind,) = (
        next(iter(instructions(records, Context(scorer="ifeval"))))
        .groups["instruction"]
        .values()
    )

    assert (kind.value, kind.n) == (0.75, 2)
