"""Orders of a pool: repeatable, complete, and the same in every version of Python."""

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Message, Sample
from assay.templates.pick import (
    SimilarTexts,
    generator_for,
    plain_text,
    shuffled,
    trigrams,
)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(), st.text())
def test_a_shuffle_has_every_number_once(size, seed, name):
    assert sorted(shuffled(size, seed, name)) == list(range(size))


def test_a_shuffle_is_fixed_for_all_time():
    assert list(shuffled(10, 0, "q1")) == [4, 5, 9, 8, 1, 7, 3, 0, 2, 6]


def test_every_member_is_drawn_about_as_often_in_first_place():
    first = [next(shuffled(5, 0, str(n))) for n in range(1000)]

    assert all(150 < first.count(member) < 250 for member in range(5))


def test_a_generator_depends_on_seed_and_name_alone():
    assert generator_for(1, "a").random() == generator_for(1, "a").random()
    assert generator_for(1, "a").random() != generator_for(2, "a").random()


def test_the_text_compared_is_the_question_else_the_row():
    assert plain_text(Sample(id="a", input="hi", fields={"x": "no"})) == "hi"
    assert (
        plain_text(Sample(id="a", fields={"x": "one", "n": 2, "y": "two"})) == "one two"
    )
    assert (
        plain_text(
            Sample(
                id="a", input=(Message.of("user", "hi"), Message.of("assistant", "ho"))
            )
        )
        == "hi\nho"
    )


def test_trigrams_forget_case_and_runs_of_blanks():
    assert trigrams("A  b") == trigrams("a B") == {" a ": 1, "a b": 1, " b ": 1}
    assert trigrams("") == {"  ": 1}


@settings(deadline=None)
@given(
    st.lists(
        st.text(alphabet="abcde ", min_size=1, max_size=20), min_size=1, max_size=8
    ),
    st.data(),
)
def test_a_text_is_nearest_to_its_equal(texts, data):
    place = data.draw(st.integers(0, len(texts) - 1))

    order = list(SimilarTexts(texts).nearest(texts[place]))

    assert sorted(order) == list(range(len(texts)))
    assert trigrams(texts[order[0]]).keys() == trigrams(texts[place]).keys()


def test_texts_with_nothing_in_common_keep_their_order():
    assert list(SimilarTexts(["aaa", "bbb", "ccc"]).nearest("zzz")) == [0, 1, 2]


def test_a_rare_trigram_counts_for_more_than_a_common_one():
    texts = [
        "the answer is north",
        "the answer is seven",
        "the answer is green",
        "a quark",
    ]

    assert next(SimilarTexts(texts).nearest("the answer is quark")) == 3
