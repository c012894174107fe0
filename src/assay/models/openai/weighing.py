"""Weighing given continuations at an endpoint: it reads context and continuation, and reports what each token weighed.

Where the seam falls inside a token, that token belongs to the continuation; blanks at the end of the context go with
the continuation. Servers put tokens of their own before a text, so the seam is counted from the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from ...core import Likelihood, Output, Request, Usage, UsageError, shorten
from ..chat_format import Malformed, chat_messages, count_of
from ..http import HttpFailure

Way = Literal["echo", "prompt_logprobs"]


class CannotWeigh(HttpFailure):
    """The server reports no weights at all: the next text would fare no better."""

    def __init__(self, what: str, way: Way) -> None:
        super().__init__("bad_response", _lacks(what, way), retryable=False)


class Weighed(NamedTuple):
    """One token of a text that was read."""

    text: str
    logprob: float | None
    is_best: bool
    """Whether greedy decoding would have written it."""


def question(name: str, request: Request, way: Way) -> dict[str, Any]:
    """One body for all continuations. One token is written, and thrown away: not every server writes none."""
    body: dict[str, Any] = {
        "model": name,
        "prompt": _texts(request),
        "max_tokens": 1,
        "temperature": 0,
    }
    return body | (
        {"echo": True, "logprobs": 1} if way == "echo" else {"prompt_logprobs": 1}
    )


def read(answer: Any, request: Request, way: Way) -> Output:
    """What the continuations weigh; raises `HttpFailure` where the server did not report it."""
    texts = _texts(request)
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, Sequence) or len(choices) != len(texts):
        raise Malformed(f"the answer has not {len(texts)} `choices`: {shorten(answer)}")
    # Some servers answer in the order they got ready.
    ordered = sorted(choices, key=lambda choice: choice.get("index", 0))
    read_one = _echoed if way == "echo" else lambda choice, _: list(_tokens(choice))
    weighed = [
        _weight(read_one(choice, text), part, whole=request.prompt.rolling)
        for choice, text, part in zip(
            ordered, texts, _weighed_parts(request), strict=True
        )
    ]
    return Output(likelihoods=tuple(weighed), usage=_usage([answer]))


def chat_questions(name: str, request: Request, way: Way) -> list[dict[str, Any]]:
    """One body for each continuation, as the beginning of the answer; only `prompt_logprobs` reads chats."""
    if way == "echo" or request.prompt.rolling:
        raise UsageError(
            f"model 'openai/{name}' weighs plain text only, and the prompt is a chat",
            fix="use the template 'without_chat', or likelihood_by=prompt_logprobs where the server is vLLM",
        )
    base = {"model": name, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 1}
    base |= {"add_generation_prompt": False, "continue_final_message": True}
    messages = chat_messages(request.prompt)
    return [
        {**base, "messages": [*messages, {"role": "assistant", "content": text}]}
        for text in _weighed_parts(request)
    ]


def read_chat(answers: Sequence[Any], request: Request) -> Output:
    """What the beginnings of an answer weigh."""
    parts = _weighed_parts(request)
    weighed = [
        _weight(list(_tokens(answer)), part)
        for answer, part in zip(answers, parts, strict=True)
    ]
    return Output(likelihoods=tuple(weighed), usage=_usage(answers))


def _texts(request: Request) -> list[str]:
    if request.prompt.rolling:
        return [request.prompt.text]
    return [
        request.prompt.text + continuation
        for continuation in request.prompt.continuations or ()
    ]


def _weighed_parts(request: Request) -> list[str]:
    """What of each text is to be weighed: all of it, or the continuation with the blanks before it."""
    prompt = request.prompt
    if prompt.rolling:
        return [prompt.text]
    if prompt.is_chat:
        return list(prompt.continuations or ())
    text = prompt.text
    blank = text[len(text.rstrip()) :]
    return [blank + continuation for continuation in prompt.continuations or ()]


def _echoed(choice: Mapping[str, Any], text: str) -> list[Weighed]:
    """The tokens of the text itself, without the one that was written after it."""
    report: Mapping[str, Any] = choice.get("logprobs") or {}
    tokens = report.get("tokens")
    if not isinstance(tokens, Sequence) or not tokens:
        raise CannotWeigh("logprobs of what it echoes", "echo")
    tops = report.get("top_logprobs") or [None] * len(tokens)
    values = report.get("token_logprobs") or [None] * len(tokens)
    read: list[Weighed] = []
    begins = _begins(tokens, report.get("text_offset"), text)
    for value, top, begin, end in zip(
        values, tops, begins, [*begins[1:], len(text)], strict=True
    ):
        if begin >= len(text):
            break
        rivals = (
            [weight for weight in top.values() if weight is not None]
            if isinstance(top, Mapping)
            else []
        )
        best = max(rivals, default=None)
        is_best = value is not None and best is not None and value >= best
        read.append(Weighed(text[max(begin, 0) : max(end, 0)], value, is_best))
    return read


def _begins(tokens: Sequence[str], offsets: Any, text: str) -> list[int]:
    """Where each token begins in the text; below 0 for those a server puts before it."""
    start = "".join(tokens).find(text)
    if start >= 0:
        return [
            position - start
            for position in accumulate((len(token) for token in tokens[:-1]), initial=0)
        ]
    # Where half a letter is spelled in bytes, the tokens do not join to the text, but the offsets are right.
    if (
        isinstance(offsets, Sequence)
        and len(offsets) == len(tokens)
        and list(offsets) == sorted(offsets)
    ):
        return [int(offset) for offset in offsets]
    raise HttpFailure(
        "bad_response", _lacks("the text it was sent", "echo"), retryable=False
    )


def _tokens(holder: Any) -> Iterator[Weighed]:
    """The tokens of vLLM's `prompt_logprobs`; the first entry of each is the token itself, others its rivals."""
    entries = holder.get("prompt_logprobs") if isinstance(holder, Mapping) else None
    if not isinstance(entries, Sequence) or not entries:
        raise CannotWeigh("`prompt_logprobs`", "prompt_logprobs")
    for entry in entries:
        if not entry:
            yield Weighed("", None, False)  # nothing stands before the first token
            continue
        token = next(iter(entry.values()))
        yield Weighed(
            str(token.get("decoded_token") or ""),
            float(token["logprob"]),
            token.get("rank") == 1,
        )


def _lacks(what: str, way: Way) -> str:
    return f"the server does not report {what}; fix: leave likelihood_by={way} out, its server cannot weigh"


def _weight(tokens: Sequence[Weighed], part: str, *, whole: bool = False) -> Likelihood:
    """The sum over the tokens that reach into `part`, which ends the text.

    The first token of a `whole` text weighs nothing where the server puts nothing before it.
    """
    if not part:
        return Likelihood(0.0, True, 0)
    wanted = len(part)
    last_tokens: list[Weighed] = []
    for token in reversed(tokens):
        if wanted <= 0:
            break
        last_tokens.append(token)
        wanted -= len(token.text)
    ending = "".join(token.text for token in reversed(last_tokens))
    if not ending.endswith(part) and not part.endswith(ending):
        raise HttpFailure(
            "bad_response",
            f"the server weighed {shorten(ending)} for {shorten(part)}",
            retryable=False,
        )
    weights = [token for token in last_tokens if token.logprob is not None]
    if not weights or (len(weights) < len(last_tokens) and not whole):
        raise HttpFailure(
            "bad_response",
            f"nothing stands before {shorten(part)} to weigh it by",
            retryable=False,
        )
    logprob = sum(token.logprob for token in weights if token.logprob is not None)
    return Likelihood(logprob, all(token.is_best for token in weights), len(weights))


def _usage(answers: Sequence[Any]) -> Usage | None:
    counts = [
        n
        for answer in answers
        if (n := count_of(answer.get("usage"), "prompt_tokens")) is not None
    ]
    return Usage(input_tokens=sum(counts), output_tokens=0) if counts else None
