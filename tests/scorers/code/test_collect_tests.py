"""Test code as test files have it runs its tests, and code that calls nothing is not a pass."""

import pytest
from code_scores import score
from each_row import each

from assay.core import Outcome
from assay.sandbox import choose
from assay.scorers.code.collect_tests import NothingRuns, runnable
from assay.scorers.code.program_runs import Runs

RIGHT = "def double(x):\n    return 2 * x"
WRONG = "def double(x):\n    return x + 3"
UNITTEST = """
import unittest

class Doubles(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(double(2), 4)
"""
FILES = {
    "functions of pytest": "def test_double():\n    assert double(2) == 4",
    "an asynchronous function": "async def test_double():\n    assert double(2) == 4",
    "a class of pytest": "class TestDouble:\n    def setup_method(self):\n        self.x = 2\n"
    "    def test_it(self):\n        assert double(self.x) == 4",
    "a class of unittest that nothing runs": UNITTEST,
    "unittest.main": f"{UNITTEST}\nunittest.main()",
    "unittest.main in a block for __main__": f"{UNITTEST}\nif __name__ == '__main__':\n    unittest.main()",
    "its result": f"{UNITTEST}\nresult = unittest.main(argv=['x'], exit=False).result\n"
    "assert result.wasSuccessful()",
    "a block for __main__": "def main():\n    assert double(2) == 4\n\nif __name__ == '__main__':\n    main()",
    "assertions and classes": f"assert double(0) == 0 or double(0) == 3\n{UNITTEST}\nunittest.main()",
    "a call of pytest.main": "import sys\n\ndef test_double():\n    assert double(2) == 4\n\n"
    "if __name__ == '__main__':\n    sys.exit(pytest.main([__file__]))",
    "plain assertions": "assert double(2) == 4",
    "a statement before tests": "import random\nrandom.seed(0)\nprint('start')\n\n"
    "def test_double():\n    assert double(2) == 4",
    "an assertion before tests": "assert double(3) == 6\n\ndef test_double():\n    assert double(2) == 4",
    "an optional import": "try:\n    from solution import double\nexcept ImportError:\n    pass\n\n"
    "def test_double():\n    assert double(2) == 4",
    "a runner that only prints": f"{UNITTEST}\nunittest.TextTestRunner().run("
    "unittest.defaultTestLoader.loadTestsFromTestCase(Doubles))",
    "a class that inherits its base": "import unittest\n\nclass Base(unittest.TestCase):\n    x = 2\n\n"
    "class Doubles(Base):\n    def test_it(self):\n        self.assertEqual(double(self.x), 4)",
    "another name of TestCase": "from unittest import TestCase as TC, main\n\nclass Doubles(TC):\n"
    "    def test_it(self):\n        self.assertEqual(double(2), 4)\n\nif __name__ == '__main__':\n    main()",
    "a main function": "import unittest as ut\n\nclass Doubles(ut.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(double(2), 4)\n\ndef main():\n    ut.main()\n\nmain()",
    "an exit status": f"import sys\n{UNITTEST}\nresult = unittest.main(exit=False).result\n"
    "sys.exit(not result.wasSuccessful())",
    "an exit": "import sys\nassert double(2) == 4\nsys.exit(0)",
    "a patched test": "from unittest.mock import patch\n\n@patch('os.getcwd')\ndef test_double(getcwd):\n"
    "    assert double(2) == 4",
    "hooks of pytest": "class TestDouble:\n    @classmethod\n    def setup_class(cls):\n        cls.y = 4\n"
    "    def setup_method(self, method):\n        self.x = 2\n"
    "    def test_it(self):\n        assert double(self.x) == self.y",
    "a list of tests of one name": [
        "def test():\n    assert double(2) == 4",
        "def test():\n    assert double(0) == 0",
    ],
    "a list written as text": "['assert double(2) == 4', 'assert double(0) == 0']",
    "a list written as JSON": '["assert double(2) == 4"]',
    "tests under a condition": "import sys\nif sys.version_info > (3,):\n"
    "    def test_double():\n        assert double(2) == 4",
}
needs_sandbox = pytest.mark.skipif(
    choose().tier is None, reason=f"no sandbox holds here: {choose().reasons}"
)


@needs_sandbox
@pytest.mark.parametrize("tests", FILES.values(), ids=FILES)
def test_a_test_file_passes_right_programs_and_no_others(tests):
    assert score(Runs(), RIGHT, tests=tests).value == 1.0
    assert score(Runs(), WRONG, tests=tests).value == 0.0


@pytest.mark.parametrize(
    "tests",
    [
        "def check(candidate):\n    assert candidate(2) == 4",
        "METADATA = {'author': 'x'}\n\ndef check(candidate):\n    assert candidate(2) == 4",
        "import unittest",
        "def test_double(case):\n    assert double(case) == 4",
        "import random\nrandom.seed(0)\n\ndef check(candidate):\n    assert candidate(2) == 4",
        "'a text'",
        "[1, 2]",
        "def test_a():\n    assert double(2) == 4\n\ndef test_b(tmp_path):\n    assert double(2) == 4",
    ],
)
def test_tests_that_call_nothing_are_a_fault_of_the_data(tests):
    found = score(Runs(), WRONG, tests=tests)

    assert found.outcome is Outcome.DATA_ERROR
    reasons = ("call nothing", "takes arguments", "neither code nor")
    assert any(reason in found.details["reason"] for reason in reasons)


@pytest.mark.parametrize(
    "tests",
    [
        "x = double(2)",
        "for n in range(3):\n    assert double(n) == 2 * n",
        "def helper():\n    return 4\nassert double(2) == helper()",
        "not python at all (",
    ],
)
def test_code_that_calls_what_it_tests_stays_as_it_is(tests):
    assert runnable([tests]) == tests


def test_the_fault_names_what_is_defined():
    with pytest.raises(
        NothingRuns, match=r"passes the tests \(check, helper\): they call nothing"
    ):
        runnable(["def check(f): ...\ndef helper(): ..."])


@needs_sandbox
def test_tests_reach_the_program_as_the_main_module():
    program = "def now():\n    return 1\n\ndef later():\n    return now() + 1"
    tests = "from unittest.mock import patch\nwith patch('__main__.now', return_value=6):\n    assert later() == 7"

    found = score(Runs(), program, tests=tests)

    assert found.value == 1.0
    assert "suspect" not in found.details


@needs_sandbox
def test_a_byte_order_mark_before_a_program_is_no_fault():
    assert score(Runs(), f"\ufeff{RIGHT}", tests="assert double(2) == 4").value == 1.0


@needs_sandbox
@pytest.mark.parametrize(
    "line", ["import numpy as np", "from solution import double", "import pytest"]
)
def test_tests_that_import_what_is_not_there_do_not_fail_the_program(line):
    found = score(Runs(), RIGHT, tests=f"{line}\nassert double(2) == 4")

    assert found.outcome is Outcome.JUDGE_ERROR
    assert line.split()[1] in found.details["reason"]


@needs_sandbox
def test_tests_may_import_the_program_and_optional_modules():
    tests = (
        "from program import double as d\n"
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nassert d(2) == 4"
    )

    assert score(Runs(), RIGHT, tests=tests).value == 1.0


@needs_sandbox
def test_a_program_that_lacks_a_module_is_wrong_and_names_it():
    found = score(Runs(), "import numpy\n" + RIGHT, tests="assert double(2) == 4")

    assert (found.value, found.details["missing_module"]) == (0.0, "numpy")


CLASS = "import unittest\nclass T(unittest.TestCase):\n    "
CANNOT_FAIL = [
    "double(2) == 4",
    "print(double(2) == 4)",
    "def test_a():\n    double(2) == 4",
    "def check(c):\n    c(2) == 4\ncheck(double)",
    "double(2) == 4 and double(3) == 6",
    "not double(2) == 5",
    "4 in double(2)",
    "def test_a():\n    pass",
    "def test_a(): ...",
    "def test_a():\n    'x'",
    "assert True",
    f"{CLASS}@unittest.skip('x')\n    def test_a(self):\n        self.assertEqual(double(2), 4)",
    "import unittest\n@unittest.skip('x')\nclass T(unittest.TestCase):\n    def test_a(self):\n"
    "        self.assertEqual(double(2), 4)",
    f"{CLASS}def test_a(self):\n        self.skipTest('x')\n        self.assertEqual(double(2), 4)",
    "import unittest\ndef test_a():\n    raise unittest.SkipTest('x')\n    assert double(2)==4",
    "async def main():\n    assert double(2) == 4\nmain()",
    "async def test_a():\n    assert double(2) == 4\ntest_a()",
    "async def main():\n    assert double(2) == 4\nif __name__ == '__main__':\n    main()",
    f"{CLASS}async def test_a(self):\n        self.assertEqual(double(2), 4)",
    "def check(c):\n    assert c(2)==4\nif __name__ == '__main__':\n    pass",
    "import unittest\nclass TestX(unittest.TestCase):\n    def check_it(self):\n"
    "        self.assertEqual(double(2),4)",
    "class TestX:\n    def check_it(self):\n        assert double(2)==4",
    "import unittest\nclass TestX(unittest.TestCase):\n    pass\nunittest.main()",
    "try:\n    assert double(2)==4\nexcept AssertionError:\n    print('failed')",
    "def test_a():\n    try:\n        assert double(2)==4\n    except Exception as e:\n        print(e)",
    "[double(n) == 2*n for n in range(3)]",
    "all(double(n) == 2*n for n in range(3))",
    "CASES=[(2,4)]\nfor a,b in CASES:\n    double(a)==b",
]
CAN_FAIL = [
    f"{CLASS}@unittest.skip('x')\n    def test_a(self):\n        self.assertEqual(double(2), 4)\n"
    "    def test_b(self):\n        self.assertEqual(double(2), 4)",
    "import unittest, sys\nclass T(unittest.TestCase):\n"
    "    @unittest.skipIf(sys.version_info<(3,),'x')\n    def test_a(self):\n        self.assertEqual(double(2), 4)",
    "import asyncio\nasync def main():\n    assert double(2) == 4\nasyncio.run(main())",
    "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n    async def test_a(self):\n"
    "        self.assertEqual(double(2), 4)",
    "try:\n    assert double(2)==4\nexcept AssertionError:\n    print('x')\n    raise",
    "import sys\ntry:\n    assert double(2)==4\nexcept AssertionError:\n    sys.exit(1)",
    "try:\n    double(None)\n    assert False\nexcept TypeError:\n    pass",
    "try:\n    double(None)\nexcept Exception:\n    pass\nelse:\n    assert False",
    "try:\n    double(None)\n    ok=False\nexcept Exception:\n    ok=True\nassert ok",
    f"{CLASS}def test_a(self):\n        try:\n            double(2)\n        except Exception:\n"
    "            self.fail('x')",
    "print(double(2))",
    "def check(c):\n    def inner():\n        assert c(2)==4\n    inner()\ncheck(double)",
    "def helper(c): c(2)\nhelper(double)",
    "def eq(a,b):\n    if a != b: raise ValueError\neq(double(2), 4)",
    "import numpy as np\nnp.testing.assert_allclose(double(2), 4)",
    "import pytest\ndef test_a():\n    with pytest.raises(ValueError):\n        double('x')",
    "def ok(c):\n    assert c(2)==4\ndef test_a():\n    ok(double)",
    "class Checker:\n    def go(self):\n        assert double(2)==4\nChecker().go()",
    "import unittest\nclass Base(unittest.TestCase):\n    def test_a(self):\n"
    "        self.assertEqual(double(2),4)\nclass T(Base): pass",
    "check = lambda c: c(2)\ncheck(double)",
    "assert all(double(n) == 2*n for n in range(3))",
    "import sys\nif double(2) != 4:\n    sys.exit(1)",
    "isinstance(double(2), int)",
]


@each("tests", CANNOT_FAIL)
def test_tests_in_which_nothing_can_fail_are_refused(tests):
    with pytest.raises(NothingRuns, match="every program passes"):
        runnable([tests])


@each("tests", CAN_FAIL)
def test_tests_in_which_something_can_fail_are_run(tests):
    compile(runnable([tests]), "tests", "exec")


@needs_sandbox
def test_a_skipped_function_does_not_fail_the_program():
    tests = (
        "import unittest\ndef test_a():\n    raise unittest.SkipTest('later')\n"
        "def test_b():\n    assert double(2) == 4"
    )

    assert score(Runs(), RIGHT, tests=tests).value == 1.0
    assert score(Runs(), WRONG, tests=tests).value == 0.0


@needs_sandbox
@pytest.mark.parametrize(
    "program",
    [
        "import unittest\ndef double(x): raise unittest.SkipTest('later')",
        "import unittest\nunittest.TestCase.failureException = unittest.SkipTest\n"
        "def double(x): return 0",
        "import unittest\nunittest.defaultTestLoader.testMethodPrefix = 'no'\n"
        "def double(x): return 0",
        "import unittest\nunittest.TestLoader.testMethodPrefix = 'no'\n"
        "def double(x): return 0",
    ],
)
def test_a_program_cannot_skip_its_tests(program):
    functions = "def test_double():\n    assert double(2) == 4"

    assert score(Runs(), program, tests=UNITTEST).value == 0.0
    assert score(Runs(), program, tests=functions).value == 0.0


@needs_sandbox
@pytest.mark.parametrize(
    "skipped",
    [
        "    @unittest.skip('slow')\n    def test_slow(self):\n        assert double(2) == 5\n",
        "    def test_slow(self):\n        self.skipTest('slow')\n",
        "    def test_slow(self):\n        with self.subTest():\n            self.skipTest('slow')\n",
        "    @unittest.expectedFailure\n    def test_slow(self):\n        assert double(2) == 5\n",
    ],
)
def test_tests_may_skip_themselves(skipped):
    tests = f"{UNITTEST}\n{skipped}"

    assert score(Runs(), RIGHT, tests=tests).value == 1.0
    assert score(Runs(), WRONG, tests=tests).value == 0.0
