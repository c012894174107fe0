"""EvalPlus: functions must agree with the canonical solution on many more inputs. They run in a sandbox.

A row has EvalPlus's columns `base_input`, `plus_input`, `canonical_solution` and
`atol`. It may instead have a second test in the column `plus`, or all tests in `test`,
as in EvalPlus's datasets on the Hugging Face hub. As in EvalPlus, results must be
equal, or numbers within `atol` (1e-6 if floats are expected). The time limits are also
EvalPlus's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core import Output, Sample, Score
from ...registry import scorers
from ...sandbox import FunctionTests
from ...sandbox.verdict import ToRun
from ..answers import data_error
from .code_text import completed
from .program_runs import InSandbox, check_limits, limits_of, no_tests, run_program

COMPARED = """
import copy as _copy, json as _json, math as _math
import signal as _signal, sys as _sys, time as _time

def _is_number(value):
    return isinstance(value, (int, float, complex))

def _shape(value):
    if not isinstance(value, (list, tuple)):
        return ()
    shapes = {_shape(one) for one in value}
    if len(shapes) > 1:
        raise ValueError("numbers and lists side by side")
    return (len(value), *(shapes.pop() if shapes else ()))

def _are_close(got, wanted, rtol=1e-05, atol=1e-08):
    _shape(got), _shape(wanted)
    if isinstance(wanted, (list, tuple)) or isinstance(got, (list, tuple)):
        if not (isinstance(wanted, (list, tuple)) and isinstance(got, (list, tuple))):
            many = isinstance(wanted, (list, tuple))
            pairs = [(got, one) for one in wanted] if many else [(one, wanted) for one in got]
        elif len(got) != len(wanted):
            raise ValueError("results of different lengths")
        else:
            pairs = list(zip(got, wanted))
        return all([_are_close(*pair, rtol=rtol, atol=atol) for pair in pairs])
    if not (_is_number(got) and _is_number(wanted)):
        raise TypeError("not numbers")
    difference = abs(got - wanted) if got != wanted else 0
    return difference <= atol + rtol * abs(wanted) and not _math.isinf(difference)

def _are_floats(value):
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(one, float) for one in value)
    return isinstance(value, float)

def _late(*_):
    raise TimeoutError("an input took too long")

def _compare(function, entry, inputs, wanted, seconds, atol):
    _signal.signal(_signal.SIGALRM, _late)
    for arguments, expected, limit in zip(inputs, wanted, seconds):
        _signal.setitimer(_signal.ITIMER_REAL, max(1.0, 4 * limit))
        got = function(*arguments)
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        if entry == "find_zero":
            assert abs(sum([c * _math.pow(got, n) for n, c in enumerate(*arguments)])) <= atol, "not a zero"
            continue
        if atol == 0 and _are_floats(expected):
            atol = 1e-6
        if got == expected:
            continue
        assert atol != 0, f"another result for {repr(arguments)[:200]}"
        assert type(got) == type(expected), f"another type for {repr(arguments)[:200]}"
        assert _are_close(got, expected, rtol=1e-07, atol=atol), f"another number for {repr(arguments)[:200]}"

def _solved(solution, entry, inputs):
    scope, wanted, seconds = {}, [], []
    exec(solution, scope)
    for arguments in inputs:
        arguments, started = _copy.deepcopy(arguments), _time.monotonic()
        wanted.append(scope[entry](*arguments))
        seconds.append(_time.monotonic() - started)
    return wanted, seconds

def _stand_in_for_numpy():
    # The tests of the hub's page compare by these names alone; the sandbox has the standard library only.
    module = type(_sys)("numpy")
    module.ndarray, module.float64, module.float32 = type("ndarray", (), {}), float, float
    module.allclose = _are_close
    _sys.modules.setdefault("numpy", module)
_stand_in_for_numpy()
"""


@scorers.register("evalplus")
@dataclass(frozen=True)
class EvalPlus(InSandbox):
    """1 if the function passes its tests and agrees with the canonical solution on all inputs of EvalPlus."""

    timeout: float = 60.0
    """Seconds for all inputs of a function.

    The limit for one input is four times the time of the canonical solution, and at
    least 1 s.
    """
    memory_mb: int = 4096

    def __post_init__(self) -> None:
        check_limits("evalplus", self.timeout, self.memory_mb)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        prompt = str(sample.fields.get("prompt", sample.input))
        entry = str(sample.fields.get("entry_point") or "")
        if not entry.isidentifier():
            return data_error("entry_point is not the name of a function")
        try:
            tests = tests_of(sample.fields, prompt, entry)
        except ValueError as error:
            return data_error(str(error))
        if not tests:
            return no_tests("plus_input")
        program, rule = completed(prompt, output.text, entry)
        limits = limits_of(self.timeout, self.memory_mb)
        score = Score(None)
        for number, test in enumerate(tests):
            score = await run_program(
                self.models,
                ToRun(program, test, limits=limits),
                rule,
            )
            if score.value != 1.0:
                if number == 0 and len(tests) > 1:
                    part = "base"
                else:
                    part = "plus"
                if score.value == 0.0:
                    return replace(score, details={**score.details, "failed": part})
                return score
        return score


def tests_of(
    fields: Mapping[str, Any],
    prompt: str,
    entry: str,
) -> list[FunctionTests]:
    """Return the tests of a row as inputs or as code, the base tests first."""
    if "plus_input" in fields or "base_input" in fields:
        solution = prompt + str(fields.get("canonical_solution") or "")
        return [
            _by_inputs(fields, name, solution, entry)
            for name in ("base_input", "plus_input")
            if fields.get(name)
        ]
    codes = [str(fields[name]) for name in ("test", "plus") if fields.get(name)]
    tests = []
    for code in codes:
        tests.append(
            FunctionTests(
                code,
                f"check({entry})" if "def check" in code else "",
                COMPARED,
            )
        )
    return tests


def _by_inputs(
    fields: Mapping[str, Any],
    name: str,
    solution: str,
    entry: str,
) -> FunctionTests:
    """Return tests that compare the function with the canonical solution on the inputs of a column."""
    cell = fields[name]
    if isinstance(cell, str):
        inputs = json.loads(cell)
    else:
        inputs = cell
    if not isinstance(inputs, list) or not all(
        isinstance(arguments, list) for arguments in inputs
    ):
        raise ValueError(f"{name} is not a list of lists of arguments")
    atol = fields.get("atol") or 0
    if isinstance(atol, bool) or not isinstance(atol, (int, float)) or not atol >= 0:
        raise ValueError(f"atol must be a number from 0, got {atol!r}")
    before = (
        f"{COMPARED}\n_inputs = _json.loads({json.dumps(inputs)!r})\n"
        f"_wanted, _seconds = _solved({solution!r}, {entry!r}, _inputs)\n"
    )
    return FunctionTests(
        "",
        f"_compare(candidate, {entry!r}, _inputs, _wanted, _seconds, {atol!r})",
        before,
        entry,
    )
