"""A comparison in words: what is better, by how much, and which way is good."""

from assay.comparison.comparison_rows import overall, sentence

ROW = {
    "difference": 0.021,
    "ci": [0.004, 0.038],
    "p": 0.01,
    "p_adjusted": 0.02,
    "wins": 41,
    "losses": 22,
    "n": 1000,
    "verdict": "better",
    "higher_is_better": True,
    "scale": [0.0, 1.0],
    "test": "McNemar mid-p",
}


def test_a_share_is_described_in_points_with_its_interval_and_counts():
    assert sentence(ROW) == (
        "The later run is better by 2.1 points, 95 % interval 0.4 to 3.8; "
        "41 up, 22 down of 1,000; p 0.02 after Holm."
    )


def test_the_sentence_names_the_direction_of_a_number_that_should_be_low():
    row = {
        **ROW,
        "difference": -0.2,
        "ci": [-0.3, -0.1],
        "higher_is_better": False,
        "scale": None,
        "test": "t",
        "p_adjusted": 0.0001,
    }

    assert sentence(row) == (
        "The later run is better: lower by 0.200 (lower is better), 95 % interval 0.100 to 0.300; "
        "22 better (lower), 41 worse (higher) of 1,000; p < 0.001 after Holm."
    )


def test_runs_that_cannot_be_distinguished_are_not_called_better():
    row = {
        **ROW,
        "verdict": "not distinguishable",
        "ci": [-0.01, 0.05],
        "p_adjusted": 0.3,
        "p": 0.3,
    }

    assert sentence(row).startswith(
        "The two cannot be distinguished: the later run is higher by 2.1 points"
    )


def test_several_numbers_are_summed_up_in_one_sentence():
    rows = [
        {**ROW, "words": ""},
        {**ROW, "verdict": "worse", "words": ""},
        {**ROW, "verdict": "not distinguishable", "words": ""},
    ]

    assert (
        overall(rows)
        == "Of 3 numbers the later run is better in 1, worse in 1, not distinguishable in 1 (p values after Holm)."
    )
    assert overall([{"refused": "x"}]) == "Nothing could be compared."


def test_a_loss_has_the_interval_of_the_loss():
    row = {**ROW, "difference": -0.021, "ci": [-0.038, -0.004], "verdict": "worse"}

    assert sentence(row, "B").startswith(
        "B is worse by 2.1 points, 95 % interval 0.4 to 3.8;"
    )


def test_an_interval_on_both_sides_of_zero_has_its_sign():
    row = {
        **ROW,
        "verdict": "not distinguishable",
        "difference": -0.01,
        "ci": [-0.05, 0.03],
    }

    assert "B is lower by 1.0 points, 95 % interval −3.0 to 5.0" in sentence(row, "B")
