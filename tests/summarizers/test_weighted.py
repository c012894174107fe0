"""Means of groups: GenEval and WISE."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summary_context import Context, record

from assay.core import UsageError
from assay.summarizers.strata import GroupMean, wise_legacy, wise_verified


def samples(group, values, by="tag"):
    return [
        record(f"{group}-{number}", value, tags={by: group})
        for number, value in enumerate(values)
    ]


GENEVAL = [
    *samples("single_object", [1.0] * 8),
    *samples("two_object", [1.0, 1.0, 1.0, 0.0]),
    *samples("counting", [1.0, 0.0, 0.0, 0.0]),
    *samples("colors", [1.0] * 4),
    *samples("position", [1.0, 0.0, 0.0, 0.0]),
    *samples("color_attr", [1.0, 0.0]),
]


def test_geneval_is_the_mean_of_its_six_task_means():
    (result,) = GroupMean("tag")(GENEVAL, Context())

    assert (result.metric, result.value, result.n) == ("overall", 0.625, 26)
    assert sum(r.value for r in GENEVAL) / len(GENEVAL) == pytest.approx(
        0.692308, abs=1e-6
    )
    two = result.groups["tag"]["two_object"]
    assert (two.value, two.n, two.outcomes) == (0.75, 4, {"scored": 4})
    assert result.ci[0] < 0.625 < result.ci[1]


def test_weights_make_some_groups_count_more():
    records = [*samples("a", [1.0, 1.0]), *samples("b", [0.0, 0.0])]

    (result,) = GroupMean("tag", {"a": 3, "b": 1})(records, Context())

    assert result.value == 0.75


FIELDS = ["culture", "time", "space", "biology", "physics", "chemistry"]


@pytest.mark.parametrize(
    ("summarizer", "field", "value"),
    [
        (wise_legacy, "Culture", 0.4),
        (wise_legacy, "time", 0.167),
        (wise_legacy, "space", 0.133),
        (wise_legacy, "physics", 0.1),
        (wise_verified, "culture", 0.4),
        (wise_verified, "time", 0.12),
        (wise_verified, "chemistry", 0.12),
    ],
)
def test_each_version_of_wise_has_its_own_weights(summarizer, field, value):
    others = [name for name in FIELDS if name != field.lower()]
    records = samples(field, [1.0, 1.0], "category")
    records += [
        record for name in others for record in samples(name, [0.0, 0.0], "category")
    ]

    (result,) = summarizer(records, Context())

    assert result.value == pytest.approx(value)


def test_absent_groups_are_named():
    (result,) = wise_legacy(samples("culture", [1.0, 0.0], "category"), Context())

    assert result.value == 0.5
    assert result.flags[0].startswith(
        "without biology, chemistry, physics, space, time: the other weights"
    )


def test_a_group_without_a_weight_is_left_out_and_named():
    records = [
        *samples("culture", [1.0, 1.0], "category"),
        *samples("cooking", [0.0], "category"),
    ]

    (result,) = wise_verified(records, Context())

    assert result.value == 1.0
    assert result.flags[1] == "left out, category not known: cooking"


def test_an_unread_answer_is_0_and_a_lost_one_is_left_out():
    records = [
        *samples("a", [1.0, 1.0]),
        record("x", 0.0, "unparsed", tags={"tag": "a"}),
    ]
    records.append(record("y", None, "judge_error", tags={"tag": "a"}))

    (result,) = GroupMean("tag")(records, Context())

    assert (result.value, result.n) == (pytest.approx(2 / 3), 3)
    assert result.flags == ("unresolved 25.0%: in doubt",)


def test_where_lower_is_better_an_unread_answer_is_the_worst_and_the_result_says_so():
    records = [
        *samples("a", [0.2, 0.4]),
        record("x", 0.0, "unparsed", tags={"tag": "a"}),
    ]

    (result,) = GroupMean("tag")(records, Context(higher_is_better=False))

    assert (result.value, result.n) == (pytest.approx(1.6 / 3), 3)
    assert (
        not result.higher_is_better and not result.groups["tag"]["a"].higher_is_better
    )


def test_an_unread_answer_is_left_out_where_its_worst_value_is_not_known():
    records = [
        *samples("a", [0.2, 1.4]),
        record("x", 0.0, "unparsed", tags={"tag": "a"}),
    ]

    (result,) = GroupMean("tag")(records, Context(higher_is_better=False, bounds=None))

    assert (result.value, result.n) == (pytest.approx(0.8), 2)
    assert "unread answers left out: their worst value is not known" in result.flags


def test_an_unread_answer_is_the_lowest_of_a_rating():
    records = [*samples("a", [5.0]), record("x", 0.0, "truncated", tags={"tag": "b"})]

    (result,) = GroupMean("tag")(records, Context(bounds=(1.0, 5.0)))

    assert result.value == 3.0


def test_groups_without_spread_have_a_width_only_where_the_scale_ends():
    records = [*samples("a", [1.0] * 4), *samples("b", [1.0] * 3)]

    (ended,), (open_scale,) = (
        GroupMean("tag")(records, Context()),
        GroupMean("tag")(
            [*samples("a", [2.0] * 4), *samples("b", [2.0] * 3)], Context(bounds=None)
        ),
    )

    assert ended.value == 1.0 and ended.ci[0] < 0.7 and ended.ci[1] == 1.0
    assert (open_scale.value, open_scale.ci, open_scale.stderr) == (2.0, None, None)
    assert open_scale.interval == "none: no spread seen"


def test_a_group_of_one_sample_leaves_an_interval_where_the_scale_ends():
    records = [*samples("a", [1.0, 0.0, 1.0, 1.0]), *samples("b", [1.0])]

    (result,) = GroupMean("tag")(records, Context())

    assert result.value == 0.875 and 0.0 < result.ci[0] < 0.875 < result.ci[1] < 1.0


def test_one_named_value_of_several_can_be_chosen():
    records = [record("a", {"psnr": 10.0, "ssim": 0.5}, tags={"tag": "x"})]

    (result,) = GroupMean("tag", metric="ssim")(records, Context())

    assert (result.value, result.ci) == (0.5, None)


def test_a_weight_of_zero_is_refused():
    with pytest.raises(UsageError, match="needs weights above 0"):
        GroupMean("tag", {"a": 0})


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=10
    ),
    st.randoms(),
)
def test_the_order_of_samples_does_not_matter(rows, random):
    records = [
        record(str(number), value, tags={"tag": group})
        for number, (group, value) in enumerate(rows)
    ]

    (one,) = GroupMean("tag")(records, Context())
    (other,) = GroupMean("tag")(random.sample(records, len(records)), Context())

    assert one.value == pytest.approx(other.value)
    assert 0 <= one.value <= 1


def test_repeats_of_a_sample_are_one_sample_of_its_group():
    records = [replace(each, epoch=epoch) for epoch in range(3) for each in GENEVAL]

    (once,), (result,) = (
        GroupMean("tag")(GENEVAL, Context()),
        GroupMean("tag")(records, Context()),
    )

    assert (result.value, result.n, result.ci) == (
        pytest.approx(0.625),
        26,
        pytest.approx(once.ci),
    )
    assert {name: group.n for name, group in result.groups["tag"].items()}[
        "two_object"
    ] == 4


def test_a_sample_that_lost_an_answer_weighs_as_much_as_the_others():
    records = [
        record("a", 1.0, tags={"tag": "g"}),
        record("a", None, "model_error", epoch=1, tags={"tag": "g"}),
        record("b", 0.0, tags={"tag": "g"}),
        record("b", 0.0, epoch=1, tags={"tag": "g"}),
    ]

    (result,) = GroupMean("tag")(records, Context())

    assert (result.value, result.n) == (0.5, 2)


def test_samples_without_a_group_are_not_expected_in_the_value():
    (result,) = GroupMean("tag")(
        [*samples("a", [1.0, 0.0]), record("x", 1.0)], Context(n_expected=3)
    )

    assert (result.value, result.n, result.n_expected, result.outcomes) == (
        0.5,
        2,
        2,
        {"scored": 2},
    )
