"""Text to speech: the last words of the prompt become an audio clip.

Texts are spoken one at a time, because durations are sampled and another text in the batch would change them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Candidate, Output, Request, Usage
from ...media import audio_from
from ..answers import failure, is_out_of_memory
from ..draws import torch_draws
from ..prompting.renderer import Renderer
from ..prompting.weighing import not_finite
from .engine import Counter, TokenCount
from .sampling import check_options


def can_speak(config: Mapping[str, Any]) -> bool:
    """Return True if the configuration is that of a text-to-waveform model."""
    return "VitsModel" in (config.get("architectures") or ())


def writes_and_speaks(config: Mapping[str, Any]) -> bool:
    """Return True if the configuration has a language model, and possibly a part that speaks its answer."""
    return config.get("model_type") == "qwen2_5_omni" and "thinker_config" in config


Saying = tuple[Request, dict[str, Any]]
"""A request with its text as token ids."""


class VoiceModel:
    """A text-to-waveform model."""

    def __init__(self, model: Any, renderer: Renderer, where: str) -> None:
        self.model = model
        self.renderer = renderer
        self.where = where
        self.engine = Counter(TokenCount(model))

    def prepare_generate(self, requests: Sequence[Request]) -> list[Saying | Output]:
        """Convert texts to token ids. No device is needed."""
        return [self._saying(request) for request in requests]

    def _saying(self, request: Request) -> Saying | Output:
        check_options(request.options, self.where, reports=False)
        texts = [
            message.text
            for message in request.prompt.messages
            if message.parts is not None and message.text.strip()
        ]
        if len(texts) > 1:
            message = f"the model takes one text, and the prompt has {len(texts)} turns"
            return Output.failed("data", message, retryable=False)
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
        """Make `n` audio clips for each text, each with its own seed."""
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
