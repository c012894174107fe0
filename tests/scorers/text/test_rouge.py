"""ROUGE against the rouge-score library itself."""

import random

import pytest

from assay.core import Candidate, Outcome, Output, Sample, UsageError
from assay.scorers.text.word_overlap import Rouge

rouge_scorer = pytest.importorskip(
    "rouge_score.rouge_scorer", reason="rouge-score is not installed"
)


def score(answer, *references, **options):
    return Rouge(**options)(Sample(id="a", target=references), Output.of(answer))


@pytest.mark.parametrize("stemmer", [False, True])
def test_all_values_equal_those_of_the_library_on_random_texts(stemmer):
    library = rouge_scorer.RougeScorer(
        ["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=stemmer
    )
    rng = random.Random(7)
    vocabulary = [
        "running",
        "runs",
        "the",
        "Dogs",
        "dog",
        "x-ray",
        "42",
        "naïve",
        "—",
        "Talked",
    ]
    for _ in range(500):
        texts = [
            rng.choice(" \n").join(rng.choices(vocabulary, k=rng.randint(0, 12)))
            for _ in range(3)
        ]

        ours = score(texts[0], texts[1], texts[2], stemmer=stemmer, lsum=True)

        theirs = library.score_multi(texts[1:], texts[0])
        assert ours.value.keys() == theirs.keys()
        for name, value in ours.value.items():
            assert value == pytest.approx(theirs[name].fmeasure, abs=1e-9)


def test_chinese_scores_nothing_by_ascii_words_and_something_by_characters():
    assert score("今天天气很好", "今天天气非常好").value["rougeL"] == 0.0
    assert score("今天天气很好", "今天天气非常好", words="cjk").value[
        "rougeL"
    ] == pytest.approx(10 / 13)


def test_an_answer_cut_to_nothing_is_truncated_under_all_three_names():
    ours = Rouge()(Sample(id="a", target="x"), Output((Candidate((), "length"),)))

    assert (ours.outcome, set(ours.value)) == (
        Outcome.TRUNCATED,
        {"rouge1", "rouge2", "rougeL"},
    )


def test_unknown_words_are_refused_before_the_run():
    with pytest.raises(UsageError, match="does not know words='greek'"):
        Rouge(words="greek")
