"""Questions that count together: MME and HallusionBench."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summary_context import Context, record

from assay.core import SummarizerError
from assay.summarizers.pairs import COGNITION, PERCEPTION, HallusionBench, Mme


def pictures(verdicts, category="existence"):
    return [
        record(
            f"{category}-{picture}-{question}",
            value,
            group=f"{category}-{picture}",
            tags={"category": category},
        )
        for picture, values in enumerate(verdicts)
        for question, value in enumerate(values)
    ]


KNOWN = [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


def test_a_category_scores_questions_and_images():
    (result,) = Mme()(pictures(KNOWN), Context())

    category = result.groups["category"]["existence"]
    assert category.details == {"acc": 62.5, "acc_plus": 50.0, "pictures": 4}
    assert (category.value, category.n) == (112.5, 8)
    assert (result.metric, result.value) == ("perception", 112.5)
    assert result.ci[0] < 112.5 < result.ci[1]


def test_one_of_two_images_with_both_right_is_125():
    (result,) = Mme()(pictures([[1.0, 1.0], [1.0, 0.0]]), Context())

    assert result.value == 125.0


def test_perception_adds_up_ten_categories_and_cognition_four():
    records = [
        r
        for name in (*PERCEPTION, *COGNITION)
        for r in pictures([[1.0, 1.0], [1.0, 1.0]], name)
    ]

    results = {result.metric: result for result in Mme()(records, Context())}

    assert {name: result.value for name, result in results.items()} == {
        "perception": 2000.0,
        "cognition": 800.0,
    }
    assert not results["perception"].flags


def test_a_category_is_known_in_any_case():
    (result,) = Mme()(pictures(KNOWN, "OCR"), Context())

    assert result.groups["category"]["ocr"].value == 112.5


def test_absent_categories_are_named():
    (result,) = Mme()(pictures(KNOWN, "count"), Context())

    assert result.flags[0].startswith("without existence, position")


def test_an_image_with_a_lost_question_leaves_acc_plus():
    records = [*pictures(KNOWN), *pictures([[1.0, 1.0]], "count")]
    records[-1] = record(
        "count-0-1", None, "model_error", group="count-0", tags={"category": "count"}
    )
    records += [
        record(f"count-1-{k}", 1.0, group="count-1", tags={"category": "count"})
        for k in range(2)
    ]

    (result,) = Mme()(records, Context())

    count = result.groups["category"]["count"]
    assert (count.value, count.n) == (200.0, 3)
    assert count.details == {"acc": 100.0, "acc_plus": 100.0, "pictures": 1}
    assert "1 images with an unresolved question left out of acc+" in result.flags


def test_an_unread_answer_counts_as_wrong():
    records = pictures([[1.0, 1.0], [1.0, 1.0]])
    records[0] = record(
        "existence-0-0",
        0.0,
        "unparsed",
        group="existence-0",
        tags={"category": "existence"},
    )

    (result,) = Mme()(records, Context())

    assert result.value == 75.0 + 50.0


def test_a_category_outside_the_benchmark_is_reported_by_itself():
    (result,) = Mme()(pictures(KNOWN, "animals"), Context())

    assert (result.metric, result.value) == ("mme", 112.5)


def test_a_sample_without_an_image_is_refused():
    with pytest.raises(SummarizerError, match="sample 'a' has no image"):
        list(Mme()([record("a", 1.0)], Context()))


def test_nothing_scored_is_one_row_without_a_value():
    (result,) = Mme()([], Context())

    assert (result.value, result.interval) == (None, "none: nothing was scored")


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=2),
        min_size=1,
        max_size=6,
    ),
    st.randoms(),
)
def test_the_order_of_samples_does_not_matter(verdicts, random):
    records = pictures(verdicts)

    (one,), (other,) = (
        Mme()(records, Context()),
        Mme()(random.sample(records, len(records)), Context()),
    )

    assert one.value == pytest.approx(other.value)
    assert 0 <= one.value <= 200


def variant(set_id, figure, question, value, outcome="scored"):
    tags = {
        "l2-category": "chart",
        "set_id": set_id,
        "figure_id": figure,
        "question_id": question,
    }
    return record(f"{set_id}_{figure}_{question}", value, outcome, tags=tags)


HALLUSION = [
    variant("0", "0", "0", 1.0),
    variant("0", "0", "1", 1.0),
    variant("0", "1", "0", 1.0),
    variant("0", "1", "1", 0.0),
    variant("1", "0", "0", 1.0),
]


def test_questions_and_figures_are_right_only_as_a_whole():
    values = {
        result.metric: result.value for result in HallusionBench()(HALLUSION, Context())
    }

    assert values == pytest.approx({"aAcc": 4 / 5, "qAcc": 2 / 3, "fAcc": 2 / 3})


def test_a_group_with_an_unresolved_sample_is_left_out_and_flagged():
    records = [*HALLUSION, variant("1", "0", "1", None, "model_error")]

    _, questions, figures = HallusionBench()(records, Context())

    assert (questions.value, figures.value) == (2 / 3, 0.5)
    assert "1 groups with an unresolved sample left out" in figures.flags


def test_a_sample_without_the_tags_is_refused():
    with pytest.raises(SummarizerError, match="sample 'a' has no tag 'l2-category'"):
        list(HallusionBench()([record("a", 1.0)], Context()))


def test_perception_counts_its_own_samples_and_each_once():
    once = [*pictures(KNOWN), *pictures(KNOWN[:2], "code_reasoning")]
    records = [replace(each, epoch=epoch) for epoch in range(3) for each in once]

    perception, cognition = Mme()(records, Context(n_expected=12))

    assert (perception.n_expected, cognition.n_expected) == (8, 4)
    assert (perception.n, perception.outcomes, cognition.n, cognition.outcomes) == (
        8,
        {"scored": 24},
        4,
        {"scored": 12},
    )
    assert (
        perception.value,
        perception.groups["category"]["existence"].details["pictures"],
    ) == (112.5, 4)


def test_both_questions_of_an_image_must_be_right_in_the_same_attempt():
    first, second = (
        pictures([[1.0, 0.0]]),
        [replace(each, epoch=1) for each in pictures([[0.0, 1.0]])],
    )

    (mean,), (best,) = (
        Mme()([*first, *second], Context(options={"reducer": reducer}))
        for reducer in ("mean", "max")
    )

    # Each question was right once, the two of them never together.
    assert (mean.value, best.value) == (50.0, 100.0) and best.flags[0] == "reducer max"


def test_questions_that_show_no_figure_stay_out_of_the_figures_where_that_is_asked_for():
    # The set of VD and the set of VS have one name; VS question 0 is asked without a figure, and wrongly.
    def answer(category, figure, value):
        tags = {
            "category": category,
            "l2-category": "ocr",
            "set_id": "1",
            "figure_id": figure,
            "question_id": "0",
        }
        return record(f"{category}-{figure}", value, tags=tags)

    records = [
        answer("VD", "0", 1.0),
        answer("VD", "1", 1.0),
        answer("VS", "0", 0.0),
        answer("VS", "1", 1.0),
    ]
    official = HallusionBench(
        set=("category", "l2-category", "set_id"), figureless=("VS", "0")
    )

    values = {result.metric: result.value for result in official(records, Context())}
    as_in_vlmevalkit = {
        result.metric: result.value for result in HallusionBench()(records, Context())
    }

    assert values == {"aAcc": 0.75, "qAcc": 0.5, "fAcc": 1.0}
    assert as_in_vlmevalkit == {"aAcc": 0.75, "qAcc": 0.0, "fAcc": 0.5}
