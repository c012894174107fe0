"""The error budget: how many infrastructure errors a run tolerates before it stops."""

import math
import re
from collections import Counter
from typing import NoReturn

from ...core import ErrorBudgetExceeded, ErrorInfo, UsageError
from ...core.output import MISSING

SMALLEST_BASE = 100
"""Runs with fewer samples are not stopped for their share of failures: two failures of ten are no reason."""
AUTH_ERRORS = 3
ALIKE_ERRORS = 3
"""If this many calls fail in the same way before the first answer, the run stops."""
HOPELESS = frozenset(
    {"http", "exception", "quota", "tls", "bad_response", "connection"}
)
"""Kinds of failure that stay the same however often the call is repeated, unless marked as retryable."""
_CODE_LINE = re.compile(r"\([^()]+:\d+\)$")
"""Matches the file and line of an exception at the end of its message: `(model.py:12)`."""
_VARIABLE = re.compile(r"[0-9a-f]{8,}|\d+")
"""Matches numbers and ids, which differ between messages about the same fault."""
GIVEN_UP = "wrong_replies"
"""The kind of failure that a request gets if assay has given up on its server."""
NOT_COUNTED = frozenset({"data", MISSING})
"""Kinds of failure that are not caused by the infrastructure."""


class ErrorBudget:
    """Counts infrastructure errors. Wrong answers, bad rows and missing predictions are not counted."""

    def __init__(self, policy: str) -> None:
        self.errors = 0
        self.spent: ErrorBudgetExceeded | None = None
        """The error raised when the budget was used up; None before that."""
        self._auth_in_a_row: Counter[str] = Counter()
        """Number of consecutive failures due to a refused API key, by model or role,
        because a judge has a separate key.
        """
        self._failed: set[tuple[str, int]] = set()
        """Samples and epochs for which a helper model failed. Each is counted as one error."""
        self._answering: set[str] = set()
        """Models that have given an answer: the role of a helper, or "" for the model of the run."""
        self._alike: dict[str, Counter[str]] = {}
        """For each model without an answer so far: number of failed calls by kind of failure."""
        self._scoring: set[str] = set()
        """Scorers that have given a score."""
        self._score_faults: dict[str, Counter[str]] = {}
        """For each scorer without a score so far: number of failures at each line of its file."""
        self._first = self._own_fix = ""
        self._share: float | None = None
        self._most: int | None = None
        self._parse(policy)

    def _parse(self, policy: str) -> None:
        """Parse the value of `--on_error`."""
        if policy == "continue":
            return
        if policy == "stop":
            self._most = 0
            return
        try:
            number = float(policy)
        except ValueError:
            number = -1.0
        if not 0 <= number < math.inf:
            raise UsageError(
                f"--on_error takes stop, continue, a fraction or a count, got {policy!r}",
                fix="--on_error 0.05",
            )
        if number >= 1 and number != int(number):
            raise UsageError(
                f"--on_error {policy} is neither a fraction below 1 nor a whole number of errors",
                fix=f"--on_error {int(number)}, or a fraction as 0.05",
            )
        if number < 1:
            self._share = number
        else:
            self._most = int(number)

    def note_earlier_answers(self, whose: str = "") -> None:
        """Record that a model gave answers in an earlier run.

        `whose` is the role of a helper model, otherwise empty.
        """
        self._answering.add(whose)

    def note(
        self,
        error: ErrorInfo | None,
        whose: str = "",
        sample: tuple[str, int] | None = None,
        expected: int | None = None,
    ) -> None:
        """Count the result of one request; raise if the run must stop.

        `error` is None for an answer. `whose` is the role of a helper model, otherwise
        empty. Several failures of helpers for one `sample` count as one error.
        `expected` is the number of samples.
        """
        if error is None:
            self._auth_in_a_row[whose] = 0  # the key works
            self._answering.add(whose)
        elif error.kind not in NOT_COUNTED and (
            sample not in self._failed or error.kind == "auth"
        ):
            if sample is not None:
                self._failed.add(sample)
            self._count(error, whose)
            self._check_first_calls(error, whose, expected)

    def note_score(
        self,
        scorer: str,
        fault: str,
        expected: int | None,
    ) -> None:
        """Record whether a scorer succeeded; `fault` is the message of its error, or empty.

        Raise if all its first scores failed at one line of a user's file, because later
        ones would fail there too.
        """
        if self._share is None or scorer in self._scoring:
            return
        line = _CODE_LINE.search(fault)
        if line is None:
            self._scoring.add(scorer)
            return
        lines = self._score_faults.setdefault(scorer, Counter())
        lines[line[0]] += 1
        count = lines.total()
        if len(lines) > 1 or count < min(ALIKE_ERRORS, expected or ALIKE_ERRORS):
            return
        if count == 1:
            scores = "the first score"
        else:
            scores = f"the first {count} scores"
        problem = fault.partition("; fix: ")[0]
        self._stop(
            f"stopped: {scores} failed: {problem}",
            fix=f"correct {line[0].strip('()')} and rerun the command: what was answered is kept",
        )

    def _check_first_calls(
        self,
        error: ErrorInfo,
        whose: str,
        expected: int | None,
    ) -> None:
        """Raise if all calls so far failed in the same way, and repeating them cannot help."""
        if self._share is None or whose in self._answering:
            return
        failures = self._alike.setdefault(whose, Counter())
        failures[_signature(error)] += 1
        if error.retryable or error.kind not in HOPELESS or len(failures) > 1:
            return
        count = failures.total()
        if count < min(ALIKE_ERRORS, expected or ALIKE_ERRORS):
            return
        problem, _, own_fix = error.message.partition("; fix: ")
        which = f" of the {whose}" if whose else ""
        if count == 1:
            calls = "the first call"
        else:
            calls = f"the first {count} calls"
        self._stop(
            f"stopped: {calls}{which} failed: {problem}",
            fix=f"{own_fix or _usual_fix(error)} and rerun the command",
        )

    def _count(self, error: ErrorInfo, whose: str) -> None:
        """Count an error. Raise if the server was given up, or refused the API key too often."""
        self.errors += 1
        problem, _, own_fix = error.message.partition("; fix: ")
        if not self._first:
            self._first = f"{whose} {error.kind}: {problem}".lstrip()
            self._own_fix = own_fix
        if error.kind == GIVEN_UP:
            self._stop(
                f"stopped: {problem}"
                if not whose
                else f"stopped: {problem} (the server of the {whose})",
                fix=f"{own_fix} and rerun the command: what was answered is kept",
            )
        if error.kind == "auth":
            self._auth_in_a_row[whose] = self._auth_in_a_row[whose] + 1
        else:
            self._auth_in_a_row[whose] = 0
        if self._auth_in_a_row[whose] >= AUTH_ERRORS:
            server = f"the server of the {whose}" if whose else "the server"
            self._stop(
                f"stopped: {server} refused the key {AUTH_ERRORS} times in a row ({problem})",
                fix="check the key in the environment and rerun the command",
            )

    def check(
        self,
        attempted: int,
        expected: int | None,
    ) -> None:
        """Raise if the budget is used up."""
        if self.spent is not None:
            raise self.spent
        allowed: float | None = None
        if self._most is not None:
            allowed = self._most
        elif self._share is not None:
            allowed = self._share * max(expected or attempted, SMALLEST_BASE)
        if allowed is not None and self.errors > allowed:
            self._stop(
                f"stopped after {self.errors} infrastructure error{'s' * (self.errors > 1)}, the first: {self._first}",
                fix=f"{self._own_fix or 'fix the cause'} and rerun the command: what was answered is kept; "
                "or --on_error continue",
            )

    def _stop(self, what: str, *, fix: str) -> NoReturn:
        """Raise the error that stops the run, and store it."""
        self.spent = ErrorBudgetExceeded(what, fix=fix)
        raise self.spent


def _signature(error: ErrorInfo) -> str:
    """Return a text that is equal for failures with the same cause: a line of code, or a message without numbers."""
    line = _CODE_LINE.search(error.message)
    if error.kind == "exception" and line is not None:
        return line[0]
    return f"{error.kind}: {_VARIABLE.sub('#', error.message)}"


def _usual_fix(error: ErrorInfo) -> str:
    """Return advice for a failure whose own message contains none."""
    line = _CODE_LINE.search(error.message)
    if error.kind == "exception" and line is not None:
        return f"correct {line[0].strip('()')}"
    if error.kind == "http":
        return "check the name of the model, base_url and the options"
    return "fix the cause"
