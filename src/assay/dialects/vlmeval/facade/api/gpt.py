"""`vlmeval.api.gpt`: a judge or a chat model; in truth any model that assay knows."""

from typing import Any

from ...judging import GuestJudge
from .base import BaseAPI

__all__ = ["GPT4V", "OpenAIWrapper"]

STANDS_IN = True
"""Where upstream's file lies, it is this module: other API classes build upon what is inside it."""


class OpenAIWrapper(BaseAPI):
    """A text-writing model by name: `openai/…`, `file.py:fn` and the like, else a name at `$OPENAI_BASE_URL`.

    While an `evaluate` runs it is the judge of the run, whose answers the journal keeps.
    """

    def __init__(
        self, model: str = "gpt-4o", retry: int = 5, wait: int = 5, **kwargs: Any
    ) -> None:
        super().__init__(retry=retry, wait=wait, **kwargs)
        self.model = model
        self._assay_judge = GuestJudge({"model": model, **kwargs})

    def working(self) -> bool:
        """True: a judge that cannot answer says so at the question."""
        return self._assay_judge.working()

    def generate_inner(self, inputs: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Code, answer and log of one question."""
        options = {name: value for name, value in kwargs.items() if name != "dataset"}
        return self._assay_judge.generate_inner(inputs, **options)


class GPT4V(OpenAIWrapper):
    """The same, asked about images."""

    def generate(self, message: Any, dataset: str | None = None, **kwargs: Any) -> Any:
        """The answer; `dataset` is not looked at."""
        return super().generate(message, **kwargs)
