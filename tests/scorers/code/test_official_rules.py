"""Rules of LiveCodeBench and EvalPlus: what their own code says of our inputs (`official.json`), ours says too."""

import json
from pathlib import Path

import pytest
from code_scores import score
from each_row import each

from assay.sandbox import choose
from assay.sandbox.verdict import same_output
from assay.scorers.code.code_text import last_block
from assay.scorers.code.evalplus import EvalPlus
from assay.scorers.code.livecodebench import LiveCodeBench

OFFICIAL = json.loads((Path(__file__).parent / "official.json").read_text("utf-8"))
needs_sandbox = pytest.mark.skipif(
    choose().tier is None, reason=f"no sandbox holds here: {choose().reasons}"
)


@each(("printed", "wanted", "official"), OFFICIAL["printed"])
def test_what_is_printed_is_compared_as_livecodebench_does(printed, wanted, official):
    assert same_output(printed, wanted) is official


@pytest.mark.parametrize(("text", "official"), OFFICIAL["fenced"])
def test_the_program_is_taken_from_its_fence_as_livecodebench_does(text, official):
    assert last_block(text) == official


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "inputs", "outputs", "official"), OFFICIAL["functional"]
)
def test_results_of_functions_are_compared_as_livecodebench_does(
    code, inputs, outputs, official
):
    cases = [
        {"input": one, "output": other}
        for one, other in zip(inputs, outputs, strict=True)
    ]
    row = {"public_test_cases": json.dumps(cases), "metadata": '{"func_name": "f"}'}

    found = score(LiveCodeBench(), f"```python\n{code}\n```", **row)

    assert found.value == float(official)


@needs_sandbox
@each(("got", "wanted", "atol", "official"), OFFICIAL["compared"])
def test_results_are_compared_as_evalplus_does(got, wanted, atol, official):
    before = "inf = float('inf')\ndef f(a):\n"
    row = {
        "prompt": before,
        "canonical_solution": f"    return {wanted}\n",
        "base_input": [[1]],
        "plus_input": [],
        "atol": atol,
        "entry_point": "f",
    }

    found = score(EvalPlus(), f"    return {got}\n", **row)

    assert found.value == float(official)


@needs_sandbox
def test_evalplus_takes_its_tests_from_the_hubs_page_or_a_second_column_too():
    prompt = "def f(a):\n"
    hub = (
        "import numpy as np\n\ndef check(candidate):\n    for inp, exp in zip([[1], [2]], [0.5, 1.0]):\n"
        "        assert np.allclose(candidate(*inp), exp, rtol=1e-07, atol=1e-06)\n"
    )
    first = {
        "prompt": prompt,
        "entry_point": "f",
        "test": "def check(candidate):\n    assert candidate(1) == 0.5\n",
    }

    assert (
        score(
            EvalPlus(), "    return a / 2\n", prompt=prompt, entry_point="f", test=hub
        ).value
        == 1.0
    )
    assert (
        score(
            EvalPlus(), "    return 0.5\n", prompt=prompt, entry_point="f", test=hub
        ).value
        == 0.0
    )
    assert (
        score(EvalPlus(), "    return 0.5\n", **first, plus=hub).details["failed"]
        == "plus"
    )
    assert (
        score(EvalPlus(), "    return 0\n", **first, plus=hub).details["failed"]
        == "base"
    )


@needs_sandbox
@pytest.mark.parametrize(
    ("row", "outcome", "reason"),
    [
        (
            {"base_input": [1]},
            "data_error",
            "base_input is not a list of lists of arguments",
        ),
        (
            {"base_input": [[1]], "atol": "much"},
            "data_error",
            "atol must be a number from 0, got 'much'",
        ),
        (
            {"base_input": [[1]], "canonical_solution": "    return 1 / 0\n"},
            "judge_error",
            "ZeroDivisionError",
        ),
        (
            {"base_input": [[1]], "entry_point": "f("},
            "data_error",
            "entry_point is not the name of a function",
        ),
        ({}, "data_error", "there are no tests"),
    ],
)
def test_rows_without_tests_are_data_errors(row, outcome, reason):
    found = score(
        EvalPlus(),
        "    return 1\n",
        **{"prompt": "def f(a):\n", "entry_point": "f", **row},
    )

    assert (found.value, str(found.outcome)) == (
        None,
        outcome,
    ) and reason in found.details["reason"]


@needs_sandbox
def test_one_input_has_its_own_time_and_find_zero_its_own_rule():
    row = {
        "prompt": "def f(a):\n",
        "entry_point": "f",
        "canonical_solution": "    return a\n",
        "base_input": [[1]],
    }
    zero = {
        "prompt": "def find_zero(xs):\n",
        "entry_point": "find_zero",
        "atol": 1e-4,
        "canonical_solution": "    return -0.5\n",
        "base_input": [[[1, 2]]],
    }

    late = score(EvalPlus(), "    import time; time.sleep(9); return a\n", **row)

    assert late.value == 0.0 and "an input took too long" in late.details["reason"]
    assert score(EvalPlus(), "    return -0.50001\n", **zero).value == 1.0
    assert score(EvalPlus(), "    return -0.6\n", **zero).value == 0.0


@needs_sandbox
def test_packed_private_cases_count_and_other_cells_are_data_errors():
    import base64
    import pickle
    import zlib

    private = json.dumps([{"input": "5", "output": "10", "testtype": "stdin"}])
    packed = base64.b64encode(zlib.compress(pickle.dumps(private))).decode()
    public = json.dumps([{"input": "1", "output": "2", "testtype": "stdin"}])
    answer = "```python\n{}\n```"

    right = score(
        LiveCodeBench(),
        answer.format("print(int(input()) * 2)"),
        public_test_cases=public,
        private_test_cases=packed,
    )
    cheat = score(
        LiveCodeBench(),
        answer.format("print(2)"),
        public_test_cases=public,
        private_test_cases=packed,
    )
    broken = score(
        LiveCodeBench(),
        answer.format("print(2)"),
        public_test_cases=public,
        private_test_cases="gA==",
    )

    assert (right.value, cheat.value) == (1.0, 0.0)
    assert (broken.value, str(broken.outcome)) == (
        None,
        "data_error",
    ) and "cut short" in broken.details["reason"]
