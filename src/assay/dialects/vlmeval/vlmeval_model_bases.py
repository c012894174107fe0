"""Base classes for users' models: `BaseModel`, `BaseAPI` for those behind an API, and the models of `vlmeval.api`."""

from collections.abc import Sequence
from typing import Any

from ...core import Media
from ..kits.api_calls import ApiCalls, without_first
from ..kits.message_content import (
    Entries,
    MessageModel,
    joined_text,
    read_as_upstream,
    values_of,
)
from ..kits.message_lists import chat_list, flat_list, message_turns
from ..kits.row_images import media_file
from ..kits.smp.file import media_path
from ..kits.smp.images import concat_images
from ..protocol import is_upstream
from ..shapes import Fields
from .dataset_facts import data_root
from .vlmeval_judging import GuestJudge


class BaseModel(MessageModel):
    """Base of models that answer message lists. Subclasses define `generate_inner(message, dataset=None)`."""

    INTERLEAVE = False
    is_api = False
    VIDEO_LLM = False

    def generate(
        self,
        message: object,
        dataset: str | None = None,
    ) -> object:
        """Return the answer to a message: a string, a dict, or a list of strings or dicts.

        Media become local files first.
        """
        return self.generate_inner(self._assay_entries(message), dataset)

    def _assay_read(self, message: object) -> Entries:
        return flat_list(message_turns(message), _file)

    def chat(
        self,
        messages: Sequence[Fields],
        dataset: str | None = None,
    ) -> object:
        """Return the answer to a chat, `[dict(role, content)]`, if the class has `chat_inner`.

        Under VLMEvalKit's rules, a chat that raises is retried without its first turns.
        """
        inner = getattr(self, "chat_inner", None)
        if inner is None:
            raise NotImplementedError(f"{type(self).__name__} has no chat_inner")
        if not is_upstream("vlmeval"):
            return inner(chat_list(message_turns(messages), _file), dataset=dataset)
        turns = [
            {**turn, "content": read_as_upstream(turn["content"])} for turn in messages
        ]
        while turns:
            try:
                return inner(turns, dataset=dataset)
            except Exception:  # noqa: BLE001 - whatever a model says to a chat it cannot take
                turns = without_first(turns)
        return "Chat Mode: Failed with all possible conversation turns."

    def message_to_promptimg(
        self,
        message: Sequence[Fields],
        dataset: str | None = None,
    ) -> tuple[str, str | None]:
        """Return the message's texts joined by line breaks, and its first image; for BLINK all images side by side."""
        text, images = joined_text(message), values_of(message, "image")
        if dataset == "BLINK" and images:
            return text, str(concat_images(images, target_size=512))
        return text, images[0] if images else None

    def message_to_promptvideo(
        self, message: Sequence[Fields]
    ) -> tuple[str, str | None]:
        """Return the message's texts joined by line breaks, and its first video."""
        if not self.VIDEO_LLM:
            raise NotImplementedError(f"{type(self).__name__} takes no video")
        videos = values_of(message, "video")
        return joined_text(message), videos[0] if videos else None

    def message_to_promptvideo_withrole(
        self,
        message: Sequence[Fields],
        dataset: str | None = None,
    ) -> tuple[dict[str, str], str]:
        """Return the message's texts by role, and its first video.

        For multiple choice, an assistant's text `Best Option: (` is added if there is
        none. The model's answer continues it.
        """
        if not self.VIDEO_LLM:
            raise NotImplementedError(f"{type(self).__name__} takes no video")
        texts = {"system": "", "user": "", "assistant": ""}
        for entry in message:
            if entry["type"] == "text":
                role = entry.get("role")
                texts[role if role in ("system", "assistant") else "user"] += entry[
                    "value"
                ]
        if not texts["assistant"]:
            from .dataset_names import DATASET_TYPE

            if "MCQ" in DATASET_TYPE(dataset or ""):
                texts["assistant"] = "Best Option: ("
            else:
                del texts["assistant"]
        return texts, values_of(message, "video")[0]


def _file(medium: Media) -> str:
    source = medium.source
    if isinstance(source, str) and source.startswith("data:image/"):
        return media_path(source)
    return media_file(medium, str(data_root() / "files"))


class BaseAPI(ApiCalls, BaseModel):  # type: ignore[misc]  # one question, without a dataset, as upstream has it
    """Base of models behind an API."""

    def is_answer(self, answer: Any) -> bool:
        """Return True if the answer is valid and does not contain the failure message."""
        return super().is_answer(answer) and self.fail_msg not in answer


STANDS_IN = True
"""Marks this module as a fallback: VLMEvalKit's own file takes precedence if it exists."""


class OpenAIWrapper(BaseAPI):
    """A text model by name: `openai/…`, `file.py:fn` and so on. Any other name is a model at `$OPENAI_BASE_URL`.

    While a user's `evaluate` runs, calls go to the run's judge, whose answers are
    stored in the journal.
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
        """Return True without sending a request. If the judge is unavailable, each question reports an error."""
        return self._assay_judge.working()

    def generate_inner(self, inputs: object, **kwargs: object) -> object:  # type: ignore[override]
        """Return code, answer and log for one question."""
        options = {name: value for name, value in kwargs.items() if name != "dataset"}
        return self._assay_judge.generate_inner(inputs, **options)


class GPT4V(OpenAIWrapper):
    """An `OpenAIWrapper` that also accepts images, like VLMEvalKit's class of this name."""

    def generate(
        self,
        message: object,
        dataset: str | None = None,
        **kwargs: Any,
    ) -> object:
        """Return the answer; `dataset` is ignored."""
        return super().generate(message, **kwargs)
