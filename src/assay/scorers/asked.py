"""A specialist asked about an output, and its answer scored: detections, yes/no answers, recognised text, a rating.

The specialist is *given* under the role the scorer names, and is shown the output's image or audio. Its reply becomes
the saved entry that the inner scorer reads, so that the arithmetic is the same as for entries saved in a file.
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
    Sample,
    Score,
    Spec,
    Text,
    UsageError,
    Video,
    as_score,
)
from ..registry import scorers
from .answers import no_verdict
from .given_models import GivenModels, ask_model
from .options import check_option
from .saved import read_json
from .wrapping import LikeInner


@scorers.register("asked")
@dataclass(frozen=True)
class Asked(GivenModels, LikeInner):
    """The inner scorer's verdict on what the specialist said of the output."""

    role: str
    """Who is asked: `--judge detector=MODEL`."""
    entry: str
    """The name under which the inner scorer looks for the reply: `detections`, `answers`, `recognised`, `rating`."""
    scorer: Any
    """The inner scorer: a name, a name with options, or the thing itself."""
    request: Callable[[Sample], str] | str = ""
    """What is said beside the medium: a text, or a function of the sample that gives one."""
    expects: str = "image"
    """The kind of medium the output must have."""
    name: str = "asked"
    """What the metric is called: the inner scorer's name, as a rule."""
    wants: str = "json"
    """`json` asks for a structured reply, `text` takes it as it is written, `lines` takes the lines of it."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The medium that the specialist is shown."""
        return (self.expects,)

    def __post_init__(self) -> None:
        check_option("asked", "wants", self.wants, ("json", "text", "lines"))
        if isinstance(self.scorer, (str, Mapping, Spec)):
            built = scorers.build(
                Spec.of(self.scorer, where="scorer 'asked'"), where="scorer 'asked'"
            )
            object.__setattr__(self, "scorer", built)
        if not callable(self.scorer) or inspect.iscoroutinefunction(
            getattr(self.scorer, "__call__", None)
        ):  # noqa: B004
            raise UsageError(
                "scorer 'asked' needs an inner scorer that answers at once",
                fix="as scorer: OcrText()",
            )

    @property
    def needs(self) -> tuple[str, ...]:
        """The one role."""
        return (self.role,)

    @property
    def summarizers(self) -> tuple[Any, ...]:
        """Those of the inner scorer."""
        return tuple(getattr(self.scorer, "summarizers", ("mean",)))

    async def __call__(self, sample: Sample, output: Output) -> Score:
        medium = next((one for one in output.media if one.kind == self.expects), None)
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
        # What the model wrote beside the image must not pass for the specialist's words.
        score = as_score(self.scorer(sample, only_media(with_reply)))
        return replace(
            score, details={**score.details, "shown": medium.digest, self.entry: reply}
        )

    async def _reply(self, sample: Sample, medium: Any) -> Any:
        text = self.request(sample) if callable(self.request) else self.request
        parts: tuple[Part, ...] = (medium, Text(text)) if text else (medium,)
        reply = await ask_specialist(
            self.models, self.role, parts, "json" if self.wants == "json" else "text"
        )
        if self.wants != "json":
            return reply.text if self.wants == "text" else reply.text.splitlines()
        found = structure_of(reply)
        return (
            found[self.entry]
            if isinstance(found, Mapping) and self.entry in found
            else found
        )


async def ask_specialist(
    models: Mapping[str, Any],
    role: str,
    parts: tuple[Part, ...],
    produces: str = "json",
) -> Output:
    """What the model under a role replies to some parts; `ModelError` where it gives no answer."""
    prompt = Prompt((Message("user", parts),), produces=(produces,))
    return await ask_model(models, role, prompt, GenerateOptions(temperature=0.0))


def structure_of(reply: Output) -> Any:
    """The structure of a reply, or what its text says as JSON."""
    return reply.json if reply.json is not None else read_json(reply.text)


def only_media(output: Output) -> Output:
    """The output with nothing but its media: neither text nor structure of the model's own."""
    kinds = (Image, Audio, Video)
    candidates = (
        replace(one, parts=tuple(p for p in one.parts if isinstance(p, kinds)))
        for one in output.candidates
    )
    return replace(output, candidates=tuple(candidates))
