"""The error budget: how many infrastructure errors a run may take before it stops."""

import math
from collections import Counter

from ..core import ErrorBudgetExceeded, ErrorInfo, UsageError

SMALLEST_BASE = 100
"""A share is taken of at least so many samples: two failures of the first ten are no 20 % yet."""
AUTH_ERRORS = 3


class ErrorBudget:
    """Counts infrastructure errors; wrong answers and bad rows never count."""

    def __init__(self, policy: str) -> None:
        self.errors = 0
        self._auth_in_a_row = 0
        self._kinds: Counter[str] = Counter()
        self._first = ""
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
                f"--on_error takes stop, continue, a fraction or a count, got {policy!r}", fix="--on_error 0.05"
            )
        if number < 1:
            self._share = number
        else:
            self._most = int(number)

    def count(self, error: ErrorInfo) -> None:
        """Notes one error."""
        self.errors += 1
        self._kinds[error.kind] += 1
        self._first = self._first or f"{error.kind}: {error.message}"
        self._auth_in_a_row = self._auth_in_a_row + 1 if error.kind == "auth" else 0
        if self._auth_in_a_row >= AUTH_ERRORS:
            raise ErrorBudgetExceeded(
                f"stopped: the server refused the key {AUTH_ERRORS} times in a row ({error.message})",
                fix="check the key in the environment, then run the same command again",
            )

    def answered(self) -> None:
        """Notes an answer: the key is not refused after all."""
        self._auth_in_a_row = 0

    def check(self, attempted: int, expected: int | None) -> None:
        """Raises when the budget is spent."""
        allowed: float | None = None
        if self._most is not None:
            allowed = self._most
        elif self._share is not None:
            allowed = self._share * max(expected or attempted, SMALLEST_BASE)
        if allowed is not None and self.errors > allowed:
            raise ErrorBudgetExceeded(
                f"stopped after {self.errors} infrastructure errors, the first: {self._first}",
                fix="mend the cause and run the same command again: what was answered is kept; or --on_error continue",
            )
