"""Error rates: the vectors were computed with jiwer 4.0.0, whisper-normalizer 0.1.15, OpenCC and wetext 0.1.8."""

import pytest
from each_row import each

from assay import registry
from assay.core import (
    Candidate,
    Outcome,
    Output,
    Sample,
    ScoreRecord,
    SummaryContext,
    UsageError,
)
from assay.scorers.speech.wer import CharacterErrorRate, MixedErrorRate, WordErrorRate


def score(scorer, reference, said):
    return scorer(Sample(id="a", target=reference), Output.of(said))


@pytest.mark.parametrize(
    ("reference", "said", "value"),
    [
        ("the cat sat on the mat", "the cat sit on mat", 0.333333),
        ("the cat sat on the mat", "the cat sit on mat now ok", 0.666667),
        ("a", "b c d", 3.0),
        ("", "", 0.0),
        ("", "a", 1.0),
        ("a", "", 1.0),
        ("Hello, world!", "hello world", 1.0),
        ("今天天气很好", "今天天汽好", 1.0),
    ],
)
def test_the_word_error_rate_of_one_pair(reference, said, value):
    assert score(WordErrorRate(), reference, said).value == pytest.approx(
        value, abs=1e-6
    )


def test_the_counts_are_kept_for_pooling():
    details = score(
        WordErrorRate(), "the cat sat on the mat", "the cat sit on mat now ok"
    ).details

    assert {name: details[name] for name in "SDIN"} == {"S": 3, "D": 0, "I": 1, "N": 6}


CONTEXT = SummaryContext("asr", "m", "asr", "wer", 2, 0, False, None)


def test_a_corpus_is_pooled_and_not_averaged_under_a_name_that_has_the_normalizer():
    pairs = [("hello world", "hello word"), ("a b c d", "a b c d")]
    records = [
        ScoreRecord(
            "asr",
            "m",
            str(i),
            "wer",
            "",
            {"wer": 0.0},
            "scored",
            details=score(WordErrorRate(), *pair).details,
        )
        for i, pair in enumerate(pairs)
    ]

    results = [
        result
        for spec in WordErrorRate().summarizers
        for result in registry.construct(_pooled(), spec, kind="summarizer")(
            records, CONTEXT
        )
    ]

    assert results[0].value == pytest.approx(0.166667, abs=1e-6)
    assert results[0].details["mean_of_samples"] == pytest.approx(0.25)
    assert [result.metric for result in results] == ["wer[none]", "wer[none]>1"]


def _pooled():
    from assay.summarizers.pooled import Pooled

    return Pooled


def test_samples_with_more_errors_than_words_are_counted_apart():
    assert score(WordErrorRate(), "yes", "yes yes yes").details["above_one"] == 1
    assert score(WordErrorRate(), "yes", "no").details["above_one"] == 0


@pytest.mark.parametrize(
    ("reference", "said", "value"),
    [
        ("今天天气很好", "今天天汽好", 0.333333),
        ("今天，天气很好。", "今天天气很好", 0.25),
        ("今天 天气", "今天天气", 0.2),
        ("二零二四年", "2024年", 0.8),
    ],
)
def test_the_character_error_rate_of_raw_text(reference, said, value):
    assert score(CharacterErrorRate(), reference, said).value == pytest.approx(
        value, abs=1e-6
    )


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("今天，天气很好。", "今天天气很好"),
        ("今天 天气", "今天天气"),
        ("二零二四年", "2024年"),
        ("臺灣", "台湾"),
    ],
)
def test_the_chinese_normalizer_leaves_only_spoken_words(reference, said):
    pytest.importorskip("opencc", reason="OpenCC is not installed")
    pytest.importorskip("wetext", reason="wetext is not installed")

    assert score(CharacterErrorRate(normalize="zh"), reference, said).value == 0.0


def test_mixed_text_counts_han_characters_and_latin_words():
    ours = score(MixedErrorRate(), "我用python写代码", "我用拍森写代码")

    assert ours.value == pytest.approx(0.333333, abs=1e-6)


def test_the_chinese_normalizer_keeps_foreign_words_apart_in_mixed_text():
    pytest.importorskip("opencc", reason="OpenCC is not installed")
    pytest.importorskip("wetext", reason="wetext is not installed")

    ours = score(
        MixedErrorRate(normalize="zh"), "他说 Hello, World！", "他說hello world"
    )

    assert (ours.value, ours.details["N"]) == (0.0, 4)


def test_english_transcripts_are_normalized_alike_on_both_sides():
    pytest.importorskip(
        "whisper_normalizer", reason="whisper-normalizer is not installed"
    )

    ours = score(
        WordErrorRate(normalize="whisper-en"),
        "Mr. Smith won't pay",
        "mister smith will not pay",
    )

    assert (ours.value, ours.details["metric"]) == (0.0, "wer[whisper-en]")


def test_the_nearest_of_several_references_counts():
    ours = score(WordErrorRate(), ("one two three", "one two"), "one two")

    assert (ours.value, ours.details["N"]) == (0.0, 2)


def test_a_transcript_cut_before_its_first_word_keeps_its_words_as_deletions():
    ours = WordErrorRate()(
        Sample(id="a", target="one two"), Output((Candidate((), "length"),))
    )

    assert (ours.outcome, ours.details["D"], ours.details["N"]) == (
        Outcome.TRUNCATED,
        2,
        2,
    )


@pytest.mark.parametrize("reference", ["नमस्ते दुनिया", "สวัสดี"])
def test_whisper_basic_is_refused_where_it_would_delete_vowels(reference):
    with pytest.raises(UsageError, match="whisper-basic deletes the vowel signs"):
        score(WordErrorRate(normalize="whisper-basic"), reference, reference)


def test_whisper_basic_may_be_forced_to_reproduce_a_published_number():
    pytest.importorskip(
        "whisper_normalizer", reason="whisper-normalizer is not installed"
    )

    ours = score(
        WordErrorRate(normalize="whisper-basic", any_script=True), "นมัสเต", "นมัสเต"
    )

    assert ours.value == 0.0


@pytest.mark.parametrize("scorer", [WordErrorRate, CharacterErrorRate, MixedErrorRate])
def test_an_unknown_normalizer_is_refused_before_the_run(scorer):
    with pytest.raises(UsageError, match="has no normalizer 'english'"):
        scorer(normalize="english")


def test_a_sample_without_reference_is_a_fault_of_the_data():
    assert WordErrorRate()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


@each("odd", ["\ud800", "\0", "🙂" * 50, "‮abc", "!!!", "word " * 20_000])
@each("normalize", ["none", "whisper-en", "whisper-basic", "zh"])
def test_odd_text_equals_itself_under_every_normalizer(odd, normalize):
    if normalize != "none":
        pytest.importorskip(
            "whisper_normalizer", reason="whisper-normalizer is not installed"
        )
        pytest.importorskip("wetext", reason="wetext is not installed")

    assert score(WordErrorRate(normalize=normalize), odd, odd).value == 0.0
