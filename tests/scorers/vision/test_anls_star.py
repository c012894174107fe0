"""ANLS*: structured answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Json, Outcome, Output, Sample
from assay.scorers.vision.anls import AnlsStar, anls_star, best_pairs

LEAVES = st.one_of(st.none(), st.integers(-99, 99), st.text("abc ", max_size=5))
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner)
    ),
    max_leaves=8,
)


def test_one_of_three_leaves_is_wrong():
    assert anls_star(
        {"a": 1, "b": ["x", "y"]}, {"a": 1, "b": ["x", "z"]}
    ) == pytest.approx(2 / 3)


def test_lists_are_compared_in_any_order():
    assert anls_star(["red", "green", "blue"], ["blue", "red", "green"]) == 1.0


def test_missing_and_invented_items_both_cost():
    assert anls_star(["red", "green"], ["red"]) == 0.5
    assert anls_star({"a": "red"}, {"a": "red", "b": "green"}) == 0.5


def test_a_tuple_means_any_of_these():
    assert anls_star({"colour": ("red", "crimson")}, {"colour": "crimson"}) == 1.0


def test_json_is_found_in_a_fenced_answer():
    score = AnlsStar()(
        Sample(id="a", target={"total": "12"}),
        Output.of('Here:\n```json\n{"total": 12}\n```'),
    )

    assert score.value == 1.0


def test_a_structured_output_needs_no_parsing():
    assert AnlsStar()(Sample(id="a", target=["x"]), Output.of(Json(["x"]))).value == 1.0


def test_prose_instead_of_a_record_is_unparsed():
    assert (
        AnlsStar()(
            Sample(id="a", target={"total": "12"}), Output.of("it is 12")
        ).outcome
        is Outcome.UNPARSED
    )


def test_a_plain_target_is_compared_as_text():
    assert (
        AnlsStar()(Sample(id="a", target=("12", "twelve")), Output.of("Twelve")).value
        == 1.0
    )


def test_a_sample_without_target_is_a_fault_of_the_data():
    assert AnlsStar()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


@settings(deadline=None)
@given(TREES, TREES)
def test_the_score_stays_in_range(target, answer):
    assert 0.0 <= anls_star(target, answer) <= 1.0


@settings(deadline=None)
@given(TREES)
def test_the_target_itself_is_right(tree):
    assert anls_star(tree, tree) == 1.0


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=1, max_size=4
    )
)
def test_no_pairing_is_worth_more_than_the_best(weights):
    from itertools import permutations

    pairs = best_pairs(weights)

    rows, columns = len(weights), 3
    if rows <= columns:
        most = max(
            sum(weights[r][c] for r, c in enumerate(p))
            for p in permutations(range(columns), rows)
        )
    else:
        most = max(
            sum(weights[r][c] for c, r in enumerate(p))
            for p in permutations(range(rows), columns)
        )
    assert sum(weights[row][column] for row, column in pairs) == most
    assert len(pairs) == min(rows, columns)
