"""Program and tests run in one process, as official runners do: right programs of every kind pass, wrong ones fail."""

import gzip
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from programs import RIGHT, WRONG
from ways import ways

from assay.sandbox import FunctionTests, Limits, TestsError, choose, judge_functions

WAYS = ways()
ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
SHIPPED = ROOT / "src" / "assay" / "benchmarks" / "data" / "text"
pytestmark = [
    pytest.mark.skipif(not WAYS, reason=f"no sandbox holds here: {choose().reasons}"),
    pytest.mark.xdist_group("sandbox"),
]
LIMITS = Limits(wall_seconds=30, cpu_seconds=30)


def judge(program: str, *parts: str, way: str = "", **more: str):
    tier = WAYS[way or next(iter(WAYS))]
    return judge_functions(tier, program, FunctionTests(*parts, **more), LIMITS)


@pytest.mark.parametrize("way", WAYS)
def test_right_programs_of_every_kind_pass_and_are_not_suspect(way):
    failed = {}
    for name, (program, tests) in RIGHT.items():
        verdict = judge(program, tests, way=way)
        if not verdict.passed or verdict.suspect:
            failed[name] = verdict

    assert failed == {} and len(RIGHT) >= 100


@pytest.mark.parametrize("way", WAYS)
def test_wrong_programs_fail(way):
    passed = [
        name
        for name, (program, tests) in WRONG.items()
        if judge(program, tests, way=way).passed
    ]

    assert passed == []


def test_verdicts_are_those_of_plain_python(tmp_path):
    import subprocess

    def passes(name: str) -> bool:
        program, tests = {**RIGHT, **WRONG}[name]
        file = tmp_path / f"{abs(hash(name))}.py"
        scope = "{'__name__': 'program', '__builtins__': __builtins__}"
        register = "sys.modules['program'] = type(sys)('program')"
        file.write_text(
            f"import sys\n{register}\nscope = sys.modules['program'].__dict__\n"
            f"scope.update({scope})\nexec({program!r}, scope)\nexec({tests!r}, scope)\n"
        )
        done = subprocess.run(
            [sys.executable, "-I", str(file)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        # `sys.exit(0)` in a test leaves it before its end, which official runners do not count as passed.
        return done.returncode == 0 and "exit" not in name

    with ThreadPoolExecutor(2) as threads:
        verdicts = dict(
            zip((*RIGHT, *WRONG), threads.map(passes, (*RIGHT, *WRONG)), strict=True)
        )

    assert {name for name, passed in verdicts.items() if passed} == set(RIGHT)


def failures(rows, verdict_of) -> list:
    """Rows whose verdict is not a plain pass, with why."""
    with ThreadPoolExecutor(2) as threads:
        verdicts = list(threads.map(verdict_of, rows))
    return [
        (row["task_id"], verdict.reason, verdict.suspect)
        for row, verdict in zip(rows, verdicts, strict=True)
        if not verdict.passed or verdict.suspect
    ]


def judge_humaneval(row):
    program = row["prompt"] + row["canonical_solution"]
    return judge(program, row["test"], f"check({row['entry_point']})")


def judge_mbpp(row):
    setup = row.get("test_setup_code") or "\n".join(row.get("test_imports", ()))
    return judge(row["code"], "\n".join([setup, *row["test_list"]]))


def test_every_reference_solution_of_humaneval_passes():
    path = SHARED / "humaneval" / "HumanEval.jsonl.gz"
    if not path.exists():
        pytest.skip("the data of HumanEval is not beside this checkout")
    rows = [
        json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()
    ]

    assert failures(rows, judge_humaneval) == [] and len(rows) == 164


def test_every_reference_solution_of_mbpp_passes():
    path = SHARED / "mbpp" / "sanitized-mbpp.json"
    if not path.exists():
        pytest.skip("the data of MBPP is not beside this checkout")
    rows = json.loads(path.read_text("utf-8"))

    assert failures(rows, judge_mbpp) == [] and len(rows) == 427


@pytest.mark.parametrize(
    ("name", "verdict_of"), [("humaneval", judge_humaneval), ("mbpp", judge_mbpp)]
)
def test_every_reference_solution_of_the_shipped_sets_passes(name, verdict_of):
    lines = (SHIPPED / f"{name}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]

    assert rows and failures(rows, verdict_of) == []


def test_a_function_may_have_the_name_of_a_builtin_as_in_mbpp_126():
    program = (
        "def sum(a, b):\n    total = 0\n    for i in range(1, min(a, b)):\n"
        "        total += i if a % i == b % i == 0 else 0\n    return total"
    )

    assert judge(program, "assert sum(10, 15) == 6\nassert sum(100, 150) == 93").passed


def test_a_program_that_defines_a_builtin_beside_the_tested_function_is_suspect():
    program = "def set(x): return 0\ndef similar(a, b): return None"
    tests = "assert set(similar((3, 4), (4, 5))) == set((4,))"

    verdict = judge(program, tests)
    inside_check = judge(
        program, "def check(f):\n    assert set(f(1, 2)) == set((4,))", "check(similar)"
    )

    reason = "the program defines set, which its tests use"
    assert [verdict.passed, verdict.suspect] == [True, reason]
    assert inside_check.suspect == reason


def test_a_builtin_that_the_tests_do_not_use_may_have_another_meaning():
    program = "max = 0\ndef input(x): return x\ndef twice(x): return 2 * x"

    assert judge(program, "assert twice(2) == 4").suspect == ""


@pytest.mark.skipif(
    not Path("/usr/share/zoneinfo/Europe/Berlin").exists(),
    reason="this machine has no time zones",
)
@pytest.mark.parametrize("way", WAYS)
def test_programs_can_use_time_zones(way):
    program = (
        "from datetime import datetime\nfrom zoneinfo import ZoneInfo\n"
        "def hour(): return datetime(2024, 7, 1, 12, tzinfo=ZoneInfo('UTC'))"
        ".astimezone(ZoneInfo('Europe/Berlin')).hour"
    )

    assert judge(program, "assert hour() == 14", way=way).passed


def test_the_setup_is_seen_by_the_tests_and_does_not_replace_names_of_the_program():
    setup = "import math\nclass Node: pass\ndef helper(): return math.pi"

    assert judge(
        "class Node:\n    x = 1", "assert Node.x == 1 and helper() > 3", before=setup
    ).passed
    assert not judge("x = math.pi", "assert x", before=setup).passed


def test_with_an_entry_the_program_sees_nothing_of_the_tests():
    setup = "import math\ndef check(f): assert f() > 3"
    tests = {"call": "check(candidate)", "before": setup, "entry": "f"}

    right = judge("import math\ndef f(): return math.pi", "", **tests)
    lacks_import = judge("def f(): return math.pi", "", **tests)
    replaces_check = judge("def check(f): pass\ndef f(): return 0", "", **tests)
    lacks_entry = judge("def g(): return 4", "", **tests)

    assert right.passed
    assert [lacks_import.passed, replaces_check.passed] == [False, False]
    assert lacks_entry.reason == "NameError: name 'f' is not defined"


def test_the_reason_says_whether_the_program_or_a_test_failed():
    assert judge("1 / 0", "f()").reason.startswith("the program does not load: Zero")
    assert judge("def f(): raise KeyError(3)", "f()").reason == "KeyError: 3"
    assert judge("import os\nos._exit(0)", "f()").reason == (
        "the program ended before its tests did"
    )


def test_tests_that_cannot_be_read_say_nothing_of_the_program():
    for tests in (("assert (",), ("", "check("), ("", "", "import nothing_of_that")):
        with pytest.raises(TestsError, match="the tests do not run"):
            judge("def f(): return 1", *tests)


def test_errors_with_a_text_of_any_kind_are_reasons():
    odd = "class E(Exception):\n    def __str__(self): {}\ndef f(): raise E"
    bodies = ("return '\\ud800'", "return 'x' * 9999", "return 1", "raise SystemExit")

    verdicts = [judge(odd.format(body), "f()") for body in bodies]

    assert [verdict.passed for verdict in verdicts] == [False] * 4
    assert all(verdict.reason.startswith("E") for verdict in verdicts)
    assert max(len(verdict.reason) for verdict in verdicts) <= 2000


LIBRARY_TAMPERED = {
    "a file in the place of a library module": (
        "import sys\nopen('math.py', 'w').write('isclose = lambda *a: True')\n"
        "sys.path.insert(0, '.')\nsys.modules.pop('math', None)\ndef f(): return 9",
        "import math\nassert math.isclose(f(), 3)",
    ),
    "a module made by hand": (
        "import sys, types\nm = types.ModuleType('statistics')\n"
        "exec('mean = lambda x: 3', m.__dict__)\nsys.modules['statistics'] = m\n"
        "def f(): return 9",
        "import statistics\nassert statistics.mean([f()]) == 3",
    ),
    "a method of a library class": (
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"
        "def f(): return 9",
        "import unittest\nunittest.TestCase().assertEqual(f(), 3)",
    ),
    "an object of mock that is not named": (
        "m = __import__('unittest.' + 'mo' + 'ck').mock\n"
        "def f(): return getattr(m, 'A' + 'NY')",
        "assert f() == 3",
    ),
    "the frame of a signal handler": (
        "import os, signal\ndef handle(s, frame): frame.f_back.f_globals\n"
        "signal.signal(signal.SIGUSR1, handle)\ndef f(): return 3",
        "assert f() == 3",
    ),
}


EQUALS_TOO_MUCH = {
    "all numbers": "class E(int):\n    def __eq__(s, o): return isinstance(o, int)\n",
    "all but one number": "class E:\n    def __eq__(s, o): return o != 8123\n",
    "a function of other globals": (
        "class E: pass\nns = {}\nexec('def eq(s, o): return True', ns)\nE.__eq__ = ns['eq']\n"
    ),
    "a static method": "class E:\n    __eq__ = staticmethod(lambda o: True)\n",
    "an object that is called": (
        "class C:\n    def __call__(s, o): return True\nclass E: pass\nE.__eq__ = C()\n"
    ),
    "a partial method": (
        "import functools\nclass E:\n    __eq__ = functools.partialmethod(lambda s, o: True)\n"
    ),
    "a class with a constructor of its own": (
        "class E:\n    def __new__(c, x=1): return object.__new__(c)\n    def __eq__(s, o): return True\n"
    ),
    "no difference": "class E:\n    def __sub__(s, o): return 0\n",
}


@pytest.mark.parametrize("name", EQUALS_TOO_MUCH)
def test_a_class_that_equals_different_values_is_suspect(name):
    compare = "abs(f() - 3) < 1e-6" if name == "no difference" else "f() == 3"

    verdict = judge(EQUALS_TOO_MUCH[name] + "def f(): return E()", f"assert {compare}")

    assert verdict.passed
    assert "E equals everything" in verdict.suspect


@pytest.mark.parametrize("name", LIBRARY_TAMPERED)
def test_a_program_that_changes_what_its_tests_use_is_suspect(name):
    verdict = judge(*LIBRARY_TAMPERED[name])

    assert verdict.passed
    assert verdict.suspect


def test_doctests_and_mocks_of_the_tests_are_not_suspect():
    program = "import random\ndef f():\n    '''\n    >>> 1 + 1\n    2\n    '''\n    return random.random()"
    tests = (
        "import doctest\nfrom unittest.mock import patch\n"
        "with patch('random.random', return_value=3):\n    assert f() == 3\n"
        "example = doctest.DocTestFinder().find(f, 'f', globs={})[0]\n"
        "assert doctest.DocTestRunner().run(example).failed == 0"
    )

    verdict = judge(program, tests)

    assert verdict.passed
    assert not verdict.suspect
