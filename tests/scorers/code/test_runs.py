"""Programs in answers are run against their tests, and a sandbox that fails is no wrong answer."""

import json
import shutil

import pytest
from code_scores import score

from assay.core import Outcome, UsageError
from assay.sandbox import choose
from assay.scorers.code.humaneval import HumanEval
from assay.scorers.code.livecodebench import LiveCodeBench
from assay.scorers.code.program_runs import Runs

pytestmark = pytest.mark.skipif(
    choose().tier is None, reason=f"no sandbox holds here: {choose().reasons}"
)


@pytest.mark.parametrize(
    ("answer", "value", "rule"),
    [
        ("def add(a, b):\n    return a + b", 1.0, "text"),
        (
            "Here you are:\n```python\ndef add(a, b):\n    return a + b\n```\nIt adds.",
            1.0,
            "fence",
        ),
        (
            "First\n```\nadd = 1\n```\nno, better:\n```py\ndef add(a, b): return a + b\n```",
            1.0,
            "fence",
        ),
        ("```python\ndef add(a, b):\n    return a + b", 1.0, "fence"),
        ("def add(a, b):\n    return a - b", 0.0, "text"),
        ("I cannot write that.", 0.0, "text"),
    ],
)
def test_the_program_of_an_answer_is_run_against_the_tests_of_its_column(
    answer, value, rule
):
    found = score(Runs(), answer, tests="assert add(1, 2) == 3\nassert add(-1, 1) == 0")

    assert (found.value, found.details["rule"]) == (value, rule)


def test_tests_may_be_a_list_of_lines_or_be_in_the_task():
    right = "def add(a, b): return a + b"

    assert (
        score(
            Runs(column="test_list"), right, test_list=["assert add(1, 2) == 3"]
        ).value
        == 1.0
    )
    assert (
        score(Runs(tests="assert add(1, 2) == four", setup="four = 3"), right).value
        == 1.0
    )


def test_a_program_tested_by_its_functions_is_not_main_and_one_tested_by_cases_is():
    program = "def f(): return 1\nif __name__ == '__main__':\n    print('main')\n    raise SystemExit"

    assert score(Runs(), program, tests="assert f() == 1").value == 1.0
    assert score(Runs(), program, tests=[{"input": "", "output": "main"}]).value == 1.0


def test_setup_code_of_a_column_may_use_the_program_and_extra_tests_must_pass_too():
    program = "class Node:\n    def __init__(self, value):\n        self.value, self.after = value, None\n"
    program += (
        "def total(node): return 0 if node is None else node.value + total(node.after)"
    )
    row = {
        "tests": ["assert total(first) == 3"],
        "setup": "first = Node(1)\r\nfirst.after = Node(2)",
    }

    assert score(Runs(setup_column="setup"), program, **row).value == 1.0
    assert (
        score(
            Runs(setup_column="setup", extra="more"),
            program,
            **row,
            more="assert total(None) == 1",
        ).value
        == 0.0
    )


def test_an_answer_ends_at_the_until_mark():
    assert (
        score(
            Runs(until="[DONE]"),
            "def f(): return 1\n[DONE]\nand so on",
            tests="assert f() == 1",
        ).value
        == 1.0
    )


def test_cases_are_read_and_answered():
    cases = [{"input": "1 2\n", "output": "3\n"}, {"input": "5 5", "output": "10.0"}]

    assert (
        score(Runs(), "print(sum(map(int, input().split())))", tests=cases).value == 1.0
    )
    wrong = score(Runs(), "print(3)", tests=json.dumps(cases))
    assert (wrong.value, wrong.details["reason"]) == (
        0.0,
        "case 2: printed something else",
    )
    assert "ZeroDivisionError" in score(Runs(), "1 / 0", tests=cases).details["reason"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_another_interpreter_of_the_machine_runs_its_programs():
    cases = [{"input": "world", "output": "hello world"}]

    assert (
        score(
            Runs(language="bash"),
            "```bash\nread name; echo hello $name\n```",
            tests=cases,
        ).value
        == 1.0
    )
    assert (
        score(Runs(language="bash"), "echo 1", tests="assert f()").outcome
        is Outcome.DATA_ERROR
    )


def test_an_interpreter_that_is_not_there_is_refused_before_the_run():
    with pytest.raises(
        UsageError,
        match="there is no interpreter 'cobolx' on this machine; fix: install cobolx",
    ):
        Runs(language="cobolx")


@pytest.mark.parametrize(
    "options",
    [{"timeout": 0}, {"timeout": "soon"}, {"memory_mb": 1}, {"memory_mb": 2.5}],
)
def test_impossible_limits_are_refused(options):
    with pytest.raises(UsageError, match=r"scorer 'runs': (timeout|memory_mb) must be"):
        Runs(**options)


def test_a_sandbox_that_fails_is_not_a_wrong_answer():
    found = score(
        Runs(), "def add(a, b): return a + b", fails=True, tests="assert add(1, 2) == 3"
    )

    assert (found.value, found.outcome, found.details["kind"]) == (
        None,
        Outcome.JUDGE_ERROR,
        "sandbox",
    )


@pytest.mark.parametrize("tests", ["assert add(1, 2 == 3", "def check(:"])
def test_tests_that_are_not_code_are_not_a_wrong_answer(tests):
    found = score(Runs(), "def add(a, b): return a + b", tests=tests)

    assert (found.value, found.outcome) == (None, Outcome.JUDGE_ERROR)
    assert "the tests do not run: SyntaxError" in found.details["reason"]


def test_a_failing_setup_is_not_a_wrong_answer():
    scorer = Runs(setup="import nothing_of_that_name")

    found = score(scorer, "def add(a, b): return a + b", tests="assert add(1, 2) == 3")

    assert (
        found.outcome is Outcome.JUDGE_ERROR
        and "ModuleNotFoundError" in found.details["reason"]
    )


@pytest.mark.parametrize(
    "tests", [5, 2.5, {"a": 1}, [1, 2], [{"input": "1"}], b"x"], ids=repr
)
def test_tests_that_are_neither_code_nor_cases_are_a_fault_of_the_data(tests):
    found = score(Runs(), "x = 1", tests=tests)

    assert (
        found.outcome is Outcome.DATA_ERROR
        and "neither code nor a list of lines" in found.details["reason"]
    )


@pytest.mark.parametrize("text", ["\ud800 = 1", "x = '\0'", "\x00\x01", "\ufeffx = 1"])
def test_an_answer_that_is_not_text_of_python_is_wrong_and_no_failure_of_the_sandbox(
    text,
):
    assert score(Runs(), text, tests="assert f() == 1").value == 0.0


def test_an_answer_without_text_is_not_a_program():
    import asyncio

    from assay.core import Image, Output, Sample

    image = Output.of(Image(b"not looked at"))

    found = asyncio.run(Runs()(Sample("a", fields={"tests": "assert f()"}), image))

    assert (found.value, found.outcome) == (0.0, Outcome.UNPARSED)


def test_a_sample_without_tests_is_a_fault_of_the_data():
    assert score(Runs(), "x").outcome is Outcome.DATA_ERROR


PROMPT = (
    'import math\n\ndef area(r: float) -> float:\n    """The area of a circle."""\n'
)
CHECK = "def check(candidate):\n    assert abs(candidate(1.0) - 3.14159) < 1e-4\n"


@pytest.mark.parametrize(
    ("completion", "value", "rule"),
    [
        ("    return math.pi * r ** 2\n", 1.0, "completion"),
        (
            "    return math.pi * r ** 2\n\nprint(area(1))\ndef other(",
            1.0,
            "completion",
        ),
        ("```python\n    return math.pi * r ** 2\n```", 1.0, "fence"),
        (
            "Sure:\n```python\ndef area(r):\n    return math.pi * r * r\n```",
            1.0,
            "fence",
        ),
        ("return math.pi * r ** 2", 0.0, "completion"),
        ("    return r\n", 0.0, "completion"),
        ("", 0.0, "completion"),
    ],
)
def test_humaneval_runs_prompt_and_completion(completion, value, rule):
    found = score(
        HumanEval(), completion, prompt=PROMPT, entry_point="area", test=CHECK
    )

    assert (found.value, found.details["rule"]) == (value, rule)


def test_humaneval_takes_more_tests_from_another_column():
    row = {"prompt": PROMPT, "entry_point": "area", "test": CHECK}
    plus = "def check(candidate):\n    assert candidate(0) == 0\n    assert candidate(2) > 12\n"
    cheat = "    return 3.14159\n"

    assert score(HumanEval(), cheat, **row).value == 1.0
    assert score(HumanEval(extra="plus"), cheat, **row, plus=plus).value == 0.0
    assert (
        score(
            HumanEval(extra="plus"), "    return math.pi * r ** 2\n", **row, plus=plus
        ).value
        == 1.0
    )


def test_livecodebench_runs_public_and_private_cases():
    row = {
        "public_test_cases": json.dumps(
            [{"input": "2\n", "output": "4", "testtype": "stdin"}]
        ),
        "private_test_cases": json.dumps(
            [{"input": "3\n", "output": "6", "testtype": "stdin"}]
        ),
        "metadata": "{}",
    }

    assert (
        score(LiveCodeBench(), "```python\nprint(2 * int(input()))\n```", **row).value
        == 1.0
    )
    assert score(LiveCodeBench(), "```python\nprint(4)\n```", **row).value == 0.0
    assert (
        score(LiveCodeBench(), "print(2 * int(input()))", **row).outcome
        is Outcome.UNPARSED
    )


def test_livecodebench_calls_the_method_of_a_solution():
    row = {
        "public_test_cases": json.dumps(
            [{"input": "[1, 2]\n3", "output": "[4, 5]", "testtype": "functional"}]
        ),
        "metadata": json.dumps({"func_name": "shift"}),
    }
    method = "def shift(self, nums: List[int], k: int):\n        return tuple(n + k for n in nums)"
    right = f"```python\nclass Solution:\n    {method}\n```"

    assert score(LiveCodeBench(), right, **row).value == 1.0
    assert score(LiveCodeBench(), right.replace("n + k", "n"), **row).value == 0.0


def test_a_suspect_verdict_keeps_its_value_and_is_counted_in_the_table(tmp_path):
    from assay import run
    from assay.core import Task
    from assay.models.scripted import Scripted

    honest = "def f(): return 1"
    cheats = f"import builtins\nbuiltins.abs = lambda x: 1\n{honest}"
    rows = [{"question": f"{n}", "tests": "assert abs(f()) == 1"} for n in range(3)]
    task = Task("functions", dataset=rows, scorers=("runs",))

    found = score(Runs(), cheats, tests=rows[0]["tests"])
    answers = Scripted([honest, cheats, cheats])
    [row] = run(task, answers, output=str(tmp_path / "run")).results

    assert found.value == 1.0
    assert found.details["suspect"] == "the program replaced builtins.abs"
    assert (row.value, row.flags) == (1.0, ("2 suspect verdicts",))
