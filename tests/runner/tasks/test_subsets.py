"""A subset of a shipped benchmark is a task of its own, and says which it is."""

import pytest

from assay.core import Sample, UsageError
from assay.runner.options import RunOptions
from assay.runner.plan.forecast import expected_requests
from assay.runner.plan.planning import make_plan
from assay.runner.tasks.resolve import find_subset


def planned(name, **options):
    (cell,) = make_plan(
        RunOptions(tasks=(name,), models=("scripted",), data="mini", **options)
    )
    return cell


@pytest.mark.parametrize(
    ("name", "whole", "subset", "protocol"),
    [
        ("mmlu_anatomy", "mmlu", "anatomy", "mmlu_anatomy"),
        (
            "mmlu_high_school_biology",
            "mmlu",
            "high_school_biology",
            "mmlu_high_school_biology",
        ),
        ("mmlu_pro_law", "mmlu_pro", "law", "mmlu_pro_law@direct-0shot"),
        ("mmlu_pro_cot_law", "mmlu_pro_cot", "law", "mmlu_pro_law@cot-0shot"),
        ("bbh_navigate", "bbh", "navigate", "bbh_navigate@cot"),
        ("BBH-Navigate", "bbh", "navigate", "bbh_navigate@cot"),
        ("bbh_direct_navigate", "bbh_direct", "navigate", "bbh_navigate@direct"),
        ("bbh_cot_fewshot_navigate", "bbh", "navigate", "bbh_navigate@cot"),
    ],
)
def test_the_longest_name_that_ships_is_the_whole(name, whole, subset, protocol):
    task = find_subset(name)

    assert task is not None
    assert (task.name, task.subset, task.protocol) == (
        f"{whole}_{subset}",
        subset,
        protocol,
    )


@pytest.mark.parametrize("name", ["gsm8k_cot", "nothing_at_all", "mmlu", "demo_asr"])
def test_a_task_without_tags_has_no_subsets(name):
    assert find_subset(name) is None


def test_only_samples_of_the_subset_are_asked():
    whole = [sample for sample in planned("mmlu").view() if isinstance(sample, Sample)]

    part = [
        sample
        for sample in planned("mmlu_anatomy").view()
        if isinstance(sample, Sample)
    ]

    assert 0 < len(part) < len(whole)
    assert [sample.id for sample in part] == [
        s.id for s in whole if s.tags["subject"] == "anatomy"
    ]


def test_a_subset_can_be_shuffled_and_cut_and_is_counted():
    cell = planned("mmlu_anatomy", shuffle=True, limit="1")

    (sample,) = cell.view()

    assert sample.tags["subject"] == "anatomy"
    assert expected_requests(planned("mmlu_anatomy")) == len(
        list(planned("mmlu_anatomy").view())
    )


def test_a_subset_and_the_whole_are_not_the_same_data():
    assert planned("mmlu_anatomy").digests["data"] != planned("mmlu").digests["data"]


def test_a_subset_that_is_not_there_is_answered_with_the_nearest():
    with pytest.raises(
        UsageError,
        match=r"task 'mmlu' has no subset 'anatmy'; fix: did you mean mmlu_anatomy\?",
    ):
        planned("mmlu_anatmy")
    with pytest.raises(
        UsageError,
        match="task 'mmlu_pro' has no subset 'zzz'; fix: its data has chemistry, math",
    ):
        planned("mmlu_pro_zzz")


@pytest.mark.parametrize(("limit", "count"), [("2", 2), (None, None)])
def test_how_many_samples_of_several_files_there_are_is_known(limit, count):
    cell = planned("bbh", limit=limit)

    assert expected_requests(cell) == (count or len(list(cell.view())))
