"""LiveCodeBench: run programs against public and private test cases.

Cases are JSON: `[{"input": …, "output": …, "testtype": "stdin" | "functional"}]`. If
`metadata.func_name` is set, a method of `Solution` or a function is called with one
JSON value per input line. Results are compared as in the official runner: a tuple
counts as a list, but tuples inside it do not.

Private cases may be packed as base64 of zlib of a pickled JSON text. Unpickling could
call any function, so the pickle is never loaded. Its bytes are parsed here as a single
text. Anything else is refused, and so is data that would unpack to more than a limit.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from ...core import Output, Sample, Score
from ...registry import scorers
from ...sandbox import FunctionTests
from ...sandbox.verdict import Case, ToRun
from ..answers import data_error, no_answer
from .code_text import last_block
from .program_runs import InSandbox, check_limits, limits_of, no_tests, run_program

LARGEST = 256 << 20
"""The maximum size in bytes of the unpacked cases of one problem."""
_PROTOCOL, _FRAME, _STOP = 0x80, 0x95, 0x2E
_TEXTS = {0x8C: 1, 0x58: 4, 0x8D: 8}
"""Pickle opcodes that push a text, with the number of bytes that store the text's length."""
_NOTES = {0x94: 0, 0x71: 1, 0x72: 4}
"""Pickle opcodes that only memoize the pushed text, with the number of bytes of their argument."""


def unpacked(cell: str) -> str:
    """Return the JSON text in a packed cell of private test cases. Raise `ValueError` for any other content."""
    try:
        data = base64.b64decode("".join(cell.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("they are neither JSON nor packed by base64") from None
    return pickled_text(_inflated(data))


def _inflated(data: bytes) -> bytes:
    """Return the decompressed data. Raise `ValueError` if they are not zlib, are cut short, or are too large."""
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(data, LARGEST)
    except zlib.error as error:
        raise ValueError(f"they are not packed by zlib ({error})") from None
    if not stream.eof:
        too_large = len(plain) >= LARGEST
        raise ValueError(
            f"they unpack to more than {LARGEST >> 20} MB"
            if too_large
            else "they are cut short"
        )
    return plain


def pickled_text(data: bytes) -> str:
    """Return the text of a pickle that contains a single text. Raise `ValueError` for any other pickle."""
    offset = 0
    text = None
    try:
        while data[offset] != _STOP:
            opcode = data[offset]
            offset += 1
            if opcode == _PROTOCOL:
                offset += 1
            elif opcode == _FRAME:
                offset += 8
            elif opcode in _NOTES:
                offset += _NOTES[opcode]
            elif opcode in _TEXTS and text is None:
                size = int.from_bytes(data[offset : offset + _TEXTS[opcode]], "little")
                offset += _TEXTS[opcode]
                text = data[offset : offset + size].decode("utf-8", "surrogatepass")
                offset += size
            else:
                raise ValueError(
                    "they are a pickle of something other than one text, which is not loaded"
                )
    except (IndexError, UnicodeDecodeError):
        raise ValueError("they are a pickle that is cut short") from None
    if text is None or offset != len(data) - 1:
        raise ValueError(
            "they are a pickle of something other than one text, which is not loaded"
        )
    return text


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
"""Imports that are added before every program, because many answers leave imports out."""
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
    """Seconds for each case with input and output as text, as in the official runner."""
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
    """Return the test cases in a table cell: a list, JSON, or packed. Raise `ValueError` if they cannot be read."""
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
    """Return the name of the function to call, from the cell `metadata`.

    It is empty for a program that reads its input and prints its output.
    """
    if isinstance(cell, str) and cell:
        plain = json.loads(cell)
    else:
        plain = cell or {}
    name = str(plain.get("func_name") or "")
    if name and not name.isidentifier():
        raise ValueError(f"{name!r} is not a name")
    return name
