"""Retries, chats and system prompts for users' API models, as in the base classes of VLMEvalKit and ULMEvalKit.

Scripts use them. In a run, assay calls `generate_inner` directly and retries by its own
rules.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..shapes import Fields
from .message_content import Entries, MessageModel, content_kind
from .smp.images import concat_images
from .smp.log import get_logger

FAIL_MSG = "Failed to obtain answer via API."


class ApiCalls(MessageModel):
    """Base of users' API model classes.

    Subclasses define `generate_inner(inputs, **kwargs) -> (ret_code, answer, log)`; a `ret_code` of 0 is success.
    """

    is_api = True
    INTERLEAVE = True
    INSTALL_REQ = False
    fail_msg = FAIL_MSG
    system_prompt: str | None = None

    def __init__(
        self,
        retry: int = 10,
        wait: float = 1,
        system_prompt: str | None = None,
        verbose: bool = True,
        fail_msg: str | None = None,
        **kwargs: object,
    ) -> None:
        self.retry, self.wait, self.verbose = retry, wait, verbose
        self.system_prompt = system_prompt
        self.fail_msg = fail_msg or self.fail_msg
        self.default_kwargs = kwargs
        self.logger = get_logger(type(self).__name__)

    def is_answer(self, answer: object) -> bool:
        """Return True if the answer of a successful call is neither None nor an empty string."""
        return not (isinstance(answer, str) and answer == "") and answer is not None

    def working(self) -> bool:
        """Send "hello" to the API, and return True if an answer arrives."""
        answer = self.generate("hello")
        return answer not in (None, "") and self.fail_msg not in str(answer)

    def generate(self, message: object, **kwargs1: Any) -> object:
        """Return the answer to a message, or `fail_msg` after `retry` failed attempts."""
        if isinstance(message, list) and content_kind(message) == "listdict":
            message = self.preprocess_message_with_role(message)
        entries = self._assay_entries(message)
        return self._assay_tried(
            lambda: self.generate_inner(entries, **{**self.default_kwargs, **kwargs1})
        )

    def chat(self, messages: Sequence[Fields], **kwargs1: object) -> object:
        """Return the answer to a chat that ends with a user turn."""
        turns = [
            {**turn, "content": self._assay_entries(turn["content"])}
            for turn in messages
        ]
        if not turns or turns[-1]["role"] != "user":
            raise AssertionError("a chat ends with a turn of the user")
        return self._assay_tried(
            lambda: self.chat_inner(turns, **{**self.default_kwargs, **kwargs1})
        )

    def chat_inner(self, inputs: Sequence[Fields], **kwargs: Any) -> object:
        """Return the result `(ret_code, answer, log)` for a chat.

        By default, call `generate_inner` with the chat. If it raises, retry without the
        first turns.
        """
        kwargs.pop("dataset", None)
        while inputs:
            try:
                return self.generate_inner(inputs, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever an endpoint says to a chat that is too long
                self.logger.info("%s: %s", type(error).__name__, error)
                inputs = without_first(inputs)
        return (
            -1,
            f"{self.fail_msg}: Failed with all possible conversation turns.",
            None,
        )

    def preprocess_message_with_role(self, message: Sequence[Fields]) -> Entries:
        """Remove the system entries from a message, and append their text to `self.system_prompt`."""
        system = "".join(
            f"{entry['value']}\n" for entry in message if entry.get("role") == "system"
        )
        if system and self.system_prompt is None:
            self.system_prompt = system
        elif system and system not in str(self.system_prompt):
            self.system_prompt = f"{self.system_prompt}\n{system}"
        return [
            {name: value for name, value in entry.items() if name != "role"}
            for entry in message
            if entry.get("role", "user") != "system"
        ]

    def message_to_promptimg(
        self,
        message: Sequence[Fields],
        dataset: str | None = None,
    ) -> tuple[str, Any]:
        """Return a message's text, joined by line breaks, and its first image.

        If there are several images, the text has `<image>` for each. For the BLINK
        dataset, all images are joined into one.
        """
        images = [entry["value"] for entry in message if entry["type"] == "image"]
        if len(images) > 1:
            placeholder = "<image>"
        else:
            placeholder = None
        text = "\n".join(
            entry["value"] if entry["type"] == "text" else str(placeholder)
            for entry in message
            if entry["type"] == "text" or placeholder
        )
        if dataset == "BLINK" and len(images) > 1:
            return text, concat_images(images, target_size=512)
        return text, images[0] if images else None

    def _assay_tried(self, attempt: Callable[[], Any]) -> object:
        answer: Any = None
        for number in range(self.retry):
            if number:
                time.sleep(random.random() * self.wait * 2)
            try:
                code, answer, log = attempt()
            except Exception as error:  # noqa: BLE001 - the boundary to a user's attempt: logged, then tried again
                self.logger.info("try %d: %s: %s", number, type(error).__name__, error)
                continue
            if code == 0 and self.is_answer(answer):
                if isinstance(log, dict):
                    return {"prediction": answer, "extra_records": log}
                return answer
            self.logger.info("try %d: code %s, %s", number, code, log)
        if answer is None or (isinstance(answer, str) and answer == ""):
            return self.fail_msg
        return answer


def without_first(turns: Sequence[Any]) -> list[Any]:
    """Drop the first turn of a chat, and any turns after it that precede the next user turn."""
    rest = list(turns[1:])
    while rest and rest[0]["role"] != "user":
        rest = rest[1:]
    return rest
