"""The error budget: how many infrastructure errors a run may take before it stops."""

import math
from collections import Counter
from typing import NoReturn

from ...core import ErrorBudgetExceeded, ErrorInfo, UsageError
from ...core.output import MISSING

SMALLEST_BASE = 100
"""A share is taken of at least so many samples: two failures of the first ten are no 20 % yet."""
AUTH_ERRORS = 3
GIVEN_UP = "wrong_replies"
"""The kind of failure of all requests to a server that was given up."""
NOT_COUNTED = frozenset({"data", MISSING})
"""Kinds of failure that are no fault of any infrastructure."""


class ErrorBudget:
    """Counts infrastructure errors; wrong answers, bad rows and missing predictions never count."""

    def __init__(self, policy: str) -> None:
        self.errors = 0
        self.spent: ErrorBudgetExceeded | None = None
        """What was raised when there was nothing left of it."""
        self._auth_in_a_row: Counter[str] = Counter()
        """By who was refused: a judge has a key of its own."""
        self._failed: set[tuple[str, int]] = set()
        """Samples and epochs whose helpers failed."""
        self._first = self._own_fix = ""
        self._share: float | None = None
        self._most: int | None = None
        self._parse(policy)

    def _parse(self, policy: str) -> None:
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

    def note(
        self,
        error: ErrorInfo | None,
        whose: str = "",
        sample: tuple[str, int] | None = None,
    ) -> None:
        """Counts what came of one request to the model, or to the helper that `whose` names; `error` is `None` for an
        answer. A `sample` that its helpers fail is one error, however often they do. Raises where the run must stop."""
        if error is None:
            self._auth_in_a_row[whose] = 0  # the key is not refused after all
        elif error.kind not in NOT_COUNTED and (
            sample not in self._failed or error.kind == "auth"
        ):
            if sample is not None:
                self._failed.add(sample)
            self._count(error, whose)

    def _count(self, error: ErrorInfo, whose: str) -> None:
        self.errors += 1
        what, _, own_fix = error.message.partition("; fix: ")
        if not self._first:
            self._first, self._own_fix = (
                f"{whose} {error.kind}: {what}".lstrip(),
                own_fix,
            )
        if error.kind == GIVEN_UP:
            self._stop(
                f"stopped: {what}"
                if not whose
                else f"stopped: {what} (the server of the {whose})",
                fix=f"{own_fix}, then run the same command again: what was answered is kept",
            )
        self._auth_in_a_row[whose] = (
            self._auth_in_a_row[whose] + 1 if error.kind == "auth" else 0
        )
        if self._auth_in_a_row[whose] >= AUTH_ERRORS:
            server = f"the server of the {whose}" if whose else "the server"
            self._stop(
                f"stopped: {server} refused the key {AUTH_ERRORS} times in a row ({what})",
                fix="check the key in the environment, then run the same command again",
            )

    def check(self, attempted: int, expected: int | None) -> None:
        """Raises when the budget is spent, now or before."""
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
                fix=f"{self._own_fix or 'mend the cause'}, then run the same command again: what was answered is kept; "
                "or --on_error continue",
            )

    def _stop(self, what: str, *, fix: str) -> NoReturn:
        self.spent = ErrorBudgetExceeded(what, fix=fix)
        raise self.spent
