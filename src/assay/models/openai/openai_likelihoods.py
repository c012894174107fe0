"""Likelihoods of given texts, from endpoints that report the log-probability of each input token.

A token that spans the end of the context and the start of the continuation counts as
continuation, and so do spaces at the end of the context. Servers insert tokens before a
text, so the continuation's tokens are counted from the end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from ...core import Likelihood, Output, Request, Usage, UsageError, shorten
from ..chat_format import Malformed, chat_messages, count_of, in_order
from ..http import HttpFailure
from ..inline_media import mapping_in, well_shaped
from ..reply_checks import with_notes

Way = Literal["echo", "prompt_logprobs"]
LIST_REFUSED = frozenset({400, 415, 422, 500, 501})
"""HTTP statuses that servers send if they do not accept a list of prompts."""
_SPELLED_IN_BYTES = re.compile("bytes:|<0x|\N{REPLACEMENT CHARACTER}")
_BLANKS = str.maketrans({"\u2581": " ", "\u0120": " ", "\u010a": "\n"})
"""Maps the characters that tokenizers write in place of spaces and line breaks to those."""
WITHOUT_TOPS = (
    "the server reports no `top_logprobs`, so its echo could not be checked, "
    "and no answer counts as the one greedy decoding would give"
)
PROBE = "One, two, three, four, five, six, seven,"
"""A text that every model continues, so that the server generates a token after it."""
WITHOUT_GENERATED = "the server generates nothing after the texts it echoes, so its echo could not be checked"
MOST_CERTAIN = 2
"""A report in which all log-probabilities are 0 is accepted for texts of up to this many tokens."""
NEAR = 0.01
"""Difference below which two log-probabilities are treated as equal, because servers round them."""


class CannotWeigh(HttpFailure):
    """Raised if the server reports no log-probabilities for given texts. The run cannot continue."""

    def __init__(self, what: str, way: Way) -> None:
        super().__init__("bad_response", _lacks(what, way), retryable=False)


class Misaligned(CannotWeigh):
    """Raised if the reported tokens do not match the submitted text."""

    def __init__(self, reason: str) -> None:
        HttpFailure.__init__(
            self,
            "bad_response",
            f"the server's echo cannot be trusted: {reason}; fix: leave likelihood_by=echo out",
            retryable=False,
        )


class Choices(NamedTuple):
    """The server's reports on several texts, in the order of the texts, and the total token usage."""

    entries: tuple[Mapping[str, Any], ...]
    usage: Usage | None


class ScoredToken(NamedTuple):
    """One token of the given text."""

    text: str
    logprob: float | None
    is_best: bool
    """True if greedy decoding would have produced the token."""


def question(
    name: str,
    prompt: str | list[str],
    way: Way,
) -> dict[str, Any]:
    """Return the body of a request that scores one text, or several at once.

    It requests one new token, which is discarded: not every server can generate none, and the token shows whether the
    reported log-probabilities belong to the text.
    """
    body: dict[str, Any] = {
        "model": name,
        "prompt": prompt,
        "max_tokens": 1,
        "temperature": 0,
    }
    if way == "echo":
        return {**body, "echo": True, "logprobs": 1}
    return {**body, "prompt_logprobs": 1}


@well_shaped
def choices_of(answer: object, count: int) -> Choices | None:
    """Return the reports in a reply to `count` prompts, in their order. Return None if their number differs.

    A server that accepts only one prompt per request may ignore the others.
    """
    choices = mapping_in(answer).get("choices")
    if not isinstance(choices, Sequence) or not choices:
        raise Malformed(f"the answer has no `choices`: {shorten(answer)}")
    if len(choices) != count:
        return None
    return Choices(tuple(in_order(choices)), _usage([answer]))


def single_choices(answers: Sequence[Any]) -> Choices:
    """Collect the reports from several replies, each to a request with one prompt."""
    choices: list[Mapping[str, Any]] = []
    for answer in answers:
        read_choices = choices_of(answer, 1)
        if read_choices is None:
            raise Malformed(f"the answer has several `choices`: {shorten(answer)}")
        choices += read_choices.entries
    return Choices(tuple(choices), _usage(answers))


@well_shaped
def read(
    choices: Choices,
    request: Request,
    way: Way,
) -> Output:
    """Return the likelihoods of the continuations.

    Raise `HttpFailure` if the server's reports do not contain them.
    """
    likelihoods = []
    texts = texts_of(request)
    parts = _weighed_parts(request)
    for choice, text, part in zip(choices.entries, texts, parts, strict=True):
        if way == "echo":
            tokens = _echoed(choice, text)
        else:
            tokens = list(_tokens(choice))
        likelihoods.append(_weight(tokens, part, whole=request.prompt.rolling))
    output = Output(
        likelihoods=tuple(likelihoods),
        usage=choices.usage,
    )
    if way == "echo" and not any(map(_has_tops, choices.entries)):
        return with_notes(output, [WITHOUT_TOPS])
    return output


def _has_tops(choice: Mapping[str, Any]) -> bool:
    """Return True if a choice contains the most likely alternative for at least one of its tokens."""
    report: Mapping[str, Any] = choice.get("logprobs") or {}
    return any(_best(top) is not None for top in report.get("top_logprobs") or ())


def chat_questions(
    name: str,
    request: Request,
    way: Way,
) -> list[dict[str, Any]]:
    """Return one request body per continuation, with the continuation as the start of the assistant's answer.

    Raise unless the server reports `prompt_logprobs`, because `echo` does not support
    chats.
    """
    if way == "echo" or request.prompt.rolling:
        raise UsageError(
            f"model 'openai/{name}' measures plain text only, and the prompt is a chat",
            fix="use the template 'without_chat', or likelihood_by=prompt_logprobs where the server is vLLM",
        )
    base = {"model": name, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 1}
    base |= {"add_generation_prompt": False, "continue_final_message": True}
    messages = chat_messages(request.prompt)
    return [
        {**base, "messages": [*messages, {"role": "assistant", "content": text}]}
        for text in _weighed_parts(request)
    ]


@well_shaped
def read_chat(
    answers: Sequence[Any],
    request: Request,
) -> Output:
    """Return the likelihoods that the server reported for the bodies of `chat_questions`."""
    parts = _weighed_parts(request)
    weighed = [
        _weight(list(_tokens(answer)), part)
        for answer, part in zip(answers, parts, strict=True)
    ]
    return Output(
        likelihoods=tuple(weighed),
        usage=_usage(answers),
    )


def texts_of(request: Request) -> list[str]:
    if request.prompt.rolling:
        return [request.prompt.text]
    return [
        request.prompt.text + continuation
        for continuation in request.prompt.continuations or ()
    ]


def _weighed_parts(request: Request) -> list[str]:
    """Return the part of each text to score: the whole text, or the continuation with the spaces before it."""
    prompt = request.prompt
    if prompt.rolling:
        return [prompt.text]
    if prompt.is_chat:
        return list(prompt.continuations or ())
    text = prompt.text
    blank = text[len(text.rstrip()) :]
    return [blank + continuation for continuation in prompt.continuations or ()]


def _echoed(
    choice: Mapping[str, Any],
    text: str,
) -> list[ScoredToken]:
    """Return the reported tokens of the submitted text, excluding the token that was generated after it.

    Raise `Misaligned` if the reported tokens do not match the text.
    """
    report: Mapping[str, Any] = choice.get("logprobs") or {}
    tokens = report.get("tokens")
    if not isinstance(tokens, Sequence) or not tokens:
        raise CannotWeigh("logprobs of what it echoes", "echo")
    values = _column(report, "token_logprobs", len(tokens))
    if all(value is None for value in values):
        raise CannotWeigh("logprobs of what it echoes", "echo")
    tops = _column(report, "top_logprobs", len(tokens))
    begins = _begins(tokens, report.get("text_offset"), text)
    _check_covered(choice, tokens, begins, text)
    _check_rows(tokens, values, tops)
    _check_written(tokens, values, tops, begins, text)
    read: list[ScoredToken] = []
    ends = [*begins[1:], len(text)]
    for value, top, begin, end in zip(values, tops, begins, ends, strict=True):
        if begin >= len(text):
            break
        best = _best(top)
        is_best = value is not None and best is not None and value >= best
        read.append(ScoredToken(text[max(begin, 0) : max(end, 0)], value, is_best))
    return read


@well_shaped
def check_echo(probe: Choices) -> None:
    """Raise `Misaligned` if the echo of `PROBE` is not aligned."""
    _echoed(probe.entries[0], PROBE)


@well_shaped
def has_generated(
    choices: Choices,
    texts: Sequence[str],
) -> bool:
    """Return True if at least one report includes a generated token after the submitted text."""
    for choice, text in zip(choices.entries, texts, strict=True):
        report: Mapping[str, Any] = choice.get("logprobs") or {}
        begins = _begins(report["tokens"], report.get("text_offset"), text)
        if begins[-1] >= len(text):
            return True
    return False


def _column(
    report: Mapping[str, Any],
    name: str,
    count: int,
) -> Sequence[Any]:
    """Return a list from a server's report, such as `token_logprobs`. If it is missing, return a list of None."""
    entries = report.get(name) or [None] * count
    if len(entries) != count:
        raise Misaligned(f"`{name}` has {len(entries)} entries for {count} tokens")
    return list(entries)


def _best(top: object) -> float | None:
    """Return the highest log-probability among the reported alternatives."""
    if not isinstance(top, Mapping):
        return None
    return max((value for value in top.values() if value is not None), default=None)


def _check_covered(
    choice: Mapping[str, Any],
    tokens: Sequence[str],
    begins: Sequence[int],
    text: str,
) -> None:
    """Raise if the server added text to the submitted one without reporting a token for it."""
    echoed = choice.get("text")
    if not isinstance(echoed, str) or not echoed.startswith(text):
        return
    has_written_token = begins[-1] >= len(text)
    if len(echoed) > len(text) and not has_written_token:
        raise Misaligned(
            f"its tokens lack the generated text {shorten(echoed[len(text) :])}"
        )
    joined = "".join(tokens)
    start = joined.find(text)
    if start >= 0 and not joined[start:].startswith(echoed):
        raise Misaligned("its tokens do not join to its text")


def _check_rows(
    tokens: Sequence[str],
    values: Sequence[Any],
    tops: Sequence[Any],
) -> None:
    """Raise if token log-probabilities contradict the alternatives in `top_logprobs`.

    A token must not be more likely than the best alternative, and for most tokens both
    lists must have the same value. A few may differ, because two tokens with the same
    text have only one entry. If all values are 0, the server did not compute them.
    """
    if len(values) > MOST_CERTAIN and not any(values):
        raise Misaligned("all its log-probabilities are 0")
    same = different = 0
    for token, value, top in zip(tokens, values, tops, strict=True):
        best = _best(top)
        if value is None or best is None:
            continue
        if value > best + NEAR:
            raise Misaligned(
                f"{shorten(token)} is more likely than every alternative in `top_logprobs`"
            )
        in_row = top.get(token)
        if in_row is None:
            continue
        if abs(in_row - value) <= NEAR:
            same += 1
        else:
            different += 1
    if different > same:
        raise Misaligned("its tokens have other values in `top_logprobs`")


def _check_written(
    tokens: Sequence[str],
    values: Sequence[Any],
    tops: Sequence[Any],
    begins: Sequence[int],
    text: str,
) -> None:
    """Raise if the generated token has no log-probability, or if an alternative is more likely.

    The token was generated at temperature 0, so it must be the most likely one.
    """
    for token, value, top, begin in zip(tokens, values, tops, begins, strict=True):
        if begin < len(text):
            continue
        if value is None:
            raise Misaligned(
                f"the generated token {shorten(token)} has no log-probability"
            )
        best = _best(top)
        if best is not None and value < best - NEAR:
            raise Misaligned(
                f"{shorten(token)}, written at temperature 0, is not the most likely in its row"
            )
        return


def _begins(
    tokens: Sequence[str],
    offsets: object,
    text: str,
) -> list[int]:
    """Return where in the text each token begins, as an index; negative for tokens
    that were added before the text.
    """
    start = "".join(tokens).find(text)
    if start >= 0:
        begins = [-start]
        for token in tokens[:-1]:
            begins.append(begins[-1] + len(token))
        return begins
    # Partial characters are written as bytes and spaces as marks: the tokens do not join to the
    # text, but offsets are right.
    if isinstance(offsets, Sequence) and _fit(offsets, tokens, text):
        return [int(offset) for offset in offsets]
    raise Misaligned("its tokens do not join to the text it was sent")


def _fit(
    offsets: Sequence[Any],
    tokens: Sequence[str],
    text: str,
) -> bool:
    """Return True if the reported offsets increase, and most tokens are found in the text at their offsets."""
    if len(offsets) != len(tokens) or list(offsets) != sorted(offsets):
        return False
    same = different = 0
    for (begin, end), token in zip(pairwise(offsets), tokens, strict=False):
        if _SPELLED_IN_BYTES.search(token):
            continue
        if text[begin:end] == token.translate(_BLANKS):
            same += 1
        else:
            different += 1
    return same >= different


def _tokens(holder: object) -> Iterator[ScoredToken]:
    """Yield the tokens in vLLM's `prompt_logprobs`.

    It contains a mapping for each token, whose first entry is the token itself.
    """
    entries = mapping_in(holder).get("prompt_logprobs")
    if not isinstance(entries, Sequence) or not entries:
        raise CannotWeigh("`prompt_logprobs`", "prompt_logprobs")
    for entry in entries:
        if not entry:
            yield ScoredToken("", None, False)  # the first token has no context
            continue
        token = next(iter(entry.values()))
        yield ScoredToken(
            str(token.get("decoded_token") or ""),
            float(token["logprob"]),
            token.get("rank") == 1,
        )


def _lacks(what: str, way: Way) -> str:
    return f"the server does not report {what}; fix: leave likelihood_by={way} out"


def _weight(
    tokens: Sequence[ScoredToken],
    part: str,
    *,
    whole: bool = False,
) -> Likelihood:
    """Add up the log-probabilities of the tokens that overlap `part`, the end of the text.

    If `part` is the `whole` text and the server adds no token before it, the first
    token is left out.
    """
    if not part:
        return Likelihood(0.0, True, 0)
    missing = len(part)
    last_tokens: list[ScoredToken] = []
    for token in reversed(tokens):
        if missing <= 0:
            break
        last_tokens.append(token)
        missing -= len(token.text)
    ending = "".join(token.text for token in reversed(last_tokens))
    if not ending.endswith(part) and not part.endswith(ending):
        raise HttpFailure(
            "bad_response",
            f"the server measured {shorten(ending)} for {shorten(part)}",
            retryable=False,
        )
    weights = [token for token in last_tokens if token.logprob is not None]
    if not weights or (len(weights) < len(last_tokens) and not whole):
        raise HttpFailure(
            "bad_response",
            f"the server reports no likelihood of {shorten(part)}: it has no context",
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
    if counts:
        return Usage(input_tokens=sum(counts), output_tokens=0)
    return None
