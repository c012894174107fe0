"""BFCL v4 with several turns: the model uses simulated systems such as a file system, a
shop or a car.

A user turn ends when the model answers without a call. The installed `bfcl-eval`
package provides the systems and the checker. The checker runs the model's calls and the
correct calls, and compares states and results after each turn. The package executes
calls as Python text. So it only gets calls to the offered functions, and only with
literal arguments.
"""

import ast
import functools
import importlib
import importlib.util
import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..core import Message, MissingExtra, Outcome, Output, Sample, Score
from ..core.message import as_messages
from ..core.tools import Tool, ToolCall, ToolResult, read_tools
from ..tooling import SampleContext, text_result
from ..tooling.functions import CallThreads
from .bfcl_package import FC, PROMPT, Undecoded, importing, load_bfcl, version

CATEGORIES = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)
MOST_STEPS = 21
"""bfcl-eval ends the sample when a turn has this number of answers with calls."""
REFUSED_CALL = "call_that_is_not_plain()"
"""A call that is guaranteed to fail, because its function does not exist.

It replaces calls whose arguments are not literals.
"""
LARGEST = 10_000
_SIZES = ("precision", "exponent")
"""Names of arguments whose value is limited. With large values, a call would compute for hours."""
_counter = itertools.count()
_execution = threading.Lock()
"""Lock held while calls run. The simulated systems share the global precision setting of a library."""


@functools.cache
def _modules() -> tuple[Any, Any, Any]:
    """Return three modules of the package: one runs calls, one checks samples, and one has the prompt texts."""
    load_bfcl()
    parts = "bfcl_eval.eval_checker.multi_turn_eval"
    with importing():
        utils = importlib.import_module(f"{parts}.multi_turn_utils")
        checker = importlib.import_module(f"{parts}.multi_turn_checker")
        texts = importlib.import_module("bfcl_eval.constants.default_prompts")
    return utils, checker, texts


@dataclass(frozen=True)
class MultiTurnRows:
    """The samples of a category in one mode (`prompt` or function calling), read from the installed package."""

    category: str
    mode: str = FC

    @property
    def name(self) -> str:
        """The name of this source of rows, for error messages."""
        return f"bfcl-eval, category {self.category}"

    def __call__(self) -> list[Sample]:
        """Return the samples."""
        bfcl = load_bfcl()
        entries = bfcl.entries(self.category, with_hints=True)
        truths = bfcl.ground_truths(self.category)
        samples = []
        for entry, truth in zip(entries, truths, strict=True):
            samples.append(self._sample(entry, truth))
        return samples

    def _sample(
        self,
        entry: Mapping[str, Any],
        truth: object,
    ) -> Sample:
        first, *_ = entry["question"]
        if self.mode == PROMPT:
            first = load_bfcl().prompted(first, entry["function"], entry["id"])
        fields = {
            "entry": dict(entry),
            "ground_truth": truth,
            "mode": self.mode,
            "bfcl_eval": version(),
        }
        return Sample(
            id=entry["id"],
            input=as_messages(first),
            target=json.dumps(truth, ensure_ascii=False),
            fields=fields,
        )


@dataclass(frozen=True)
class SystemTools:
    """The functions of the simulated systems of a sample, as a toolbox."""

    mode: str = FC
    replies = True
    takes_any_call = True
    """True: wrong calls are passed on as well, because the package's error messages are part of the benchmark."""

    @property
    def identity(self) -> list[str]:
        """Properties that identify this toolbox: the version of the package, and the mode.

        If one changes, stored results are outdated.
        """
        return [version(), self.mode]

    def check(self) -> None:
        """Raise if the package, or the library that its calculator uses, is missing."""
        _modules()
        if importlib.util.find_spec("mpmath") is None:
            raise MissingExtra("mpmath, which BFCL's calculator uses,", "mpmath")

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return the functions that the model may call in a turn. Some are offered only in a later turn."""
        if sample is None or self.mode == PROMPT:
            return ()
        entry = sample["entry"]
        functions = list(entry["function"])
        for number, late in entry.get("missed_function", {}).items():
            if turn >= int(number):
                functions += late
        return _tools_of(json.dumps(functions, sort_keys=True))

    async def open(self, context: SampleContext) -> "SystemSession":
        """Build the systems for a sample, and return its session."""
        return SystemSession(context.sample, self.mode)


@functools.lru_cache(maxsize=512)
def _tools_of(functions: str) -> tuple[Tool, ...]:
    return read_tools(load_bfcl().openai_tools(json.loads(functions)))


class SystemSession:
    """The simulated systems of one sample while the model works on it."""

    def __init__(self, sample: Sample, mode: str) -> None:
        self._entry = sample["entry"]
        self._mode = mode
        self._names = function_names(self._entry)
        self._systems = Systems(self._entry)
        self._threads = CallThreads()
        self._turn = 0

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call, and return its result or an error message."""
        if isinstance(call.arguments, str):
            words = "Error during execution: the arguments are not a JSON object"
            return text_result(call, words, "bad_arguments")
        text = call_text(call.name, call.arguments)
        [result] = await self._threads.run(lambda: self._run([text]))
        return text_result(call, result)

    def _run(self, calls: Sequence[str]) -> list[str]:
        return self._systems.run([plain_or_refused(c, self._names) for c in calls])

    async def reply(
        self,
        messages: Sequence[Message],
        output: Output,
    ) -> Sequence[Message] | None:
        """Return the next user turn: the next question or, in mode `prompt`, the results of the calls in the answer."""
        if self._mode == PROMPT:
            calls = executable_text(output.text)
            if calls:
                results = await self._threads.run(lambda: self._run(calls))
                return [Message.of("user", _results_text(calls, results))]
        self._turn += 1
        questions = self._entry["question"]
        if self._turn >= len(questions):
            return None
        late = self._entry.get("missed_function", {}).get(str(self._turn))
        if late is None:
            return list(as_messages(questions[self._turn]))
        return [Message.of("user", _late_text(late, self._mode))]

    async def close(self) -> None:
        """Close the simulated systems and their threads."""
        self._threads.close()
        self._systems.close()


def _late_text(functions: object, mode: str) -> str:
    """Return BFCL's prompt text that announces additional functions in a later turn."""
    texts = _modules()[2]
    if mode == FC:
        return str(texts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC)
    template = texts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING
    return str(template.format(functions=functions))


def _results_text(
    calls: Sequence[str],
    results: Sequence[str],
) -> str:
    """Return the user turn in which BFCL reports the results of calls."""
    pairs = zip(calls, results, strict=True)
    return repr([{"role": "tool", "name": c, "content": r} for c, r in pairs])


class Systems:
    """The simulated systems of one sample.

    The package stores them in global variables, under a name that is unique to the
    sample.
    """

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self._entry = entry
        self._owner = f"assay{next(_counter)}x"

    def run(self, calls: Sequence[str]) -> list[str]:
        """Run calls that have only literal arguments (the caller checks this), and return their results."""
        utils = _modules()[0]
        with _execution:
            results, _ = utils.execute_multi_turn_func_call(
                list(calls),
                self._entry.get("initial_config", {}),
                self._entry["involved_classes"],
                self._owner,
                self._entry["id"],
                long_context="long_context" in self._entry["id"],
            )
        return [str(result) for result in results]

    def close(self) -> None:
        """Remove the systems."""
        _remove_systems(self._owner)


def _remove_systems(owner: str) -> None:
    variables = vars(_modules()[0])
    names = [name for name in variables if name.startswith(f"{owner}_")]
    for name in names:
        del variables[name]


def function_names(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of all functions of a sample, including those that are offered only in a later turn."""
    names = {function["name"] for function in entry["function"]}
    for late in entry.get("missed_function", {}).values():
        names |= {function["name"] for function in late}
    return frozenset(names)


def call_text(
    name: str,
    arguments: Mapping[str, Any],
) -> str:
    """Return a call as Python text, as the package expects it: `cd(folder='docs')`."""
    values = ",".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"{name}({values})"


def plain_or_refused(
    call: str,
    names: frozenset[str],
) -> str:
    """Return the call unchanged if it is safe to run, otherwise `REFUSED_CALL`.

    Only calls to functions of the sample with literal arguments are safe.
    """
    try:
        node = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return REFUSED_CALL
    return call if _is_plain_call(node, names) else REFUSED_CALL


def _is_plain_call(
    node: ast.expr,
    names: frozenset[str],
) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id not in names or node.args:
        return False
    for keyword in node.keywords:
        if keyword.arg is None or not _is_plain_value(keyword.value, names):
            return False
        if keyword.arg in _SIZES and not _is_small(keyword.value):
            return False
    return True


def _is_plain_value(
    node: ast.expr,
    names: frozenset[str],
) -> bool:
    """Return True for literals, collections of literals, and calls with literal arguments."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    members: list[ast.expr | None]
    if isinstance(node, (ast.List, ast.Tuple)):
        members = [*node.elts]
    elif isinstance(node, ast.Dict):
        members = [*node.keys, *node.values]
    else:
        return _is_plain_call(node, names)
    return all(m is not None and _is_plain_value(m, names) for m in members)


def _is_small(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if not isinstance(node, ast.Constant):
        return False
    value = node.value
    return not isinstance(value, (int, float)) or abs(value) <= LARGEST


def executable_text(text: str) -> list[str]:
    """Return the calls in an answer of mode `prompt`; an empty list if BFCL's decoder finds none."""
    try:
        calls = load_bfcl().decode_executable(text)
    except Undecoded:
        return []
    return calls


@contextmanager
def _fresh_owner() -> Iterator[str]:
    """Yield a unique name for the systems that check one sample, and remove these systems at the end."""
    owner = f"verdict{next(_counter)}x"
    try:
        yield owner
    finally:
        _remove_systems(owner)


def turns_of(
    output: Output,
    mode: str,
    names: frozenset[str],
) -> list[list[list[str]]]:
    """Return all calls of a sample as nested lists: turns, answers of a turn, calls of
    an answer.

    A turn with too many answers is the last one in the list.
    """
    turns: list[list[list[str]]] = []
    steps: list[list[str]] = []
    rounds = [entry.output for entry in output.rounds] or [output]
    is_open = False
    for answer in rounds:
        calls = _executable_calls(answer, mode)
        is_open = bool(calls)
        if calls:
            steps.append([plain_or_refused(call, names) for call in calls])
        if not calls or len(steps) == MOST_STEPS:
            turns.append(steps)
            if len(steps) == MOST_STEPS:
                return turns
            steps = []
    if is_open:
        return [*turns, steps]
    return turns


def _executable_calls(answer: Output, mode: str) -> list[str]:
    if mode == PROMPT:
        return executable_text(answer.text)
    calls = []
    for call in answer.last_calls:
        if not isinstance(call.arguments, str):
            calls.append(call_text(call.name, call.arguments))
        else:
            calls.append(REFUSED_CALL)
    return calls


def bfcl_turns(sample: Sample, output: Output) -> Score:
    """Return BFCL's verdict on the calls in all turns of a sample."""
    entry = sample["entry"]
    truth = sample["ground_truth"]
    turns = turns_of(output, sample["mode"], function_names(entry))
    answer = json.dumps(turns, ensure_ascii=False)
    if len(turns) != len(truth):
        words = f"{len(turns)} of {len(truth)} turns"
        details = {"error_type": "multi_turn:force_terminated", "error": words}
        return Score(0.0, answer=answer, details=details)
    checker = _modules()[1]
    category = entry["id"].rsplit("_", 1)[0]
    with _fresh_owner() as owner, _execution:
        verdict = checker.multi_turn_checker(turns, truth, entry, category, owner)
    if verdict["valid"]:
        return Score(1.0, answer=answer)
    details = {
        "error_type": str(verdict.get("error_type", "")),
        "error": str(verdict.get("error_message", "")),
    }
    return Score(
        0.0,
        Outcome.SCORED,
        answer=answer,
        details=details,
    )
