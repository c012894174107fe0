"""`vlmeval.api.base`: `BaseAPI`, whose `generate_inner` returns `(ret_code, answer, log)`."""

from typing import Any

from ....kits.api_calls import ApiCalls
from ..vlm.base import BaseModel

__all__ = ["BaseAPI"]


class BaseAPI(ApiCalls, BaseModel):  # type: ignore[misc]  # one question, without a dataset, as upstream has it
    """A model behind an API."""

    def is_answer(self, answer: Any) -> bool:
        """Words that do not say that there is no answer."""
        return super().is_answer(answer) and self.fail_msg not in answer
