"""`vlmeval.api.base`: `BaseAPI`, whose `generate_inner` returns `(ret_code, answer, log)`."""

from typing import Any

from ..smp.log import get_logger
from ..vlm.base import BaseModel

__all__ = ["BaseAPI"]


class BaseAPI(BaseModel):
    """A model behind an API. assay itself tries again and waits; the settings for that are kept and not used."""

    is_api = True
    fail_msg = "Failed to obtain answer via API."

    def __init__(
        self,
        retry: int = 10,
        wait: int = 1,
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
        code, _, _ = self.generate_inner([{"type": "text", "value": "hello"}])
        return bool(code == 0)

    def chat_inner(self, inputs: Any, **kwargs: Any) -> Any:
        """The answer to a chat; by default `generate_inner` is given the chat, as endpoints take one."""
        kwargs.pop("dataset", None)
        return self.generate_inner(inputs, **kwargs)

    def generate(self, message: Any, dataset: str | None = None, **kwargs: Any) -> Any:
        """The answer, or `fail_msg`; one attempt, for code that calls the model itself."""
        code, answer, log = self.generate_inner(self.preproc_content(message), **{**self.default_kwargs, **kwargs})
        if code != 0:
            self.logger.warning("%s: %s", type(self).__name__, log)
            return self.fail_msg
        return answer
