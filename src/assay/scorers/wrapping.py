"""Base of scorers around another scorer: properties that the outer one takes from the inner one."""

from collections.abc import Mapping
from typing import Any

from ..core import Requirement


class LikeInner:
    """Takes bounds and direction from the inner scorer, the field `scorer`."""

    scorer: Any

    @property
    def bounds(self) -> Any:
        """The bounds of the inner scorer."""
        return getattr(self.scorer, "bounds", (0.0, 1.0))

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """The requirements of the inner scorer."""
        return tuple(getattr(self.scorer, "requires", ()))

    @property
    def measures_transcripts(self) -> bool:
        """The same as for the inner scorer."""
        return bool(getattr(self.scorer, "measures_transcripts", False))

    @property
    def higher_is_better(self) -> bool | Mapping[str, bool]:
        """The same as for the inner scorer."""
        return getattr(self.scorer, "higher_is_better", True)
