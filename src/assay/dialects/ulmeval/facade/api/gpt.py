"""`ulmeval.api.gpt`: a judge or a chat model; in truth any model that assay knows."""

from typing import Any

from ....kits.judging import Judge, assay_name
from ...messages import as_prompt
from .base import BaseAPI


class OpenAIWrapper(BaseAPI):
    """A text-writing model by name: `openai/…`, `file.py:fn` and the like, else a name at `$OPENAI_BASE_URL`.

    Inside a run its answers are kept in the journal: the same question is not asked twice, and an evaluation that was
    stopped goes on.
    """

    def __init__(self, model: str = "gpt-4o", retry: int = 5, **kwargs: Any) -> None:
        options: dict[str, Any] = {
            name: kwargs.pop(name)
            for name in ("temperature", "max_tokens")
            if name in kwargs
        }
        super().__init__(retry=retry, **kwargs)
        self.model = model
        self._assay_judge = Judge(assay_name(model), options)

    def generate_inner(  # type: ignore[override]  # one question, without a dataset, as upstream has it
        self, inputs: Any, **kwargs: Any
    ) -> tuple[int, Any, Any]:
        """One question; assay's scheduler has already tried again where that may help."""
        output = self._assay_judge.ask(
            as_prompt(inputs).messages, self.system_prompt, kwargs
        )
        if output.error is not None:
            return -1, None, f"{output.error.kind}: {output.error.message}"
        return 0, output.text, "answered"
