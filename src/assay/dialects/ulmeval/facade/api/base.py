"""`ulmeval.api.base`: a model behind an endpoint, one question at a time."""

from typing import Any, ClassVar

from ....kits.api_calls import ApiCalls
from ....kits.message_content import Entries
from ...messages import entries_for


class BaseAPI(ApiCalls):
    """Subclasses write `generate_inner(inputs, **kwargs) -> (ret_code, answer, log)`; an answer may be an image."""

    allowed_types: ClassVar[list[str]] = ["text", "image", "video"]

    def _assay_entries(self, message: Any) -> Entries:
        return entries_for(self, message)

    def preproc_content(self, inputs: Any) -> Any:
        """A message as a list of dictionaries with local files."""
        return self._assay_entries(inputs)
