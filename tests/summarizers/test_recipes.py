"""Recipes: how a saved number can be made again."""

import json
import math

import numpy as np
import pytest
from summary_context import record

from assay.summarizers.recipes import ONE, SCALES, Recipe


def test_a_recipe_survives_being_saved():
    for recipe in (
        Recipe("ratio", (("S", "D", "I"), ("N",))),
        Recipe("share", "confusion", ((1, 0, 1), (1, 1, 1))),
        Recipe("chrf", "stats", options={"beta": 2}),
    ):
        plain = json.loads(json.dumps(recipe.to_plain()))

        again = Recipe.from_plain(plain)

        assert again is not None and again.to_plain() == plain == recipe.to_plain()


def test_counts_are_added_up_as_the_recipe_says():
    answer = record(
        "a",
        0.0,
        details={"S": 1, "D": 2, "N": 10, "confusion": [1, 0, 2], "logprob": -3.0},
    )

    assert Recipe("ratio", (("S", "D"), ("N",))).read(answer) == [3.0, 10.0]
    assert Recipe("share", "confusion", ((1, 0, 0), (1, 1, 1))).read(answer) == [
        1.0,
        3.0,
    ]
    assert Recipe("perplexity", (("logprob",), (ONE,))).read(answer) == [-3.0, 1.0]


@pytest.mark.parametrize(
    "details",
    [{}, {"S": 1}, {"S": None, "N": 2}, {"S": math.nan, "N": 2}, {"S": "1", "N": 2}],
)
def test_an_answer_without_a_count_has_none(details):
    assert (
        Recipe("ratio", (("S",), ("N",))).read(record("a", 0.0, details=details))
        is None
    )


@pytest.mark.parametrize(
    "plain", [None, 3, {}, {"formula": "magic", "counts": "stats"}, {"formula": "bleu"}]
)
def test_anything_else_is_not_a_recipe(plain):
    assert Recipe.from_plain(plain) is None


def test_every_formula_can_be_computed():
    widths = {"bleu": 10, "chrf": 18, "meteor": 23, "caption_bleu": 10}

    options = {"expression": {"value": "a / b", "names": ["a", "b"]}}

    for name in SCALES:
        recipe = Recipe(name, "stats", options=options.get(name, {}))
        (value,) = recipe.function()(np.ones((1, widths.get(name, 2))))
        assert np.isfinite(value)
