"""Mathematical equivalence in a process that may be killed."""

import importlib.util
import time
from pathlib import Path

import pytest
from each_row import each

from assay.core import Candidate, MissingExtra, Outcome, Output, Sample, UsageError
from assay.scorers.math import math_equivalence
from assay.scorers.math.math_equivalence import KillableWorker, MathEquivalence

# Looked for and not imported: that takes long, and is done in the process that compares.
pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("math_verify") is None,
        reason="math-verify is not installed",
    ),
    pytest.mark.xdist_group("math-verify"),  # that process is started once
]


def compare(gold, answer, **options):
    return MathEquivalence(**options)(Sample(id="a", target=gold), Output.of(answer))


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("1/2", "0.5", True),
        (r"\frac12", r"\boxed{\frac24}", True),
        ("0.5", "50%", True),
        (r"2\sqrt2", r"\sqrt8", True),
        ("(1,2)", "[1,2]", False),
        ("{1,2}", "{2,1}", True),
        ("x=5", "5", True),
        ("x^2+2x+1", "(x+1)^2", True),
        ("1,000", "1000", True),
        ("10", "10.0000001", False),
        (r"\pi", "3.14159", False),
        ("1/3", "0.333", False),
        ("1/3", "0.333333", True),
        (r"5\text{ cm}", "5", True),
        ("[0,1)", r"0\le x<1", False),
        (r"0\le x<1", "[0,1)", True),
        ("A", "A", True),
    ],
)
def test_expressions_compare_as_math_verify_does_with_the_gold_first(
    gold, answer, equal
):
    assert compare(gold, answer).value == float(equal)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"x^2+1", "`x**2 + 1`"),
        (r"\sqrt{2}", "sqrt(2)"),
        (r"\pi", "π"),
        (r"2\pi", "2π"),
        (r"\infty", "infinity"),
        (r"\emptyset", "∅"),
        (r"\ln 2", "ln(2)"),
        (r"\frac{3}{2}", "1 1/2"),
        ("42", "٤٢"),
        ("5000000", "5 million"),
        ("1500000", "The profit is 1.5 million dollars."),
        ("2500", r"\boxed{2.5 \text{ thousand}}"),
        ("1,2", "1 and 2"),
        (r"\{1,2\}", "x = 1 or x = 2"),
    ],
)
def test_plain_spellings_that_math_verify_does_not_read_are_read(gold, answer):
    assert compare(gold, answer).value == 1.0


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("5", "5 million"),
        ("5", "The profit is 5 million dollars."),
        ("5", "The profit is $5 million."),
        ("5", r"\boxed{5 \text{ million}}"),
        ("5", "$5$ million"),
        ("42", "17 or 42"),
        ("42", "The answer is 17 or 42."),
        ("17", "The answer is either 17 or 42."),
        (r"\text{Sunday}", "Monday"),
    ],
)
def test_one_of_two_numbers_and_a_number_without_its_scale_are_wrong(gold, answer):
    assert compare(gold, answer).value == 0.0


def test_the_expression_is_found_in_prose():
    assert (
        compare("72", r"So we get $x = 72$ and the answer is $\boxed{72}$.").value
        == 1.0
    )
    assert compare("72", "The answer is 72.").value == 1.0


def test_any_of_several_golds_counts():
    assert compare(("3", "4"), r"\boxed{4}").value == 1.0


def test_an_answer_without_mathematics_is_unparsed_and_says_so():
    score = compare("5", "I do not know")

    assert (score.value, score.outcome) == (0.0, Outcome.UNPARSED)
    assert score.details["reason"] == "no mathematics in the answer"


def test_a_cut_answer_without_mathematics_is_truncated():
    score = MathEquivalence()(
        Sample(id="a", target="5"), Output.of("Let us think", stop_reason="length")
    )

    assert score.outcome is Outcome.TRUNCATED


def test_a_power_tower_is_killed_in_time_and_the_next_answer_still_scored():
    started = time.monotonic()

    hung = compare("1", "$9^{9^{9^9}}$", seconds=2.5)
    after = compare("1/2", "0.5", seconds=2.5)

    assert (hung.value, hung.outcome, hung.details["reason"]) == (
        0.0,
        Outcome.UNPARSED,
        "timeout",
    )
    assert after.value == 1.0
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "attack",
    [
        "__import__('os').mkdir('{path}')",
        "$__import__('os').mkdir('{path}')$",
        r"\boxed{{__import__('os').mkdir('{path}')}}",
        "The answer is (1).__class__.__base__.__subclasses__()[0].__init__.__globals__['os'].mkdir('{path}')",
        "exec(\"import os; os.mkdir('{path}')\")",
        "1+1 if __import__('os').mkdir('{path}') else 2",
        "lambda: open('{path}', 'w')",
        r"\mathrm{{__import__('os').mkdir('{path}')}}",
    ],
)
def test_no_answer_is_ever_executed(attack, tmp_path):
    trap = tmp_path / "executed"

    compare("2", attack.format(path=trap))

    assert not trap.exists()


@pytest.mark.parametrize(
    "answer",
    [
        "{" * 10_000,
        "\\frac{" * 3000,
        "$" * 20_000,
        "\ud800\x00‮🙂",
        "(" * 5000 + "1" + ")" * 5000,
        "1" * 1_000_000,
    ],
)
def test_hostile_answers_end_in_time_and_are_not_right(answer):
    started = time.monotonic()

    score = compare("12345", answer)

    assert score.value == 0.0
    assert time.monotonic() - started < 20


def test_a_comparison_gets_no_more_memory_than_it_was_given():
    limits = Path("/proc/self/limits")
    if not limits.exists():
        pytest.skip("limits of a process can be read on Linux only")
    compare("1/2", "0.5", memory_mib=512)

    pid = math_equivalence._worker(5.0, 512 << 20)._process.pid

    space = next(
        line
        for line in Path(f"/proc/{pid}/limits").read_text().splitlines()
        if "address space" in line
    )
    assert space.split()[3:5] == [str(512 << 20)] * 2


@pytest.mark.parametrize("options", [{"seconds": 0}, {"memory_mib": 16}])
def test_limits_under_which_nothing_could_be_compared_are_refused_before_the_run(
    options,
):
    with pytest.raises(UsageError, match="needs more time or memory"):
        MathEquivalence(**options)


def test_environment_variables_do_not_reach_the_comparison(monkeypatch, tmp_path):
    (tmp_path / "math_verify.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "math_verify.py"))

    assert compare("1/2", "0.5", seconds=4.9).value == 1.0


def test_a_missing_library_is_one_line_with_the_pip_command(tmp_path, monkeypatch):
    script = tmp_path / "worker.py"
    script.write_text("print('{\"ready\": false}', flush=True)")
    unready = KillableWorker(script, seconds=60.0, memory_bytes=1 << 30)
    monkeypatch.setattr(math_equivalence, "_worker", lambda *_: unready)

    with pytest.raises(
        MissingExtra,
        match=r"math-verify is not installed; fix: pip install 'assay\[metrics\]'",
    ):
        compare("1", "1")


def test_an_empty_cut_answer_never_starts_a_comparison():
    score = MathEquivalence()(
        Sample(id="a", target="1"), Output((Candidate((), "length"),))
    )

    assert score.outcome is Outcome.TRUNCATED


GOLDS = [
    r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}", r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}", r"\$20", r"\$1{,}000",
    r"\{1,2,3\}", r"(-\infty, 3]", r"[0,1)\cup(2,3]", r"\text{Monday}", r"\text{(B)}",
    r"5\text{ cm}", r"50\%", r"90^\circ",
    "3\\frac{1}{2}", "(1, -2)", r"x \in (1,2)", "x=5", r"2\sqrt{3}+1", "10^{-3}", r"1:2", "P, Q", r"\emptyset", "1,000",
]  # fmt: skip


@each("gold", GOLDS)
@each("form", [r"\boxed{%s}", "%s", "$%s$"])
def test_every_gold_equals_itself_boxed_bare_and_marked(gold, form):
    assert compare(gold, form % gold).value == 1.0


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}", "7"),
        (r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}", r"\boxed{1}"),
        (
            r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}",
            r"The answer is \begin{pmatrix} 1 \\ 8 \end{pmatrix}.",
        ),
        ("7", r"\boxed{\begin{pmatrix} 1 \\ 7 \end{pmatrix}}"),
        (r"\$20", r"\boxed{21}"),
        ("P, Q", r"\boxed{Q}"),
        ("P, Q", "P"),
    ],
)
def test_a_number_does_not_equal_a_matrix_and_other_text_does_not_equal_the_gold(
    gold, answer
):
    assert compare(gold, answer).value == 0.0


def test_a_matrix_in_a_sentence_is_read_whole():
    gold = r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}"

    assert compare(gold, f"The answer is {gold}.").value == 1.0


@each(
    ("answer", "gold"),
    [
        ("<answer>42</answer>", "42"),
        ("41 + 1.\n<Answer>\n42\n</Answer>\n", "42"),
        ("<final_answer>$\\frac12$</final_answer>", "1/2"),
        ("<answer>The answer is 42.</answer>", "42"),
        ("**42**", "42"),
        ("**42**.", "42"),
        ("*42*", "42"),
        ("***42***", "42"),
        ("__42__", "42"),
        ("`42`", "42"),
        ("- 42", "42"),
        ("* 42", "42"),
        ("1. 42", "42"),
        ('"42"', "42"),
        ("~42", "42"),
        ("**-3**", "-3"),
        ("**0.5**", "0.5"),
        ("**1/2**", "0.5"),
        ("**x = 3**", "3"),
        (r"**\frac{1}{2}**", "1/2"),
        ("`x^2+1`", "x^2+1"),
        ("The answer is *42*.", "42"),
        ("The answer is `42`.", "42"),
        ("g ≈ 9.8 m/s^2", "9.8"),
        ("42 cm^2", "42"),
        ("12 V", "12"),
        ("9.8 m/s^2", "9.8 m/s^2"),
        ("2*3*4", "24"),
        ("2**10", "1024"),
        ("x*y*z", "$xyz$"),
        ("- x^2 + 1", "1 - x^2"),
        ("− 3", "-3"),
        ("–3", "-3"),
        ("— 0.5", "-0.5"),
        ("minus 3", "-3"),
        ("Negative 12", "-12"),
    ],
)
def test_markdown_and_units_are_not_part_of_an_expression(answer, gold):
    assert compare(gold, answer).value == 1.0


@each(
    ("answer", "gold"),
    [("**43**", "42"), ("3 x", "3"), ("*4*2", "42"), ("- 3x", "3x")],
)
def test_other_expressions_stay_wrong(answer, gold):
    assert compare(gold, answer).value == 0.0


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("42", "<b>42</b>"),
        ("-3", "- -3"),
        ("\\sqrt{2}", "**√2**"),
        ("\\sqrt{x+1}", "√(x+1)"),
        ("x^2", "x²"),
        ("10^6", "10⁶"),
        ("3.5", "3½"),
        ("\\infty", "∞"),
        ("1000000", "1 000 000"),
    ],
)
def test_html_roots_raised_digits_and_spaced_thousands_are_read(gold, text):
    assert MathEquivalence()(Sample("1", "q", gold), Output.of(text)).value == 1.0


@pytest.mark.parametrize(
    ("gold", "answer", "is_right"),
    [
        (r"\text{Evelyn}", "Evelyn", True),
        (r"\text{Yes}", "Yes", True),
        ("1000000", "1e6", True),
        (r"\text{no solution}", "no solution", True),
        ("B", r"\boxed{\textbf{(B)}}", True),
        ("6", "\\boxed{5}\n\nWait, that is wrong: \\boxed{6}", True),
        ("5", "\\boxed{5}\n\nWait, that is wrong: \\boxed{6}", False),
        ("7", r"\boxed{6} or \boxed{7}", False),
        ("M", r"\boxed{m}", False),
        ("7", r"7\text{ or }8", False),
        ("7,8", r"x=7\text{ or }x=8", True),
        ("12", r"\boxed{\text{12 cm}}", True),
        (r"25\pi", "25π cm²", True),
        (r"\frac{1}{6}", r"0.1\overline{6}", True),
        (r"6.02\times10^{23}", "6.02e23", True),
        (r"\emptyset", r"\varnothing", True),
    ],
)
def test_an_answer_that_is_the_gold_in_another_spelling_is_right(
    gold: str, answer: str, is_right: bool
) -> None:
    sample = Sample("1", "q", gold)

    score = MathEquivalence()(sample, Output.of(answer))

    assert score.value == float(is_right)
