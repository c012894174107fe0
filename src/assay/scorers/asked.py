"""The scorer `asked`, which sends an output to a specialist and scores the reply with another scorer.

A specialist is a helper model such as an object detector or a speech recogniser. The
scorer names a role, the run provides the model for this role, and the model gets the
output's image or audio. The inner scorer then reads the model's reply as it would read
a reply saved in a file.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core import (
    Audio,
    GenerateOptions,
    Image,
    Message,
    ModelError,
    Outcome,
    Output,
    Part,
    Prompt,
    Requirement,
    Sample,
    Score,
    Spec,
    Text,
    UsageError,
    Video,
    as_score,
)
from ..core.score import SHARE, Bounds
from ..registry import scorers
from .answers import no_verdict
from .given_models import GivenModels, ask_model
from .saved_media import read_json
from .scorer_options import check_option


class LikeInner:
    """Mixin for a scorer that wraps the scorer in its field `scorer`: bounds and
    direction are those of the inner scorer.
    """

    scorer: Any

    @property
    def bounds(self) -> Bounds | Mapping[str, Bounds]:
        """The bounds of the inner scorer."""
        bounds: Bounds | Mapping[str, Bounds] = getattr(self.scorer, "bounds", SHARE)
        return bounds

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """The requirements of the inner scorer."""
        return tuple(getattr(self.scorer, "requires", ()))

    @property
    def measures_transcripts(self) -> bool:
        """True if the inner scorer compares transcripts with references."""
        return bool(getattr(self.scorer, "measures_transcripts", False))

    @property
    def higher_is_better(self) -> bool | Mapping[str, bool]:
        """True if higher values of the inner scorer are better; by metric if it has several."""
        return getattr(self.scorer, "higher_is_better", True)


@scorers.register("asked")
@dataclass(frozen=True)
class Asked(GivenModels, LikeInner):
    """Send the output to a specialist, and score its reply with an inner scorer."""

    role: str
    """The role of the specialist: `--judge detector=MODEL`."""
    entry: str
    """The key under which the reply is passed to the inner scorer: `detections`,
    `answers`, `recognised` or `rating`.
    """
    scorer: Any
    """The inner scorer: its name, its name with options, or a scorer object."""
    request: Callable[[Sample], str] | str = ""
    """The text sent with the image or audio, or a function that returns it for a sample."""
    expects: str = "image"
    """The type of medium that the output must have: an image or audio."""
    name: str = "asked"
    """The name of the metric, usually that of the inner scorer."""
    wants: str = "json"
    """How the reply is passed on: `json` as parsed JSON, `text` as text, `lines` as a list of its lines."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The kind of medium that is sent to the specialist."""
        return (self.expects,)

    def __post_init__(self) -> None:
        check_option("asked", "wants", self.wants, ("json", "text", "lines"))
        if isinstance(self.scorer, (str, Mapping, Spec)):
            built = scorers.build(
                Spec.of(self.scorer, where="scorer 'asked'"), where="scorer 'asked'"
            )
            object.__setattr__(self, "scorer", built)
        call = getattr(self.scorer, "__call__", None)  # noqa: B004
        if not callable(self.scorer) or inspect.iscoroutinefunction(call):
            raise UsageError(
                "scorer 'asked' needs an inner scorer that is not asynchronous",
                fix="for example scorer: OcrText()",
            )

    @property
    def needs(self) -> tuple[str, ...]:
        """The role of the specialist."""
        return (self.role,)

    @property
    def summarizers(self) -> tuple[Any, ...]:
        """The summarizers of the inner scorer."""
        return tuple(getattr(self.scorer, "summarizers", ("mean",)))

    async def __call__(self, sample: Sample, output: Output) -> Score:
        medium = next(
            (
                item
                for item in output.media
                if isinstance(item, (Image, Audio, Video)) and item.kind == self.expects
            ),
            None,
        )
        if medium is None:
            return Score(
                0.0,
                Outcome.UNPARSED,
                details={"reason": f"no {self.expects} in the output"},
            )
        try:
            reply = await self._reply(sample, medium)
        except ModelError as error:
            return no_verdict(str(error), shown=medium.digest)
        with_reply = replace(output, details={**output.details, self.entry: reply})
        # Remove the model's text next to the image, which must not be read as the specialist's reply.
        score = as_score(self.scorer(sample, only_media(with_reply)))
        return replace(
            score, details={**score.details, "shown": medium.digest, self.entry: reply}
        )

    async def _reply(
        self,
        sample: Sample,
        medium: Image | Audio | Video,
    ) -> object:
        """Return the specialist's reply in the form that `wants` selects: a structure, a text or a list of lines."""
        if callable(self.request):
            text = self.request(sample)
        else:
            text = self.request
        parts: tuple[Part, ...] = (medium, Text(text)) if text else (medium,)
        reply = await ask_specialist(
            self.models,
            self.role,
            parts,
            "json" if self.wants == "json" else "text",
        )
        if self.wants != "json":
            if self.wants == "text":
                return reply.text
            return reply.text.splitlines()
        structure = structure_of(reply)
        if isinstance(structure, Mapping) and self.entry in structure:
            return structure[self.entry]
        return structure


async def ask_specialist(
    models: Mapping[str, Any],
    role: str,
    parts: tuple[Part, ...],
    produces: str = "json",
) -> Output:
    """Send text and media to the model with a role, and return its reply. Raise `ModelError` if there is none."""
    prompt = Prompt((Message("user", parts),), produces=(produces,))
    return await ask_model(models, role, prompt, GenerateOptions(temperature=0.0))


def structure_of(reply: Output) -> object:
    """Return the JSON of a specialist's reply: its structured output, or its text parsed as JSON."""
    if reply.json is not None:
        return reply.json
    return read_json(reply.text)


def only_media(output: Output) -> Output:
    """Return a copy of the output that has only images, audio and videos."""
    kinds = (Image, Audio, Video)
    candidates = (
        replace(
            candidate, parts=tuple(p for p in candidate.parts if isinstance(p, kinds))
        )
        for candidate in output.candidates
    )
    return replace(output, candidates=tuple(candidates))
