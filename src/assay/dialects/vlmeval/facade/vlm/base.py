"""`vlmeval.vlm.base`: `BaseModel`, the base class of newer model classes."""

from collections.abc import Callable, Sequence
from typing import Any

from .....media.picture_files import media_file
from .....templates.message_lists import chat_list, flat_list, message_turns
from ...places import data_root
from ...prompts import fetched

__all__ = ["BaseModel"]


class BaseModel:
    """A model of message lists; subclasses write `generate_inner(message, dataset=None)`."""

    INTERLEAVE = False
    allowed_types: Sequence[str] = ("text", "image", "video")
    is_api = False
    dump_image_func: Callable[[Any], list[str]] | None = None

    def use_custom_prompt(self, dataset: str) -> bool:
        """Whether the model builds its own prompt for a dataset."""
        return False

    def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
        """The model's own prompt of a line."""
        raise NotImplementedError(f"{type(self).__name__} says it builds its own prompt and has no build_prompt")

    def set_dump_image(self, dump_image_func: Callable[[Any], list[str]]) -> None:
        """How pictures of a line become files."""
        self.dump_image_func = dump_image_func

    def dump_image(self, line: Any, dataset: str | None = None) -> list[str]:
        """The pictures of a line as files."""
        if self.dump_image_func is None:
            raise RuntimeError("dump_image is only known while a dataset is run")
        return self.dump_image_func(line)

    def generate_inner(self, message: Any, dataset: str | None = None) -> Any:
        """The answer to a message list."""
        raise NotImplementedError(f"{type(self).__name__} has no generate_inner")

    def generate(self, message: Any, dataset: str | None = None) -> Any:
        """The answer to a string, a dict, or a list of either; media are brought to local files first."""
        return self.generate_inner(self.preproc_content(message), dataset)

    def chat(self, messages: Any, dataset: str | None = None) -> Any:
        """The answer to a chat, `[dict(role, content)]`, where the class has `chat_inner`."""
        inner = getattr(self, "chat_inner", None)
        if inner is None:
            raise NotImplementedError(f"{type(self).__name__} has no chat_inner")
        return inner(chat_list(message_turns(messages, fetched), _file), dataset=dataset)

    def preproc_content(self, inputs: Any) -> list[dict[str, str]]:
        """A message as a list of dictionaries with local files; a type the model does not take is an error."""
        content = flat_list(message_turns(inputs, fetched), _file)
        for entry in content:
            if entry["type"] not in self.allowed_types:
                raise ValueError(f"{type(self).__name__} does not take {entry['type']}")
        return content

    def message_to_promptimg(self, message: Any, dataset: str | None = None) -> tuple[str, str | None]:
        """The texts joined by line ends, and the first picture."""
        text = "\n".join(entry["value"] for entry in message if entry["type"] == "text")
        images = [entry["value"] for entry in message if entry["type"] == "image"]
        return text, images[0] if images else None


def _file(medium: Any) -> str:
    return str(media_file(medium, data_root() / "files"))
