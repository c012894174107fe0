"""The verdict on a whole response: strict, loose, faults of the data, odd and huge responses."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scorers.text.ifeval import CHECKS, Verdict, follows, loose_versions

ARGUMENTS = {
    "change_case:capital_word_frequency": {
        "capital_frequency": 2,
        "capital_relation": "at least",
    },
    "combination:repeat_prompt": {"prompt_to_repeat": "Write"},
    "detectable_content:number_placeholders": {"num_placeholders": 1},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:multiple_sections": {
        "section_spliter": "Section",
        "num_sections": 2,
    },
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "keywords:existence": {"keywords": ["a"]},
    "keywords:forbidden_words": {"forbidden_words": ["a"]},
    "keywords:frequency": {"keyword": "a", "frequency": 2, "relation": "less than"},
    "keywords:letter_frequency": {
        "letter": "a",
        "let_frequency": 2,
        "let_relation": "less than",
    },
    "language:response_language": {"language": "en"},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": 1,
        "nth_paragraph": 1,
        "first_word": "a",
    },
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:number_sentences": {"num_sentences": 3, "relation": "at least"},
    "length_constraints:number_words": {"num_words": 3, "relation": "at least"},
    "startend:end_checker": {"end_phrase": "bye"},
}
ALL_IDS = list(CHECKS)
ALL_ARGUMENTS = [ARGUMENTS.get(name, {}) for name in ALL_IDS]


def test_an_opening_line_is_forgiven_only_loosely():
    response = "Sure, here it is:\nno commas at all"

    verdict = follows(
        response, ["punctuation:no_comma", "startend:quotation"], [{}, {}]
    )

    assert verdict == Verdict(strict=(False, False), loose=(True, False))
    assert not verdict.prompt_strict
    assert not verdict.prompt_loose


def test_all_instructions_followed_make_the_prompt_followed():
    verdict = follows(
        '"fine"', ["punctuation:no_comma", "startend:quotation"], [{}, {}]
    )

    assert verdict.prompt_strict
    assert verdict.prompt_loose


def test_the_eight_versions_drop_lines_and_asterisks():
    assert loose_versions("*a*\nb*\nc") == (
        "*a*\nb*\nc",
        "b*\nc",
        "*a*\nb*",
        "b*",
        "a\nb\nc",
        "b\nc",
        "a\nb",
        "b",
    )


@pytest.mark.parametrize("response", ["", " \n\t "])
def test_an_empty_response_follows_nothing(response):
    verdict = follows(response, ["punctuation:no_comma"], [{}])

    assert verdict == Verdict(strict=(False,), loose=(False,))


def test_a_response_of_asterisks_does_not_follow_by_becoming_empty():
    verdict = follows(
        "**", ["detectable_format:number_bullet_lists"], [{"num_bullets": 1}]
    )

    assert verdict == Verdict(strict=(False,), loose=(False,))


def test_null_arguments_are_dropped_and_whole_floats_are_numbers():
    kwargs = {
        "num_paragraphs": 2.0,
        "nth_paragraph": 2.0,
        "first_word": "b",
        "letter": None,
    }

    verdict = follows(
        "a\n\nb", ["length_constraints:nth_paragraph_first_word"], [kwargs]
    )

    assert verdict.prompt_strict


def test_an_unknown_instruction_is_named_with_the_nearest():
    with pytest.raises(
        ValueError,
        match=r"(?s)'punctuation:no_coma'.*did you mean 'punctuation:no_comma'",
    ):
        follows("a", ["punctuation:no_coma"], [{}])


def test_an_instruction_like_no_other_lists_what_exists():
    with pytest.raises(
        ValueError, match=r"(?s)unknown IFEval instruction 'x'.*25: change_case"
    ):
        follows("a", ["x"], [{}])


def test_a_missing_argument_is_named():
    with pytest.raises(
        ValueError, match=r"'startend:end_checker': missing .*'end_phrase'"
    ):
        follows("a", ["startend:end_checker"], [{"end_phrase": None}])


def test_instructions_and_arguments_must_pair_up():
    with pytest.raises(ValueError, match="2 instructions but 1 sets of arguments"):
        follows("a", ["punctuation:no_comma", "startend:quotation"], [{}])


ODD = st.text(
    st.one_of(
        st.sampled_from("*-[]<>{}\"'.?!,\n\r\0 aAİß1\ud800\udfff“”\u2028"),
        st.characters(),
    ),
    max_size=60,
)


@given(ODD)
def test_no_response_makes_a_check_raise_and_loose_is_never_below_strict(response):
    pytest.importorskip("langdetect")

    verdict = follows(response, ALL_IDS, ALL_ARGUMENTS)

    assert all(
        loose or not strict
        for strict, loose in zip(verdict.strict, verdict.loose, strict=True)
    )


@pytest.mark.parametrize(
    "unit",
    [
        "*",
        "[",
        "<",
        "<<",
        "\n",
        " ",
        ".",
        ". ",
        'a."',
        "\n*",
        "p.",
        "a",
        "A",
        "word. ",
        "'",
        "@",
    ],
)
def test_time_grows_with_length_and_not_with_its_square(unit):
    pytest.importorskip("langdetect")
    follows("warm up the detector", ALL_IDS, ALL_ARGUMENTS)

    def seconds(characters: int) -> float:
        response = (unit * characters)[:characters]
        started = time.process_time()
        follows(response, ALL_IDS, ALL_ARGUMENTS)
        return time.process_time() - started

    short, long = seconds(10_000), seconds(80_000)

    # Eight times the text: linear costs 8 times as much, quadratic 64. The constant absorbs timer noise.
    assert long < 24 * short + 0.2
