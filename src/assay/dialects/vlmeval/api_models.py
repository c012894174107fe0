"""Judges and chat models of `vlmeval.api` and `vlmeval.chat_api`, which may be any model of assay."""

from typing import Any

from .vlmeval_judging import GuestJudge
from .vlmeval_model_bases import BaseAPI

STANDS_IN = True
"""Upstream's own file is used instead of this module if it exists."""


class OpenAIWrapper(BaseAPI):
    """A text model by name: `openai/…`, `file.py:fn` and so on, else a name at `$OPENAI_BASE_URL`.

    While an `evaluate` runs, it is the run's judge, whose answers the journal keeps.
    """

    def __init__(
        self,
        model: str = "gpt-4o",
        retry: int = 5,
        wait: int = 5,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            retry=retry,
            wait=wait,
            **kwargs,
        )
        self.model = model
        self._assay_judge = GuestJudge({"model": model, **kwargs})

    def working(self) -> bool:
        """Return True. A judge that cannot answer reports this for each question."""
        return self._assay_judge.working()

    def generate_inner(self, inputs: object, **kwargs: object) -> object:  # type: ignore[override]
        """Return code, answer and log of one question."""
        options = {name: value for name, value in kwargs.items() if name != "dataset"}
        return self._assay_judge.generate_inner(inputs, **options)


class GPT4V(OpenAIWrapper):
    """An `OpenAIWrapper` that also accepts images."""

    def generate(
        self,
        message: object,
        dataset: str | None = None,
        **kwargs: Any,
    ) -> object:
        """Return the answer; `dataset` is ignored."""
        return super().generate(message, **kwargs)
