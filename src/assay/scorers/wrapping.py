"""Scorers around another: what the outer one takes over from the inner one."""

from typing import Any

from ..core import Requirement


class LikeInner:
    """Bounds and direction of the field `scorer`: a number means what it means for the inner scorer."""

    scorer: Any

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Those of the inner scorer."""
        bounds: tuple[float, float] | None = getattr(self.scorer, "bounds", (0.0, 1.0))
        return bounds

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """What the inner scorer cannot do without."""
        return tuple(getattr(self.scorer, "requires", ()))

    @property
    def measures_transcripts(self) -> bool:
        """As the inner scorer has it."""
        return bool(getattr(self.scorer, "measures_transcripts", False))

    @property
    def higher_is_better(self) -> bool:
        """As the inner scorer has it."""
        return bool(getattr(self.scorer, "higher_is_better", True))
