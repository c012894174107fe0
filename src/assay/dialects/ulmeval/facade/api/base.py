"""`ulmeval.api.base`: a model behind an endpoint, one question at a time.

In a run, assay calls `generate_inner` itself and tries again by its own rules; the retries here are those of scripts.
"""

import time
from typing import Any, ClassVar

from ...messages import as_entries, check_types, split_system
from ..smp.log import get_logger


class BaseAPI:
    """Subclasses write `generate_inner(inputs, **kwargs) -> (ret_code, answer, log)`; a ret_code of 0 is success."""

    is_api: ClassVar[bool] = True
    allowed_types: ClassVar[list[str]] = ["text", "image", "video"]
    INTERLEAVE: ClassVar[bool] = True
    INSTALL_REQ: ClassVar[bool] = False

    def __init__(
        self,
        retry: int = 10,
        wait: float = 1,
        system_prompt: str | None = None,
        verbose: bool = True,
        fail_msg: str = "Failed to obtain answer via API.",
        **kwargs: Any,
    ) -> None:
        self.retry = retry
        self.wait = wait
        self.system_prompt = system_prompt
        self.verbose = verbose
        self.fail_msg = fail_msg
        self.logger = get_logger("ChatAPI")
        self.default_kwargs = kwargs

    def generate_inner(self, inputs: Any, **kwargs: Any) -> tuple[int, Any, Any]:
        """One attempt."""
        raise NotImplementedError(f"{type(self).__name__} has no `generate_inner`")

    def generate(self, message: Any, **kwargs: Any) -> Any:
        """The answer; `fail_msg` if none came."""
        entries, system = split_system(as_entries(message))
        if system and system not in (self.system_prompt or ""):
            self.system_prompt = f"{self.system_prompt}\n{system}" if self.system_prompt else system
        check_types(entries, self)
        for attempt in range(max(1, self.retry)):
            if attempt:
                time.sleep(self.wait)
            try:
                code, answer, log = self.generate_inner(entries, **{**self.default_kwargs, **kwargs})
            except Exception as error:  # noqa: BLE001 - the boundary to a user's attempt: logged, then tried again
                code, answer, log = -1, None, f"{type(error).__name__}: {error}"
            if code == 0 and answer is not None and not (isinstance(answer, str) and answer == ""):
                return answer
            if self.verbose:
                self.logger.info("attempt %d: code %s, %s", attempt + 1, code, log)
        return self.fail_msg

    def working(self) -> bool:
        """Whether the endpoint answers at all."""
        return bool(self.generate("hello") != self.fail_msg)

    def set_dump_image(self, dump_image_func: Any) -> None:
        """How pictures of a row become files."""
        self.dump_image_func = dump_image_func

    def dump_image(self, line: Any, dataset: str | None = None) -> Any:
        """The pictures of a row as files."""
        return self.dump_image_func(line)
