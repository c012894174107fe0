"""Translation edit rate."""

import pytest

from assay.core import Output, Sample
from assay.scorers.text.translation import Ter
from assay.summarizers.text_corpora import corpus_ter_from

sacrebleu = pytest.importorskip("sacrebleu")


def test_a_moved_block_is_one_edit():
    score = Ter()(
        Sample(id="a", target="in the morning we sail"),
        Output.of("we sail in the morning"),
    )

    assert score.value == pytest.approx(100 * 1 / 5)
    assert score.details["stats"] == [1.0, 5.0]
    assert score.details["signature"].startswith(
        "case:lc|tok:none|punct:yes|asian:no|version:"
    )


def test_lower_is_better_and_it_may_exceed_100():
    assert Ter.higher_is_better is False
    assert Ter()(Sample(id="a", target="yes"), Output.of("no no no")).value == 300.0


def test_a_sample_without_a_reference_is_a_fault_of_the_data():
    assert Ter()(Sample(id="a"), Output.of("x")).outcome == "data_error"


def test_the_corpus_rate_is_all_edits_over_all_words():
    import numpy as np

    assert corpus_ter_from(
        np.array([[3.0, 12.0], [2.0, 0.0], [0.0, 0.0]])
    ).tolist() == [25.0, 100.0, 0.0]


def test_a_long_text_without_a_common_word_has_the_rate_that_sacrebleu_gives():
    text, references = "A, (b zz " * 2_300, ["42 is it", "one"]

    score = Ter()(Sample(id="a", target=references), Output.of(text))

    official = sacrebleu.metrics.TER().sentence_score(text, references)
    assert len(text) > 20_000
    assert score.details["stats"] == [official.num_edits, official.ref_length]
    assert score.value == official.score
