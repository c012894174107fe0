"""Counts pooled over a corpus."""

import pytest
from summary_context import Context, record

from assay.summarizers.breakdown import MAX_GROUPS
from assay.summarizers.corpus import Pool, corpus_result
from assay.summarizers.recipes import Recipe

RATE = Recipe("ratio", (("errors",), ("words",)))


def counted(id, errors, words, **more):
    return record(
        id, errors / words, details={"errors": errors, "words": words}, **more
    )


def test_scores_with_different_numbers_of_counts_cannot_be_pooled():
    records = [
        record("a", 1.0, details={"stats": [1, 2]}),
        record("b", 1.0, details={"stats": [1, 2, 3]}),
    ]

    with pytest.raises(ValueError, match="different numbers of counts"):
        Pool.of(records, Recipe("bleu", "stats").read)


def test_a_tag_with_a_value_for_each_sample_is_a_name_and_not_a_breakdown():
    records = [
        counted(str(i), 1, 4, tags={"file": str(i), "set": "all"})
        for i in range(MAX_GROUPS + 1)
    ]

    result = corpus_result(records, Context(scorer="rate"), "rate", RATE)

    assert (result.value, list(result.groups)) == (0.25, ["set"])


def test_a_group_without_clusters_is_estimated_by_its_samples():
    clustered = [
        counted(f"c{i}", i % 3, 9, cluster=f"speaker {i // 2}", tags={"set": "read"})
        for i in range(20)
    ]
    alone = [counted(f"a{i}", i % 3, 9, tags={"set": "free"}) for i in range(20)]

    groups = corpus_result(
        [*clustered, *alone], Context(scorer="rate"), "rate", RATE
    ).groups["set"]

    assert (groups["read"].clusters, groups["free"].clusters) == (10, None)
