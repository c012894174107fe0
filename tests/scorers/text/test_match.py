"""Exact, quasi-exact, contained and pattern matches."""

import pytest

from assay.core import AllOf, Candidate, Outcome, Output, Sample, UsageError
from assay.scorers.text.match import ExactMatch, Includes, QuasiExactMatch, Regex


def ask(scorer, answer, target, **fields):
    return scorer(Sample(id="a", target=target, **fields), Output.of(answer))


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("Paris", "Paris", 1.0),
        ("  Paris\n", "Paris", 1.0),
        ("paris", "Paris", 0.0),
        ("Paris.", "Paris", 0.0),
        ("Lyon", ("Paris", "Lyon"), 1.0),
        ("72", 72, 1.0),
        ("", "", 1.0),
        ("", "x", 0.0),
    ],
)
def test_exact_match_ignores_only_blanks_at_the_ends(answer, target, equal):
    assert ask(ExactMatch(), answer, target).value == equal


def test_exact_match_can_ignore_case():
    assert ask(ExactMatch(ignore_case=True), "PARIS", "Paris").value == 1.0


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("The Eiffel Tower", "Eiffel Tower", 1.0),
        ("in Paris, France", "Paris", 0.0),
        ("no no no", "no", 0.0),
        ("", "", 1.0),
        ("", "x", 0.0),
        ("the", "a", 1.0),
        ("3.5", "35", 1.0),
        ("U.S.A.", "USA", 1.0),
        ("巴黎", "巴黎。", 0.0),
    ],
)
def test_quasi_exact_match_agrees_with_the_squad_script(answer, target, equal):
    assert ask(QuasiExactMatch(), answer, target).value == equal


def test_quasi_exact_match_strips_chinese_punctuation_with_the_cjk_option():
    assert ask(QuasiExactMatch(tokens="cjk"), "巴黎", "巴黎。").value == 1.0


def test_an_article_glued_to_a_dash_outside_ascii_is_dropped_as_the_squad_script_does():
    assert ask(QuasiExactMatch(), "the—cat", "—cat").value == 1.0


@pytest.mark.parametrize(
    ("answer", "target", "found"),
    [
        ("It is Paris, I think.", "paris", 1.0),
        ("It is Lyon.", ("Paris", "Lyon"), 1.0),
        ("It is Rome.", ("Paris", "Lyon"), 0.0),
        ("red and blue", AllOf(("red", ("azure", "blue"))), 1.0),
        ("red only", AllOf(("red", ("azure", "blue"))), 0.0),
    ],
)
def test_includes_looks_for_a_target_or_for_all_parts_of_one(answer, target, found):
    assert ask(Includes(), answer, target).value == found


@pytest.mark.parametrize(
    "target", ["", " ", ("x", ""), AllOf(("x", "")), AllOf((("x", "\n"),))]
)
def test_an_empty_target_is_a_fault_of_the_data_since_every_answer_includes_it(target):
    score = ask(Includes(), "foo bar", target)

    assert (score.value, score.outcome) == (None, Outcome.DATA_ERROR)
    assert "is empty, so every answer would contain it" in score.details["reason"]


@pytest.mark.parametrize(
    "scorer", [ExactMatch(), QuasiExactMatch(), Includes(), Regex(".+")]
)
@pytest.mark.parametrize(
    "target", [{"text": "x"}, b"x", (None,), ({"text": "x"},), (("x", "y"), "z")]
)
def test_a_target_that_is_not_text_is_a_fault_of_the_data(scorer, target):
    score = ask(scorer, str(target), target)

    assert (score.value, score.outcome) == (None, Outcome.DATA_ERROR)
    assert (
        score.details["reason"].startswith("the target of sample ")
        and " is not text: " in score.details["reason"]
    )


@pytest.mark.parametrize(("answer", "found"), [("none of it", 0.0), ("an x", 1.0)])
def test_includes_ignores_nulls_among_targets(answer, found):
    assert ask(Includes(), answer, (None, "x")).value == found


def test_includes_can_insist_on_case():
    assert ask(Includes(ignore_case=False), "it is paris", "Paris").value == 0.0


def test_regex_compares_the_captured_group_of_the_last_match():
    score = ask(Regex(r"answer: (\w+)", group=1), "answer: B. No, answer: C", "C")

    assert (score.value, score.answer) == (1.0, "C")


@pytest.mark.parametrize(
    ("pattern", "group", "answer"),
    [
        (r"answer is \(?([A-D])\)?", None, "B"),
        (r"[A-D]\b", None, "B"),
        (r"(answer) is \(([A-D])\)", None, "answer is (B)"),
        (r"answer is \(([A-D])\)", 0, "answer is (B)"),
    ],
)
def test_regex_compares_the_only_group_of_its_pattern(pattern, group, answer):
    score = Regex(pattern, group)(
        Sample(id="a", target="B"), Output.of("answer is (B)")
    )

    assert (score.value, score.answer) == (float(answer == "B"), answer)


def test_regex_can_take_the_first_match_and_a_named_group():
    score = ask(
        Regex(r"answer: (?P<letter>\w+)", group="letter", match="first"),
        "answer: B. No, answer: C",
        "C",
    )

    assert (score.value, score.answer) == (0.0, "B")


def test_regex_that_finds_nothing_is_unparsed_with_a_target_and_zero_without():
    assert (
        ask(Regex(r"answer: (\w+)"), "I do not know", "C").outcome is Outcome.UNPARSED
    )
    assert ask(Regex(r"\d+"), "no digits", None).outcome is Outcome.SCORED
    assert ask(Regex(r"\d+"), "7", None).value == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "("}, "cannot read its pattern"),
        ({"pattern": "a", "group": 2}, "has no group 2"),
        ({"pattern": "a", "match": "middle"}, "does not know match='middle'"),
    ],
)
def test_a_regex_that_cannot_work_is_refused_before_the_run(options, message):
    with pytest.raises(UsageError, match=message):
        Regex(**options)


def test_unknown_tokens_are_refused_before_the_run():
    with pytest.raises(UsageError, match="does not know tokens='chars'"):
        QuasiExactMatch(tokens="chars")


@pytest.mark.parametrize("scorer", [ExactMatch(), QuasiExactMatch(), Includes()])
def test_a_sample_without_target_is_a_fault_of_the_data(scorer):
    score = ask(scorer, "x", None)

    assert (score.value, score.outcome) == (None, Outcome.DATA_ERROR)


@pytest.mark.parametrize(
    "scorer", [ExactMatch(), QuasiExactMatch(), Includes(), Regex("x")]
)
@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("length", Outcome.TRUNCATED), ("content_filter", Outcome.REFUSED)],
)
def test_an_answer_that_was_cut_or_filtered_to_nothing_is_not_a_wrong_answer(
    scorer, reason, outcome
):
    score = scorer(Sample(id="a", target="x"), Output((Candidate((), reason),)))

    assert (score.value, score.outcome) == (0.0, outcome)


def test_an_answer_that_was_cut_but_can_be_compared_is_scored():
    score = ExactMatch()(
        Sample(id="a", target="x"), Output.of("x", stop_reason="length")
    )

    assert (score.value, score.outcome) == (1.0, Outcome.SCORED)
