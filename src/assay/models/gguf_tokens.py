"""The tokenizer in a GGUF file, as llama.cpp's own server gives access to it.

It has the methods that `Renderer` asks of a tokenizer, so that prompts become token ids in the same place as for models
of transformers. The server listens on the loopback interface of this machine; no proxy lies between.
"""

import http.client
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from ..core import ModelError

PATIENCE_SECONDS = 60.0


class ServerTokenizer:
    """Asks a running server how texts are cut into tokens, and what its chat template makes of messages."""

    def __init__(self, address: str, key: str) -> None:
        self._place = urlsplit(address).netloc
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._properties = self._asked("GET", "/props")
        self._whole: dict[int, bool] = {}

    @property
    def chat_template(self) -> str | None:
        """The template of the file, or the one the server was started with."""
        return self._properties.get("chat_template") or None

    @property
    def context(self) -> int:
        """Tokens of prompt and answer together."""
        return int(self._properties["default_generation_settings"]["n_ctx"])

    @property
    def bos_token(self) -> str | None:
        """What a text begins with, where the file names it."""
        return self._properties.get("bos_token") or None

    @cached_property
    def bos_token_id(self) -> int | None:
        """The id of what a text begins with."""
        return self._single(self.bos_token)

    @cached_property
    def eos_token_id(self) -> int | None:
        """The id of what a text ends with."""
        return self._single(self._properties.get("eos_token"))

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The ids of a text; special tokens written in it count as such."""
        body = {"content": text, "add_special": add_special_tokens, "parse_special": True}
        ids: list[int] = self._asked("POST", "/tokenize", body)["tokens"]
        return ids

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        """The text of some ids; the server always writes special tokens out."""
        assert not skip_special_tokens
        text: str = self._asked("POST", "/detokenize", {"tokens": list(ids)})["content"]
        return text

    def is_whole(self, token: int) -> bool:
        """Whether a token consists of whole characters; in languages with many, some are parts of one."""
        is_whole = self._whole.get(token)
        if is_whole is None:
            is_whole = self._whole[token] = "\ufffd" not in self.decode([token], skip_special_tokens=False)
        return is_whole

    @cached_property
    def plain(self) -> int:
        """Some token that consists of whole characters."""
        return self.encode("a", add_special_tokens=False)[-1]

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = True, **_how: Any
    ) -> str:
        """The messages as one text; an answer begun in the last of them is left open."""
        goes_on = bool(messages) and messages[-1]["role"] == "assistant"
        body = {"messages": list(messages), "add_generation_prompt": add_generation_prompt or goes_on}
        text: str = self._asked("POST", "/apply-template", body)["prompt"]
        # Where the vocabulary puts a token before every text, llama.cpp has taken it out of what the template wrote.
        return f"{self.bos_token}{text}" if self._begins_texts and not text.startswith(str(self.bos_token)) else text

    @cached_property
    def _begins_texts(self) -> bool:
        return self.bos_token is not None and self.encode("", add_special_tokens=True)[:1] == [self.bos_token_id]

    def _single(self, token: Any) -> int | None:
        if not isinstance(token, str) or not token:
            return None
        ids = self.encode(token, add_special_tokens=False)
        return ids[0] if len(ids) == 1 else None

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._place, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self._headers)
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ModelError(f"llama.cpp does not answer {path}: {error}") from error
        finally:
            connection.close()
        if reply.status != 200 or not isinstance(answer, dict):
            refused = answer.get("error") if isinstance(answer, dict) else None
            reason = refused.get("message") if isinstance(refused, dict) else answer
            raise ModelError(f"llama.cpp refuses {path}: {reason}")
        return answer
