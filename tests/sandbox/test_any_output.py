# ruff: noqa: E501 - one program a line
"""Whatever a program prints, writes or leaves is a verdict about the program, never a failure of the sandbox."""

import json
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scorers" / "code"))

from code_scores import score

from assay import run
from assay.core import Task
from assay.models.scripted import Scripted
from assay.sandbox import choose
from assay.sandbox.verdict import same_output
from assay.scorers.code.livecodebench import LiveCodeBench
from assay.scorers.code.program_runs import Runs

pytestmark = [
    pytest.mark.skipif(
        choose().tier is None, reason=f"no sandbox holds here: {choose().reasons}"
    ),
    pytest.mark.xdist_group("sandbox"),
]
WORDS = (
    "sNaN",
    "NaN",
    "-sNaN123",
    "Infinity",
    "1e999999999999999999999",
    "1e-99999999999",
    "0x1",
    "1_000",
    "٣",
    "１",
    "½",
    "\x00",
    "\ud800",
    "\ufeff",
    "\u2028",
    "\x85",
    "\x1c",
    "1" * 5000,
    "-",
    ".",
    "e",
    "1e",
    "+1",
    "1.0",
    "True",
    "",
    " ",
    "\r",
    "\t",
    "None",
)
ENDS = {
    "prints sNaN": "print('sNaN')",
    "prints numbers that overflow": "print('1e999999999999999999999')",
    "prints invalid UTF-8": "import os\nos.write(1, bytes(range(256)))",
    "prints a lone surrogate": "import sys\nsys.stdout.buffer.write('\\ud800'.encode('utf-8', 'surrogatepass'))",
    "prints NUL": "print('\\0' * 100)",
    "prints 3 MB": "print('x' * 3_000_000)",
    "prints 3 MB of lines": "print('\\n' * 3_000_000)",
    "prints 3 MB of errors and fails": "import sys\nsys.stderr.write('x' * 3_000_000)\nsys.exit(1)",
    "fails with an error that is no text": "import os\nos.write(2, bytes(range(256)))\nos._exit(1)",
    "ends with code 255": "raise SystemExit(255)",
    "ends with a text": "raise SystemExit('\\ud800')",
    "is killed": "import os\nos.kill(os.getpid(), 9)",
    "ends by a fault": "import os\nos.kill(os.getpid(), 11)",
    "aborts": "import os\nos.abort()",
    "stops itself": "import os\nos.kill(os.getpid(), 19)",
    "nests 3,000 folders": "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\nprint(1)",
    "nests folders that are closed": "import os\nfor _ in range(30):\n    os.mkdir('d', 0o300); os.chdir('d')\nprint(1)",
    "leaves odd names": "import os\nfor n in (b'\\xff', b'a\\nb', b'-rf', '\\u202e'.encode()):\n    os.mkdir(n)\n    open(n + b'/x', 'w').close()\nprint(1)",
    "leaves links, pipes and loops": "import os\nos.symlink('.', 'loop'); os.symlink('/', 'root'); os.mkfifo('pipe'); os.symlink('gone', 'x')\nprint(1)",
    "leaves many files": "for n in range(3000): open(str(n), 'w').close()\nprint(1)",
    "removes its folder": "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)\nprint(1)",
    "closes its outputs": "import os\nfor n in range(3): os.close(n)",
    "reads nothing": "print(1)",
    "is no program": "\x00\ud800",
    "recurses": "import sys\nsys.setrecursionlimit(10 ** 8)\ndef f(): f()\nf()",
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_a_wrong_program_of_a_case_never_passes(name):
    cases = [{"input": "x" * 100_000, "output": "2"}]

    found = score(Runs(timeout=5), ENDS[name], tests=cases)

    assert (found.value, str(found.outcome)) == (0.0, "scored"), found


@pytest.mark.parametrize("name", ENDS)
def test_a_wrong_program_with_functions_never_passes(name):
    found = score(Runs(timeout=5), ENDS[name], tests="assert f() == 1")

    assert (found.value, str(found.outcome)) == (0.0, "scored"), found


def test_outputs_of_any_kind_can_be_compared():
    draw = random.Random(7)
    for _ in range(20_000):
        printed, expected = (
            "".join(
                draw.choice(WORDS) + draw.choice(" \n")
                for _ in range(draw.randrange(4))
            )
            for _ in range(2)
        )
        assert same_output(printed, expected) in (True, False)
        assert same_output(printed, printed)


def test_a_right_program_that_prints_more_than_a_megabyte_is_right():
    lines = "\n".join(str(n) for n in range(400_000))
    case = {"input": "", "output": lines}
    right = "print('\\n'.join(str(n) for n in range(400_000)))"
    noisy = f"import sys\nsys.stderr.write('x' * 3_000_000)\n{right}"

    assert len(lines) > 2_000_000
    assert score(Runs(), right, tests=[case]).value == 1.0
    assert score(Runs(), noisy, tests=[case]).value == 1.0
    assert score(Runs(), right + "\nprint(1)", tests=[case]).value == 0.0
    assert score(Runs(), right + "\nprint('x' * 10**8)", tests=[case]).value == 0.0


def test_a_function_that_prints_more_than_a_megabyte_is_judged_by_its_result():
    program = "def f():\n    print('x' * 3_000_000)\n    return {}"

    assert score(Runs(), program.format(1), tests="assert f() == 1").value == 1.0
    assert score(Runs(), program.format(2), tests="assert f() == 1").value == 0.0


def test_programs_that_fail_oddly_stay_in_the_denominator_of_a_run(tmp_path):
    odd = ["prints sNaN", "prints a lone surrogate", "nests 3,000 folders", "is killed"]
    answers = ["print(2)", *(ENDS[name] for name in odd)]
    rows = [
        {"question": f"{n}", "tests": [{"input": "", "output": "2"}]}
        for n in range(len(answers))
    ]
    task = Task("programs", dataset=rows, scorers=("runs",))

    result = run(task, Scripted(answers), output=str(tmp_path / "run"))

    [row] = result.results
    assert (row.value, row.n, result.status) == (0.2, 5, "complete")


def test_functions_of_livecodebench_are_compared_as_the_official_runner_does():
    cases = [{"input": "1", "output": "[1, 2]", "testtype": "functional"}]
    row = {"public_test_cases": json.dumps(cases), "metadata": '{"func_name": "f"}'}
    answer = "```python\ndef f(x): return {}\n```"

    values = [
        score(LiveCodeBench(), answer.format(value), **row).value
        for value in ("(1, 2)", "[1, 2]", "[1.0, 2]", "iter([1, 2])", "{1, 2}")
    ]

    assert values == [1.0, 1.0, 1.0, 0.0, 0.0]
