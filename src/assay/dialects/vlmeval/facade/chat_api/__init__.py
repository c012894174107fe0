"""`vlmeval.chat_api`: judges of the documented revision; in truth any model that assay knows."""

from typing import Any

from ...era import note_documented
from ...judging import GuestJudge
from ..api.base import BaseAPI

__all__ = ["BaseAPI", "OpenAIWrapper", "OpenAIWrapperInternal"]

note_documented()


def OpenAIWrapper(model: str = "gpt-3.5-turbo-0613", **settings: Any) -> GuestJudge:
    """The judge of this run; in a script the model of that name."""
    return GuestJudge({"model": model, **settings})


OpenAIWrapperInternal = OpenAIWrapper
