"""LiveCodeBench: a program that passes all public and private cases of its problem, run in a sandbox.

Cases are JSON, `[{"input": …, "output": …, "testtype": "stdin" | "functional"}]`; private ones may be packed. A
problem with `metadata.func_name` is solved by a method of `Solution`, or a function, called with one JSON value a
line. Results are compared as the official runner does: a tuple counts as a list, except for tuples inside of it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ...core import Output, Sample, Score
from ...registry import scorers
from ...sandbox import FunctionTests
from ...sandbox.asking import Case, ToRun
from ..answers import data_error, no_answer
from .code_text import last_block
from .packed_cases import unpacked
from .program_runs import InSandbox, check_limits, limits_of, no_tests, run_program

IMPORTS = """from string import *
from re import *
from datetime import *
from collections import *
from heapq import *
from bisect import *
from copy import *
from math import *
from random import *
from statistics import *
from itertools import *
from functools import *
from operator import *
from io import *
from sys import *
from json import *
from builtins import *
from typing import *
import string
import re
import datetime
import collections
import heapq
import bisect
import copy
import math
import random
import statistics
import itertools
import functools
import operator
import io
import sys
import json
sys.setrecursionlimit(50000)
"""
"""Put before every program, so that answers without their imports run."""
_FUNCTIONAL = """
import json

def check(method):
    for given, expected in json.loads({cases!r}):
        result = method(*[json.loads(line) for line in given.split("\\n")])
        result = list(result) if isinstance(result, tuple) else result
        assert result == json.loads(expected), "a case has another result"
"""


@scorers.register("livecodebench")
@dataclass(frozen=True)
class LiveCodeBench(InSandbox):
    """1 if the last fenced program passes every case of its problem in a sandbox."""

    timeout: float = 6.0
    """Seconds for each case that reads and prints, as in the official runner."""
    memory_mb: int = 2048

    def __post_init__(self) -> None:
        check_limits("livecodebench", self.timeout, self.memory_mb)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        silence = no_answer(output)
        if silence:
            return silence
        try:
            cases = [
                *_cases(sample.fields.get("public_test_cases")),
                *_cases(sample.fields.get("private_test_cases")),
            ]
            name = _function_name(sample.fields.get("metadata"))
        except (ValueError, KeyError, TypeError) as error:
            return data_error(f"its cases are not readable: {error}")
        if not cases:
            return no_tests("public_test_cases")
        code = last_block(output.text)
        if not code.strip():
            return Score.unparsed(reason="no program between fences")
        if not name:
            execution = ToRun(
                IMPORTS + code,
                cases=cases,
                limits=limits_of(self.timeout, self.memory_mb),
            )
        else:
            pairs = json.dumps([(case.stdin, case.stdout) for case in cases])
            is_method = "class Solution" in code
            tests = FunctionTests(
                "",
                f"check(candidate().{name})" if is_method else "check(candidate)",
                _FUNCTIONAL.format(cases=pairs),
                "Solution" if is_method else name,
            )
            limits = limits_of(self.timeout * len(cases), self.memory_mb)
            execution = ToRun(
                IMPORTS + code,
                tests,
                limits=limits,
            )
        return await run_program(self.models, execution, "fence", answer=code)


def _cases(cell: object) -> list[Case]:
    """Return the cases of a cell: a list, JSON, or packed cases. Raise `ValueError` if they cannot be read."""
    if not cell:
        return []
    if isinstance(cell, str):
        rows = json.loads(cell if cell.lstrip().startswith("[") else unpacked(cell))
    else:
        rows = cell
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ValueError("they are not a list of cases")
    return [Case(str(row["input"]), str(row["output"])) for row in rows]


def _function_name(cell: object) -> str:
    """Return the name of the function to call; empty for a program that reads and prints."""
    if isinstance(cell, str) and cell:
        plain = json.loads(cell)
    else:
        plain = cell or {}
    name = str(plain.get("func_name") or "")
    if name and not name.isidentifier():
        raise ValueError(f"{name!r} is not a name")
    return name
