"""llama.cpp in this process: it reads the weights, answers questions and tells how texts are cut into tokens."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import ModelError
from .gguf_tokens import ServerTokenizer


class TooLong(Exception):
    """The prompt does not fit."""

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(f"{tokens} tokens, {context} fit")
        self.tokens, self.context = tokens, context


class Engine:
    """A running llama.cpp with the weights of one file."""

    def __init__(self, file: Path, context: int, threads: int, gpu_layers: int, chat_template: str | None) -> None:
        import xllamacpp

        self._file = file
        # The library also opens a port on the loopback interface; nobody else gets to use it.
        key = secrets.token_hex()
        params = xllamacpp.CommonParams()
        params.model.path = str(file)
        params.n_ctx = context
        params.n_gpu_layers = gpu_layers
        params.n_parallel = 1
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cache_ram_mib = 0
        params.warmup = False
        params.ui = False
        params.api_keys = [key]
        params.verbosity = -1
        if chat_template is not None:
            params.chat_template = chat_template
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelError(
                "llama.cpp could not load the weights",
                where=str(file),
                fix="the file may be damaged or need a newer xllamacpp; fetch it again, or pip install -U xllamacpp",
            ) from error
        self.tokenizer = ServerTokenizer(self._server.listening_address, key)

    def ask(self, is_chat: bool, body: Mapping[str, Any]) -> Any:
        """The answer; raises `TooLong` for a prompt that does not fit, `ModelError` for any other refusal."""
        handle = self._server.handle_chat_completions if is_chat else self._server.handle_completions
        answer = handle(dict(body))
        error = answer.get("error") if isinstance(answer, Mapping) else None
        if isinstance(error, Mapping):
            if error.get("type") == "exceed_context_size_error":
                raise TooLong(int(error["n_prompt_tokens"]), int(error["n_ctx"]))
            raise ModelError(str(error.get("message")), where=self._file.name)
        return answer
