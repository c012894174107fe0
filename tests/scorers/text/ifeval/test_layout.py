"""Lists, highlights, sections, titles, JSON, beginnings and ends."""

import pytest

from assay.scorers.text.ifeval import CHECKS


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("[a] and [b c] ]", 2),
        ("[[a]]", 1),
        ("[open\nclose]", 0),
        ("[]", 1),
        ("none", 0),
        ("[[[[", 0),
    ],
)
def test_placeholders_are_brackets_closed_on_their_line(response, count):
    check = CHECKS["detectable_content:number_placeholders"]

    assert check(response, num_placeholders=count)
    assert not check(response, num_placeholders=count + 1)


@pytest.mark.parametrize(
    ("response", "marker", "expected"),
    [
        ("Bye\nP.S. more", "P.S.", True),
        ("Bye p. s. more", "P.S.", True),
        ("PS more", "P.S.", False),
        ("P.P.S more", "P.P.S", True),
        ("P. p. s. more", "P.P.S", True),
        ("P.S. more", "P.P.S", False),
        ("N.B.: more", " n.b.: ", True),
        ("NxBx: more", "N.B.:", False),
    ],
)
def test_a_postscript_has_its_marker(response, marker, expected):
    assert (
        CHECKS["detectable_content:postscript"](response, postscript_marker=marker)
        is expected
    )


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("* one\n* two", 2),
        ("- one\n  - two\n\n * three", 3),
        ("**bold**\ntext * not", 0),
        ("* one\n---", 2),
        ("+ one\n1. two", 0),
    ],
)
def test_bullets_are_counted_exactly(response, count):
    check = CHECKS["detectable_format:number_bullet_lists"]

    assert check(response, num_bullets=count)
    assert not check(response, num_bullets=count + 1)
    assert not check(response, num_bullets=count - 1)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("My answer is yes.", True),
        ("Well: My answer is maybe. Ok", True),
        ("my answer is no.", False),
    ],
)
def test_a_constrained_response_contains_an_option_exactly(response, expected):
    assert CHECKS["detectable_format:constrained_response"](response) is expected


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("*a* and **b**", 2),
        ("* *", 0),
        ("****", 0),
        ("*a\nb*", 0),
        ("*one* two* three*", 2),
        ("plain", 0),
    ],
)
def test_highlights_are_counted_when_not_blank(response, count):
    check = CHECKS["detectable_format:number_highlighted_sections"]

    assert check(response, num_highlights=count)
    assert not check(response, num_highlights=count + 1)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("SECTION 1\na\nSECTION 2\nb", True),
        ("SECTION1 a SECTION22 b", True),
        ("Section 1\na\nSection 2\nb", False),
        ("SECTION 1\na\nSECTION B\nb", False),
    ],
)
def test_sections_carry_the_splitter_and_a_number(response, expected):
    check = CHECKS["detectable_format:multiple_sections"]

    assert check(response, section_spliter=" SECTION ", num_sections=2) is expected


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ('{"a": [1, 2]}', True),
        ('```json\n{"a": 1}\n```', True),
        ("```\n[1]\n```", True),
        ('Here: {"a": 1}', False),
        ("{'a': 1}", False),
        ("[" * 200_000, False),
    ],
)
def test_json_is_the_whole_response(response, expected):
    assert CHECKS["detectable_format:json_format"](response) is expected


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("<<joy>>\ntext", True),
        ("a <<joy>> b >>", True),
        ("<joy>", False),
        ("<<joy\n>>", False),
        ("<< >>", False),
        ("<<>>", False),
        (">> joy <<", False),
    ],
)
def test_a_title_is_in_double_angular_brackets(response, expected):
    assert CHECKS["detectable_format:title"](response) is expected


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("one ****** two", True),
        ("******one******two******", True),
        ("one ****** one", False),
        ("one", False),
        ("one ****** ****** two", False),
        ("a ****** b ****** c", False),
    ],
)
def test_two_responses_differ_and_are_separated_by_six_asterisks(response, expected):
    assert CHECKS["combination:two_responses"](response) is expected


@pytest.mark.parametrize(
    ("response", "expected"),
    [(" write A poem.\nRoses", True), ("Sure! Write a poem.", False)],
)
def test_the_prompt_is_repeated_first(response, expected):
    assert (
        CHECKS["combination:repeat_prompt"](response, prompt_to_repeat="Write a poem. ")
        is expected
    )


@pytest.mark.parametrize(
    ("response", "expected"),
    [("All good. PEACE! ", True), ('"All good. Peace!"', True), ("Peace! Bye", False)],
)
def test_the_response_ends_with_the_phrase(response, expected):
    assert CHECKS["startend:end_checker"](response, end_phrase=" Peace!") is expected


@pytest.mark.parametrize(
    ("response", "expected"),
    [(' "quoted" ', True), ('"', False), ("“curly”", False), ('"half', False)],
)
def test_the_response_is_in_double_quotes(response, expected):
    assert CHECKS["startend:quotation"](response) is expected
