"""HumanEval: run functions that a model wrote against their tests, in a sandbox.

If HumanEval's official script has already run the functions, its results file may be
given instead: one JSON object per line with `task_id`, `completion` and `passed`.
Nothing is run then.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ...core import DataError, Outcome, Output, Sample, Score, UsageError, digest_of
from ...registry import scorers
from ...sandbox import FunctionTests
from ...sandbox.verdict import ToRun
from ..answers import no_answer
from ..given_models import GivenModels
from .code_text import LONGEST_PARSED, completed, cut
from .program_runs import ROLE, check_limits, limits_of, no_tests, run_program


@scorers.register("humaneval")
@dataclass(frozen=True)
class HumanEval(GivenModels):
    """1 if the function in prompt and completion passes its tests in a sandbox."""

    extra: str = ""
    """A column with more tests, as in HumanEval+: a function must also pass these."""
    timeout: float = 10.0
    memory_mb: int = 1024
    verdicts: str = ""
    """The results file of HumanEval's official script, if the script has already run the functions."""
    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("pass_at_k",)
    _digest: str = field(
        default="",
        init=False,
        repr=False,
    )
    """Digest of the results file. If the file changes, the samples are scored again."""
    _passed: Mapping[tuple[str, str], bool] = field(
        default_factory=dict,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        check_limits("humaneval", self.timeout, self.memory_mb)
        if self.verdicts:
            text = _read(Path(self.verdicts).expanduser())
            object.__setattr__(self, "_digest", digest_of(text))
            object.__setattr__(self, "_passed", read_verdicts(text, self.verdicts))

    @property
    def needs(self) -> tuple[str, ...]:
        """The role of the sandbox that the run must provide; empty if a results file is given."""
        return () if self.verdicts else (ROLE,)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if self.verdicts:
            return self._looked_up(sample, output)
        test = sample.fields.get("test")
        if not test:
            return no_tests("test")
        prompt = str(sample.fields.get("prompt", sample.input))
        entry = str(sample.fields.get("entry_point") or "")
        program, rule = completed(prompt, output.text, entry)
        limits = limits_of(self.timeout, self.memory_mb)
        tests = FunctionTests(str(test), f"check({entry})")
        score = await run_program(
            self.models,
            ToRun(program, tests, limits=limits),
            rule,
        )
        if self.extra:
            more = sample.fields.get(self.extra)
        else:
            more = None
        if not more or score.value != 1.0:
            return score
        tests = FunctionTests(
            str(more),
            f"check({entry})" if "def check" in str(more) else "",
        )
        return await run_program(
            self.models,
            ToRun(program, tests, limits=limits),
            rule,
        )

    def _looked_up(self, sample: Sample, output: Output) -> Score:
        """Look up whether a completion passed, in the results file. A missing completion is a `judge_error`."""
        completion = cut(output.text)
        passed = self._passed.get(
            (sample.id, completion), self._passed.get((sample.id, output.text))
        )
        if passed is None:
            reason = f"{self.verdicts} has no verdict on this completion of {sample.id}"
            return Score(
                None,
                Outcome.JUDGE_ERROR,
                answer=completion,
                details={"reason": reason},
            )
        return Score(float(passed), answer=completion)


@scorers.register("python_syntax")
@dataclass(frozen=True)
class PythonSyntax:
    """1 if prompt and completion are Python that defines the expected function. They are parsed, never run."""

    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        completion = cut(output.text)
        before = str(sample.fields.get("prompt", sample.input))
        name = sample.fields.get("entry_point")
        if len(completion) > LONGEST_PARSED:
            return Score(
                0.0,
                answer=completion[:200],
                details={"reason": f"longer than {LONGEST_PARSED} characters"},
            )
        try:
            tree = ast.parse(before + completion)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Score(
                0.0,
                answer=completion,
                details={"reason": f"{type(error).__name__}: {error}"[:200]},
            )
        if not completion.strip():
            # A signature with its docstring is already a valid function, even if the model wrote nothing.
            return no_answer(output) or Score(
                0.0,
                answer=completion,
                details={"reason": "nothing was written"},
            )
        names = set()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(node.name)
        return Score(float(name is None or name in names), answer=completion)


def read_verdicts(text: str, file: str) -> dict[tuple[str, str], bool]:
    """Return whether each completion of each task passed. Raise if a completion has two different verdicts."""
    passed: dict[tuple[str, str], bool] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        task, completion, verdict = _verdict(line, file, number)
        if passed.setdefault((task, completion), verdict) != verdict:
            raise DataError(
                f"a completion of {task} has passed and failed",
                file=file,
                row=number,
                column="passed",
                fix="its tests depend on chance or time: run them again",
            )
    return passed


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot read the verdicts: {error.strerror}",
            where=str(path),
            fix="give the harness's results file",
        ) from error


def _verdict(
    line: str,
    file: str,
    number: int,
) -> tuple[str, str, bool]:
    """Return the task, completion and verdict of a line. Raise `DataError` if one is missing or has a wrong type."""
    try:
        row: Any = json.loads(line)
        task = row["task_id"]
        completion = row["completion"]
        verdict = row["passed"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            "not a verdict",
            file=file,
            row=number,
            got=line,
            fix="task_id, completion and passed in each line",
        ) from error
    if not (
        isinstance(task, str)
        and isinstance(completion, str)
        and isinstance(verdict, bool)
    ):
        raise DataError(
            "not a verdict",
            file=file,
            row=number,
            got=line,
            fix="task_id and completion: text; passed: true or false",
        )
    return task, completion, verdict
