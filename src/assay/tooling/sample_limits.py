"""Limits of one sample: rounds, calls, tokens, cost and seconds. Reaching a limit is an outcome, not an error.

The usage of a sample is computed from its recorded answers and the recorded seconds of
its calls, so that a run that continues after a kill gets the same counts.
"""

from dataclasses import dataclass

from ..core import Outcome, Output, UsageError
from ..core.errors import plural

MOST_CALLS_IN_ANSWER = 100
"""Maximum number of calls in one answer that are run. The model gets a note for each
further call that it was not run.
"""
USUAL_TURNS = 30
USUAL_CALL_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """The limits of one sample. None means no limit."""

    turns: int | None = USUAL_TURNS
    """Maximum number of answers of the model."""
    calls: int | None = None
    tokens: int | None = None
    """Maximum number of tokens that the model reads and writes in all rounds."""
    cost: float | None = None
    seconds: float | None = None
    """Maximum duration of answers and calls, without waiting times."""
    call_seconds: float = USUAL_CALL_SECONDS
    """Maximum duration of one call. A longer call is ended."""

    def check(self) -> None:
        """Raise `UsageError` if a limit is not positive."""
        flags = {
            "--max_turns": self.turns,
            "--max_calls": self.calls,
            "--sample_tokens": self.tokens,
            "--sample_cost": self.cost,
            "--sample_seconds": self.seconds,
            "--tool_seconds": self.call_seconds,
        }
        for flag, limit in flags.items():
            if limit is not None and not limit > 0:
                raise UsageError(f"{flag} must be above 0, got {limit:g}")


USUAL_LIMITS = SampleLimits()


@dataclass(slots=True)
class Unmeasured:
    """Counts answers whose tokens or cost are unknown. Limits on tokens and cost cannot take these into account."""

    limits: SampleLimits
    tokens: int = 0
    cost: int = 0

    def add_answer(
        self,
        output: Output,
        cost: float | None,
    ) -> None:
        """Count an answer that a limit on tokens or cost cannot take into account, because its usage is unknown."""
        usage = output.usage
        if self.limits.tokens is not None:
            counts = (usage.input_tokens, usage.output_tokens) if usage else ()
            self.tokens += all(count is None for count in counts)
        if self.limits.cost is not None:
            self.cost += cost is None

    def notes(self, task: str) -> list[str]:
        """Return a note for each limit that could not be checked."""
        lines = []
        if self.tokens:
            lines.append(
                f"{task}: --sample_tokens could not be checked: {plural(self.tokens, 'answer')} did not say how many"
                " tokens were used; --max_turns and --sample_seconds always can be"
            )
        if self.cost:
            lines.append(
                f"{task}: --sample_cost could not be checked: the cost of {plural(self.cost, 'answer')} is not known;"
                " give the prices of a million tokens: -a price_input=…,price_output=…"
            )
        return lines


@dataclass(slots=True)
class Used:
    """The usage of a sample so far: answers, calls, tokens, cost and seconds."""

    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def add_answer(
        self,
        output: Output,
        cost: float | None = None,
    ) -> None:
        """Add the usage of an answer. `cost` is used if the service reports none."""
        self.turns += 1
        self.seconds += output.seconds or 0.0
        usage = output.usage
        if usage is None:
            return
        self.tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
        if usage.cost is None:
            price = cost
        else:
            price = usage.cost
        self.cost += price or 0.0

    def limit_reached(self, limits: SampleLimits) -> Outcome | None:
        """Return the outcome for a limit that the sample has reached, so that no
        request may follow; None if there is none.
        """
        reached = (
            (limits.turns, self.turns, Outcome.LIMIT_TURNS),
            (limits.calls, self.calls, Outcome.LIMIT_CALLS),
            (limits.tokens, self.tokens, Outcome.LIMIT_TOKENS),
            (limits.cost, self.cost, Outcome.LIMIT_COST),
            (limits.seconds, self.seconds, Outcome.LIMIT_SECONDS),
        )
        for limit, used, outcome in reached:
            if limit is not None and used >= limit:
                return outcome
        return None
