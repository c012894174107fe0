"""Models that speak: the last thing said in the prompt becomes an audio clip.

One text at a time: how long each clip of a text lasts is drawn, and a neighbour in the batch would change the draw.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Candidate, Output, Request, Usage
from ...media import audio_from
from ..answers import failure, is_out_of_memory
from ..draws import torch_draws
from .candidates import not_finite
from .engine import Counter, TokenCount
from .prompts import Renderer
from .sampling import check_options


def can_speak(config: Mapping[str, Any]) -> bool:
    """Whether a model, by its configuration, writes a waveform from text."""
    return "VitsModel" in (config.get("architectures") or ())


def writes_and_speaks(config: Mapping[str, Any]) -> bool:
    """Whether a model, by its configuration, has a part that writes and may have one that says what was written."""
    return config.get("model_type") == "qwen2_5_omni" and "thinker_config" in config


Saying = tuple[Request, dict[str, Any]]
"""A request with its text as token ids."""


class VoiceModel:
    """A model from text to a waveform."""

    def __init__(self, model: Any, renderer: Renderer, where: str) -> None:
        self.model = model
        self.renderer = renderer
        self.where = where
        self.engine = Counter(TokenCount(model))

    def prepare_generate(self, requests: Sequence[Request]) -> list[Saying | Output]:
        """Texts as token ids: everything that needs no device."""
        return [self._saying(request) for request in requests]

    def _saying(self, request: Request) -> Saying | Output:
        check_options(request.options, self.where, reports=False)
        texts = [
            message.text
            for message in request.prompt.messages
            if message.parts is not None
        ]
        inputs = dict(
            self.renderer.tokenizer(texts[-1] if texts else "", return_tensors="pt")
        )
        if inputs["input_ids"].numel() == 0:
            return Output.failed(
                "exception",
                "the prompt holds nothing this model can say",
                retryable=False,
            )
        return request, inputs

    def generate(self, prepared: Sequence[Saying | Output]) -> list[Output]:
        """`n` audio clips for each text, each drawn with a seed of its own."""
        outputs = []
        for saying in prepared:
            outputs.append(
                saying if isinstance(saying, Output) else self._said(*saying)
            )
            self.engine.count.meter.advance(1 / len(prepared))
        return outputs

    def _said(self, request: Request, tensors: Mapping[str, Any]) -> Output:
        import torch

        inputs = {name: value.to(self.model.device) for name, value in tensors.items()}
        length = int(inputs["input_ids"].shape[1])
        candidates = []
        try:
            for index in range(request.options.n):
                with torch.inference_mode(), torch_draws(request, index):
                    waveform = self.model(**inputs).waveform[0].float().cpu()
                if not bool(waveform.isfinite().all()):
                    return not_finite(
                        "the model computed a waveform that is not finite"
                    )
                audio = audio_from(
                    waveform.numpy(), int(self.model.config.sampling_rate)
                )
                candidates.append(Candidate((audio,), "stop"))
        except Exception as error:  # what a model's own code makes of one text is that sample's failure
            if is_out_of_memory(error):
                raise
            return failure(error, self.where)
        return Output(tuple(candidates), usage=Usage(length, None))
