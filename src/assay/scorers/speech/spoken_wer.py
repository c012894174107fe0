"""Spoken WER: is synthetic speech understood? What a recogniser hears in it, against what was to be said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...core import EMPTY, Output, Requirement, Sample, Score, Spec
from ...registry import scorers
from ..answers import accepted, no_target
from .heard import heard_rate
from .speech_normalize import REQUIRES, check_normalizer
from .wer import WordErrorRate, pooled_rates


@scorers.register("spoken_wer")
@dataclass(frozen=True)
class SpokenWer:
    """Word error rate of a transcript of the output's speech against the target."""

    normalize: str = "none"
    instruction: str = ""
    """What the recogniser is told beside the audio, where it needs telling."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    reads: ClassVar[tuple[str, ...]] = ("audio",)
    needs: ClassVar[tuple[str, ...]] = ("asr",)
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        check_normalizer(self.normalize, "spoken_wer")

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """The libraries of the normalizer."""
        return REQUIRES.get(self.normalize, ())

    @property
    def metric(self) -> str:
        """The name that stands beside the number."""
        return f"spoken_wer[{self.normalize}]"

    @property
    def summarizers(self) -> tuple[Spec, ...]:
        """As those of an error rate."""
        return pooled_rates(self.metric)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        rate = WordErrorRate(self.normalize)
        return await heard_rate(rate, references, output, self.models, self.instruction, self.metric)
