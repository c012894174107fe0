"""Models that speak: the last thing said in the prompt becomes an audio clip.

One text at a time: how long each clip of a text lasts is drawn, and a neighbour in the batch would change the draw.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Candidate, Output, Request, Usage
from ...media import audio_from
from ..answers import failure
from ..draws import torch_draws
from .engine import TokenCount
from .sampling import check_options


def can_speak(config: Mapping[str, Any]) -> bool:
    """Whether a model, by its configuration, writes a waveform from text."""
    return "VitsModel" in (config.get("architectures") or ())


def writes_and_speaks(config: Mapping[str, Any]) -> bool:
    """Whether a model, by its configuration, has a part that writes and may have one that says what was written."""
    return config.get("model_type") == "qwen2_5_omni" and "thinker_config" in config


@dataclass(frozen=True, slots=True)
class Saying:
    """A request with its text as token ids, or why it has none."""

    request: Request
    inputs: dict[str, Any]
    failed: Output | None = None


@dataclass(frozen=True, slots=True)
class _Counter:
    count: TokenCount


class VoiceModel:
    """A model from text to a waveform."""

    def __init__(self, model: Any, tokenizer: Any, where: str) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.where = where
        self.engine = _Counter(TokenCount(model))

    def prepare_generate(self, requests: Sequence[Request]) -> list[Saying]:
        """Texts as token ids: everything that needs no device."""
        return [self._saying(request) for request in requests]

    def _saying(self, request: Request) -> Saying:
        check_options(request.options, self.where, reports=False)
        said = [message.text for message in request.prompt.messages if message.parts is not None]
        inputs = dict(self.tokenizer(said[-1] if said else "", return_tensors="pt"))
        if inputs["input_ids"].numel() == 0:
            nothing = "the prompt holds nothing this model can say"
            return Saying(request, {}, Output.failed("exception", nothing, retryable=False))
        return Saying(request, inputs)

    def generate(self, made: Sequence[Saying]) -> list[Output]:
        """`n` audio clips for each text, each drawn with a seed of its own."""
        outputs = []
        for saying in made:
            outputs.append(saying.failed or self._said(saying))
            self.engine.count.meter.advance(1 / len(made))
        return outputs

    def _said(self, saying: Saying) -> Output:
        import torch

        request = saying.request
        inputs = {name: value.to(self.model.device) for name, value in saying.inputs.items()}
        length = int(inputs["input_ids"].shape[1])
        candidates = []
        try:
            for index in range(request.options.n):
                with torch.inference_mode(), torch_draws(request, index):
                    waveform = self.model(**inputs).waveform[0].float().cpu()
                if not bool(waveform.isfinite().all()):
                    what = "the model computed a waveform that is not finite"
                    return Output.failed("non_finite", what, retryable=False)
                audio = audio_from(waveform.numpy(), int(self.model.config.sampling_rate))
                candidates.append(Candidate((audio,), "stop"))
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - what a model's own code makes of one text is that sample's failure
            return failure(error, self.where)
        return Output(tuple(candidates), usage=Usage(length, None))
