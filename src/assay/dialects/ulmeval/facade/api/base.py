"""`ulmeval.api.base`: a model behind an endpoint, one question at a time."""

from typing import Any, ClassVar

from ....kits.api_calls import ApiCalls
from ....kits.message_content import checked, content_kind
from ....kits.rules import as_upstream
from ...messages import as_entries, check_types


class BaseAPI(ApiCalls):
    """Subclasses write `generate_inner(inputs, **kwargs) -> (ret_code, answer, log)`; an answer may be an image."""

    allowed_types: ClassVar[list[str]] = ["text", "image", "video"]

    def check_content(self, msgs: Any) -> str:
        """`str`, `dict`, `liststr`, `listdict` or `unknown`."""
        return content_kind(msgs)

    def taken(self, message: Any) -> Any:
        """A message as a list of dictionaries with local files."""
        if as_upstream():
            return checked(message, self.allowed_types, type(self).__name__)
        entries = as_entries(message)
        check_types(entries, self)
        return entries

    def preproc_content(self, inputs: Any) -> Any:
        """The same."""
        return self.taken(inputs)

    def set_dump_image(self, dump_image_func: Any) -> None:
        """How images of a row become files."""
        self.dump_image_func = dump_image_func

    def dump_image(self, line: Any, dataset: str | None = None) -> Any:
        """The images of a row as files."""
        return self.dump_image_func(line)
