"""Models that listen: funasr's where it is installed, as TELEVAL has them; else a helper that the run gives by role."""

import importlib
import sys
from typing import Any

from .....core import UsageError
from ....guest import module_exists


def recogniser(name: Any, **options: Any) -> Any:
    """funasr's model of a name, loaded when it is first asked; an object that can `generate` is taken as it is."""
    return name if hasattr(name, "generate") else Recogniser(name, options)


class Recogniser:
    """A model of funasr, not yet loaded."""

    def __init__(self, name: Any, options: dict[str, Any]) -> None:
        self.name, self._options = name, options
        # Noted now: what is importable here may not be where it is asked.
        self._package = sys.modules.get("funasr")
        self._model: Any = None

    @property
    def can_hear(self) -> bool:
        """Whether funasr is there."""
        return (
            self._package is not None
            or "funasr" in sys.modules
            or module_exists("funasr")
        )

    def generate(self, *inputs: Any, **options: Any) -> Any:
        """As funasr's `AutoModel.generate`."""
        if self._model is None:
            if not self.can_hear:
                raise UsageError(
                    f"{self.name!r} is a model of funasr, which is not installed",
                    fix="pip install funasr, or give a model by role: --judge asr=MODEL, --judge emotion=MODEL",
                )
            package: Any = self._package or importlib.import_module("funasr")
            self._model = package.AutoModel(model=self.name, **self._options)
        return self._model.generate(*inputs, **options)
