"""The number of an answer: the example of each step in `final_number`."""

from fractions import Fraction

from each_row import each

from assay.scorers.math.final_number import final_number


@each(
    ("answer", "number"),
    [
        ("two thirds", Fraction(2, 3)),
        (r"\frac{2}{3}", Fraction(2, 3)),
        ("4²", Fraction(16)),
        ("42 m/s^2", Fraction(42)),
        ("42 (check: 6 * 7 = 42)", Fraction(42)),
        ("42 of the 50", Fraction(42)),
        ("42, because 6 * 7 is 42", Fraction(42)),
        ("The answer is 42, not 41", Fraction(42)),
        ("The answer is six", Fraction(6)),
        ("The answer is 5 + 10 = 15", Fraction(15)),
        ("The answer is 15 = 5 + 10", Fraction(15)),
        ("The answer is 7, no, 8", Fraction(8)),
        ("So 12 = 3 * 4.", Fraction(12)),
        ("17 and 17.0", Fraction(17)),
        ("5 boys and 3 girls are 8 children", Fraction(8)),
        ("There are forty-two.", Fraction(42)),
        ("17 + 25 = 42, so the answer is 42.", Fraction(42)),
    ],
)
def test_each_step_reads_its_example(answer, number):
    read = final_number(answer)

    assert read is not None
    assert read.value * read.factor == number


@each("answer", ["17, 18", "17 or 18", "3-5", "between 17 and 18"])
def test_an_answer_with_two_numbers_gives_none(answer):
    assert final_number(answer) is None
