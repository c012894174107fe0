"""`vlmeval.api.base`: `BaseAPI`, whose `generate_inner` returns `(ret_code, answer, log)`.

In a run, assay calls `generate_inner` itself and tries again by its own rules; the tries here are those of scripts.
"""

import random
import time
from collections.abc import Callable
from typing import Any

from ..smp.log import get_logger
from ..vlm.base import BaseModel, without_first

__all__ = ["BaseAPI"]


class BaseAPI(BaseModel):
    """A model behind an API."""

    is_api = True
    INTERLEAVE = True
    INSTALL_REQ = False
    fail_msg = "Failed to obtain answer via API."

    def __init__(
        self,
        retry: int = 10,
        wait: float = 1,
        system_prompt: str | None = None,
        verbose: bool = True,
        fail_msg: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.retry, self.wait, self.verbose = retry, wait, verbose
        self.system_prompt = system_prompt
        self.fail_msg = fail_msg or self.fail_msg
        self.default_kwargs = kwargs
        self.logger = get_logger(type(self).__name__)

    def working(self) -> bool:
        """Whether the API answers."""
        answer = self.generate("hello")
        return bool(answer) and self.fail_msg not in str(answer)

    def chat_inner(self, inputs: Any, **kwargs: Any) -> Any:
        """The answer to a chat; by default `generate_inner` is given the chat, later turns alone where that fails."""
        kwargs.pop("dataset", None)
        while inputs:
            try:
                return self.generate_inner(inputs, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever an endpoint says to a chat that is too long
                self.logger.info("%s: %s", type(error).__name__, error)
                inputs = without_first(inputs)
        return -1, f"{self.fail_msg}: Failed with all possible conversation turns.", None

    def chat(self, messages: Any, **kwargs1: Any) -> Any:  # type: ignore[override]
        """The answer to a chat that ends with the user."""
        turns = [{**turn, "content": self.preproc_content(turn["content"])} for turn in messages]
        if not turns or turns[-1]["role"] != "user":
            raise AssertionError("a chat ends with a turn of the user")
        return self._tried(lambda: self.chat_inner(turns, **{**self.default_kwargs, **kwargs1}))

    def preprocess_message_with_role(self, message: Any) -> list[dict[str, Any]]:
        """The entries without those of a system role, which go into the system prompt."""
        system = "".join(f"{entry['value']}\n" for entry in message if entry.get("role") == "system")
        if system and self.system_prompt is None:
            self.system_prompt = system
        elif system and system not in str(self.system_prompt):
            self.system_prompt = f"{self.system_prompt}\n{system}"
        return [
            {name: value for name, value in entry.items() if name != "role"}
            for entry in message
            if entry.get("role", "user") != "system"
        ]

    def generate(self, message: Any, **kwargs1: Any) -> Any:  # type: ignore[override]
        """The answer; `fail_msg` if none came in `retry` tries."""
        if self.check_content(message) == "listdict":
            message = self.preprocess_message_with_role(message)
        entries = self._taken(message)
        return self._tried(lambda: self.generate_inner(entries, **{**self.default_kwargs, **kwargs1}))

    def _tried(self, attempt: Callable[[], Any]) -> Any:
        answer: Any = None
        for number in range(self.retry):
            if number:
                time.sleep(random.random() * self.wait * 2)
            try:
                code, answer, log = attempt()
            except Exception as error:  # noqa: BLE001 - the boundary to a user's attempt: logged, then tried again
                self.logger.info("try %d: %s: %s", number, type(error).__name__, error)
                continue
            if code == 0 and answer != "" and self.fail_msg not in answer:
                return {"prediction": answer, "extra_records": log} if isinstance(log, dict) else answer
            self.logger.info("try %d: code %s, %s", number, code, log)
        return self.fail_msg if answer in ("", None) else answer

    def message_to_promptimg(self, message: Any, dataset: str | None = None) -> tuple[str, str | None]:
        """The texts joined by line ends with `<image>` where one of several pictures stands, and the first picture."""
        images = [entry["value"] for entry in message if entry["type"] == "image"]
        if len(images) < 2:
            return super().message_to_promptimg(message)
        text = "\n".join(entry["value"] if entry["type"] == "text" else "<image>" for entry in message)
        return text, super().message_to_promptimg(message, dataset)[1]
