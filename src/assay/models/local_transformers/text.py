"""Text models: convert requests to token ids, and results to outputs.

If the engine supports the model, common prefixes are computed once and answers are
generated in slots. Otherwise transformers' own `generate` is used, and `plain_because`
has the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core import Likelihood, Output, Request, TemplateError
from ..prompting.fitting import Limits, fit, shortened, too_long
from ..prompting.pairs import Pair
from ..prompting.renderer import Renderer
from ..prompting.weighing import Planned, plan_pairs, refused_prompt, weigh_planned
from .candidates import Answers
from .engine import Engine, why_not, why_not_writing
from .few_rows import hasten
from .generation_rows import Row, rows_of
from .media_settings import model_penalty
from .plain import PlainText
from .sampling import check_options
from .shared_likelihoods import weigh

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Answering:
    """A request with the rows to generate for it, and how its prompt was fitted to the context."""

    request: Request
    rows: list[Row]
    cut: int = 0
    """Number of tokens cut from the prompt."""
    squeezed: int | None = None
    """The answer's token limit if the context lowered it, otherwise None."""


class TextModel:
    """A loaded text model with its tokenizer."""

    def __init__(
        self,
        model: "PreTrainedModel",
        renderer: Renderer,
        limits: Limits,
        where: str,
    ) -> None:
        self.model = model
        self.renderer = renderer
        self.limits = limits
        self.where = where
        self.engine = Engine(model, limits.rows)
        self.plain_because = why_not(self.engine)
        """Why transformers' own `generate` is used; None if the engine is used."""
        self.has_checked_writing = False
        hasten(model)
        self.plain = PlainText(model, filler_of(renderer.tokenizer))
        self.penalty = None if self.plain.is_seq2seq else model_penalty(model)
        self.answers = Answers(model, renderer.tokenizer, renderer.turn_ends())

    def prepare_likelihood(
        self, requests: Sequence[Request]
    ) -> list[tuple[Request, Planned]]:
        """Convert requests to pairs of context and continuation. No GPU is used."""
        planned = []
        for request in requests:
            plan = plan_pairs(
                self.renderer,
                request,
                self.limits.context,
                self.limits.truncate,
            )
            planned.append((request, plan))
        return planned

    def likelihood(self, prepared: Sequence[tuple[Request, Planned]]) -> list[Output]:
        """Score the continuations of all requests together."""
        return weigh_planned(prepared, lambda pairs: weigh_words(self, pairs))

    def prepare_generate(self, requests: Sequence[Request]) -> list[Output | Answering]:
        """Convert each request to rows to generate, or to a failure. No GPU is used."""
        return [self._answering(request) for request in requests]

    def check_writing(self) -> None:
        """Test whether the engine can generate with this model. Called before the first answer.

        Runs that only score do not call it.
        """
        if self.has_checked_writing:
            return
        if self.plain_because is None:
            self.plain_because = why_not_writing(self.engine)
        self.has_checked_writing = True

    def submit(self, prepared: Sequence[Output | Answering]) -> None:
        """Queue rows, so that a thread that is already generating can start them."""
        if self.plain_because is None:
            self.engine.generator.submit(_rows(prepared))

    def generate(self, prepared: Sequence[Output | Answering]) -> list[Output]:
        """Generate the answers to requests that were submitted."""
        rows = _rows(prepared)
        if rows and self.plain_because is not None:
            meter = self.engine.count.meter
            self.plain.write(rows, self.engine.rows, meter)
        elif rows:
            self.engine.generator.finish(rows)
        return [
            self._written(entry) if isinstance(entry, Answering) else entry
            for entry in prepared
        ]

    def _written(self, entry: Answering) -> Output:
        length = len(entry.rows[0].prompt)
        return self.answers.of_rows(
            entry.request,
            entry.rows,
            length,
            entry.squeezed,
            entry.cut,
        )

    def _answering(self, request: Request) -> Output | Answering:
        check_options(request.options, self.where)
        try:
            whole = self.renderer.encode(request.prompt)
        except TemplateError as error:
            return refused_prompt(error)
        if not whole:
            return Output.failed(
                "exception",
                "the prompt has no tokens",
                retryable=False,
            )
        limits = self.limits
        if len(whole) >= limits.context and limits.truncate == "refuse":
            return too_long(len(whole), limits.context)
        most = request.options.max_tokens
        size, room = fit(
            len(whole),
            limits.context,
            most,
            limits.max_tokens,
            limits.truncate,
        )
        prompt = shortened(whole, size, limits.truncate)
        stops = self.answers.stops(request.options.stop)
        rows = rows_of(prompt, request, room, stops, self.penalty)
        if most is None:
            most = limits.max_tokens
        is_squeezed = room < most
        cut = len(whole) - size
        return Answering(request, rows, cut, room if is_squeezed else None)


def _rows(prepared: Sequence[Output | Answering]) -> list[Row]:
    rows = []
    for entry in prepared:
        if isinstance(entry, Answering):
            rows += entry.rows
    return rows


def filler_of(tokenizer: "PreTrainedTokenizerBase") -> int:
    """Return the token id to use as padding: the padding token, or the end token if there is none."""
    for name in ("pad_token_id", "eos_token_id"):
        token = getattr(tokenizer, name, None)
        if token is not None:
            return int(token)
    return 0


def weigh_words(
    loaded: Any,
    pairs: Sequence[Pair],
) -> list[Likelihood]:
    """Score continuations after prompts without media."""
    if loaded.plain_because is not None:
        plain = PlainText(loaded.model, 0)
        return plain.weigh(pairs, loaded.engine.count.meter)
    likelihoods: list[Likelihood] = loaded.engine.within_memory(
        lambda: weigh(loaded.engine, pairs)
    )
    return likelihoods
