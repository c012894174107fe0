"""llama.cpp in this process: load the weights, answer questions, compute likelihoods.

Its tokenizer is available through its own server, which listens on the loopback interface and is called without a
proxy.

llama.cpp reports log-probabilities only for tokens that it generates. For a likelihood, a grammar of token ids
therefore forces it to generate the continuation; the reported log-probabilities are those before the grammar. They
depend a little on whether a token is computed alone or in a batch, so every continuation is computed the same way:
the context first, without generating, and then the continuation from the cache. llama.cpp never reports a token that
is a part of a character. A continuation with such tokens is computed token by token, from the list of the most
probable alternatives.
"""

import http.client
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..core import Likelihood, ModelError
from .chat_format import Malformed
from .inline_media import mapping_in
from .prompting.pairs import Pair

PATIENCE_SECONDS = 60.0


class ServerTokenizer:
    """The tokenizer and the chat template of a running server.

    It has the tokenizer methods that `Renderer` needs, so that prompts become token ids as for other models.
    """

    def __init__(self, address: str, key: str) -> None:
        self._place = urlsplit(address).netloc
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
        }
        self._properties = self._asked("GET", "/props")
        self._whole: dict[int, bool] = {}

    @property
    def chat_template(self) -> str | None:
        """The chat template of the file, or the one passed when the server was started."""
        return self._properties.get("chat_template") or None

    @property
    def context(self) -> int:
        """Maximum number of tokens of prompt and answer together."""
        return int(self._properties["default_generation_settings"]["n_ctx"])

    @property
    def bos_token(self) -> str | None:
        """The beginning-of-sequence token; None if the file defines none."""
        return self._properties.get("bos_token") or None

    @cached_property
    def bos_token_id(self) -> int | None:
        """The id of the beginning-of-sequence token."""
        return self._single(self.bos_token)

    @cached_property
    def eos_token_id(self) -> int | None:
        """The id of the end-of-sequence token."""
        return self._single(self._properties.get("eos_token"))

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the token ids of a text. Special tokens in the text are recognised."""
        body = {
            "content": text,
            "add_special": add_special_tokens,
            "parse_special": True,
        }
        ids: list[int] = self._asked("POST", "/tokenize", body)["tokens"]
        return ids

    def decode(
        self,
        ids: Sequence[int],
        *,
        skip_special_tokens: bool,
    ) -> str:
        """Return the text of token ids. Special tokens are always included, because the server cannot skip them."""
        assert not skip_special_tokens
        text: str = self._asked("POST", "/detokenize", {"tokens": list(ids)})["content"]
        return text

    def is_whole(self, token: int) -> bool:
        """Return True if a token decodes to complete characters. Some tokens hold only some bytes of a character."""
        is_whole = self._whole.get(token)
        if is_whole is None:
            is_whole = self._whole[token] = "\ufffd" not in self.decode(
                [token], skip_special_tokens=False
            )
        return is_whole

    @cached_property
    def plain(self) -> int:
        """The id of some ordinary token that consists of whole characters: the last token of "a"."""
        return self.encode("a", add_special_tokens=False)[-1]

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **_how: object,
    ) -> str:
        """Render the messages with the chat template.

        If the last message is from the assistant, its turn stays open.
        """
        goes_on = bool(messages) and messages[-1]["role"] == "assistant"
        body: dict[str, Any] = {
            "messages": [_with_texts(message) for message in messages],
            "add_generation_prompt": add_generation_prompt or goes_on,
        }
        if tools:
            body["tools"] = list(tools)
        text: str = self._asked("POST", "/apply-template", body)["prompt"]
        # If the vocabulary adds a token before every text, llama.cpp has removed it from the template's output.
        if self._begins_texts and not text.startswith(str(self.bos_token)):
            return f"{self.bos_token}{text}"
        return text

    @cached_property
    def _begins_texts(self) -> bool:
        return self.bos_token is not None and self.encode("", add_special_tokens=True)[
            :1
        ] == [self.bos_token_id]

    def _single(self, token: object) -> int | None:
        if not isinstance(token, str) or not token:
            return None
        ids = self.encode(token, add_special_tokens=False)
        if len(ids) == 1:
            return ids[0]
        return None

    def _asked(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._place, timeout=PATIENCE_SECONDS)
        try:
            connection.request(
                method,
                path,
                None if body is None else json.dumps(body),
                self._headers,
            )
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ModelError(f"llama.cpp does not answer {path}: {error}") from error
        finally:
            connection.close()
        if reply.status != 200 or not isinstance(answer, dict):
            if isinstance(answer, dict):
                refused = answer.get("error")
            else:
                refused = None
            if isinstance(refused, dict):
                reason = refused.get("message")
            else:
                reason = answer
            raise ModelError(f"llama.cpp refuses {path}: {reason}")
        return answer


def _with_texts(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message with the arguments of its tool calls as JSON text, the form that llama.cpp expects."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    spelled = []
    for call in calls:
        function = dict(call["function"])
        if not isinstance(function["arguments"], str):
            arguments = function["arguments"]
            function["arguments"] = json.dumps(arguments, ensure_ascii=False)
        spelled.append({**call, "function": function})
    return {**message, "tool_calls": spelled}


class TooLong(Exception):
    """Raised for a prompt that does not fit into the context."""

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(f"{tokens} tokens, {context} fit")
        self.tokens = tokens
        self.context = context


class Engine:
    """A running llama.cpp engine with the weights of one file."""

    def __init__(
        self,
        file: Path,
        context: int,
        threads: int,
        gpu_layers: int,
        chat_template: str | None,
    ) -> None:
        import xllamacpp

        self._file = file
        # The library also opens a port on the loopback interface, which no one else may use.
        key = secrets.token_hex()
        params = xllamacpp.CommonParams()
        params.model.path = str(file)
        params.n_ctx = context
        params.n_gpu_layers = gpu_layers
        params.n_parallel = 1
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.flash_attn_type = (
            xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
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

    def ask(
        self,
        is_chat: bool,
        body: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        """Send a request body to llama.cpp and return the answer.

        Raise `TooLong` for a prompt that does not fit, `ModelError` for other errors.
        """
        if is_chat:
            handle = self._server.handle_chat_completions
        else:
            handle = self._server.handle_completions
        answer: Mapping[str, Any] = handle(dict(body))
        error = mapping_in(answer, "error")
        if error:
            if error.get("type") == "exceed_context_size_error":
                raise TooLong(int(error["n_prompt_tokens"]), int(error["n_ctx"]))
            raise ModelError(str(error.get("message")), where=self._file.name)
        return answer


Complete = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Function that sends a request body to llama.cpp and returns the answer. Raises if the answer is an error."""
LISTED = (256, 4096, 1_000_000)
"""Type of a function that sends a request body to llama.cpp and returns the reply,
or raises if the reply is an error.
"""
FORCED = 1e6
"""How many of the most probable tokens to request from llama.cpp.

If the wanted token is not among them, the next number is tried. The last one is larger
than any vocabulary.
"""


class Weigher:
    """Scores continuations with llama.cpp, and remembers which context is in its cache."""

    def __init__(self, complete: Complete, vocabulary: ServerTokenizer) -> None:
        self._complete = complete
        self._vocabulary = vocabulary
        self._context: tuple[int, ...] | None = None
        """The last context in the cache; `None` if other calls may have used the cache since."""

    def forget(self) -> None:
        """Mark the content of the cache as unknown, because another call is about to use it."""
        self._context = None

    def weigh(self, pairs: Sequence[Pair]) -> tuple[list[Likelihood], int]:
        """Return the likelihood of each pair's continuation, and the number of context tokens found in the cache."""
        cached = 0
        likelihoods = [Likelihood(0.0, True, 0)] * len(pairs)
        # Continuations of one context follow each other. Rarely, one of them begins
        # within the last token of the context of the others.
        contexts = [pair.tokens[: pair.start] for pair in pairs]
        for index in sorted(range(len(pairs)), key=contexts.__getitem__):
            context = contexts[index]
            continuation = pairs[index].tokens[len(context) :]
            if not continuation:
                continue
            if context != self._context:
                cached += self._put_in(context)
            if all(map(self._vocabulary.is_whole, continuation)):
                likelihoods[index] = self._forced(context, continuation)
            else:
                likelihoods[index] = self._spelled(context, continuation)
        return likelihoods, cached

    def _put_in(self, context: tuple[int, ...]) -> int:
        """Load a context into llama.cpp's cache, and return how many of its tokens the cache already held."""
        # Tokens that were computed together can be reused; written tokens, and the one before them, cannot.
        last = self._context
        may_reuse = last is not None and context[: len(last)] != last
        body = {"prompt": list(context), "max_tokens": 0, "cache_prompt": may_reuse}
        self._context = None
        usage = self._complete(body).get("usage") or {}
        self._context = context
        return int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)

    def _forced(
        self,
        context: tuple[int, ...],
        continuation: tuple[int, ...],
    ) -> Likelihood:
        body = {
            "prompt": list(context),
            "max_tokens": len(continuation),
            "temperature": 0.0,
            "logprobs": 1,
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in continuation),
            "cache_prompt": True,
        }
        tokens = _reported(self._complete(body))
        if tuple(token["id"] for token in tokens) != continuation:
            raise Malformed(
                f"llama.cpp generated {len(tokens)} of the {len(continuation)} tokens of the continuation"
            )
        greedy = all(token["top_logprobs"][0]["id"] == token["id"] for token in tokens)
        return Likelihood(
            math.fsum(token["logprob"] for token in tokens),
            greedy,
            len(tokens),
        )

    def _spelled(
        self,
        context: tuple[int, ...],
        continuation: tuple[int, ...],
    ) -> Likelihood:
        """Compute the likelihood of a continuation with one request per token.

        This is needed if a token holds only some bytes of a character.
        """
        logprobs = []
        is_greedy = True
        before = context
        for token in continuation:
            logprob, is_best = self._next(before, token)
            logprobs.append(logprob)
            is_greedy = is_greedy and is_best
            before = (*before, token)
        return Likelihood(math.fsum(logprobs), is_greedy, len(logprobs))

    def _next(
        self,
        before: tuple[int, ...],
        token: int,
    ) -> tuple[float, bool]:
        """Return the log-probability of `token` after the tokens `before`, and whether
        it is the most probable one.
        """
        is_whole = self._vocabulary.is_whole(token)
        for listed in (1,) if is_whole else LISTED:
            body = {
                "prompt": list(before),
                "max_tokens": 1,
                "temperature": 0.0,
                "logprobs": listed,
                "logit_bias": [[token if is_whole else self._vocabulary.plain, FORCED]],
                "cache_prompt": True,
            }
            for report in _reported(self._complete(body)):
                likely = report["top_logprobs"]
                for entry in (report, *likely):
                    if entry["id"] == token:
                        is_best = likely[0]["id"] == token
                        return float(entry["logprob"]), is_best
        raise Malformed(
            "llama.cpp reported no log-probability of a token of the continuation"
        )


def _reported(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    try:
        reported: Sequence[Mapping[str, Any]] = answer["choices"][0]["logprobs"][
            "content"
        ]
    except (KeyError, IndexError, TypeError) as error:
        raise Malformed(
            "llama.cpp reported no log-probabilities; fix: pip install -U xllamacpp"
        ) from error
    return reported
