"""Text-to-speech models, which convert the text of a prompt to an audio clip.

Texts are processed one at a time, because durations are sampled, and another text in
the batch would change them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Candidate, Output, Request, Usage
from ...media import audio_from
from ..answers import failure, is_out_of_memory
from ..draws import torch_draws
from ..prompting.renderer import Renderer
from ..prompting.weighing import not_finite
from .engine import Counter, TokenCount
from .sampling import check_options

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def can_speak(config: Mapping[str, Any]) -> bool:
    """Return True for the configuration of a text-to-speech model (VITS)."""
    return "VitsModel" in (config.get("architectures") or ())


def writes_and_speaks(config: Mapping[str, Any]) -> bool:
    """Return True for the configuration of a model that writes and speaks (Qwen2.5-Omni)."""
    return config.get("model_type") == "qwen2_5_omni" and "thinker_config" in config


Prepared = tuple[Request, dict[str, Any]]
"""A request, and the token ids of its text as tensors."""


class VoiceModel:
    """A text-to-speech model that generates waveforms."""

    def __init__(
        self,
        model: "PreTrainedModel",
        renderer: Renderer,
        where: str,
    ) -> None:
        self.model = model
        self.renderer = renderer
        self.where = where
        self.engine = Counter(TokenCount(model))

    def prepare_generate(self, requests: Sequence[Request]) -> list[Prepared | Output]:
        """Convert the text of each request to token ids. No GPU is used."""
        return [self._prepared(request) for request in requests]

    def _prepared(self, request: Request) -> Prepared | Output:
        """Tokenize the text of a request. Return a failure if the prompt has no text or several."""
        check_options(request.options, self.where, reports=False)
        texts = []
        for message in request.prompt.messages:
            if message.parts is not None and message.text.strip():
                texts.append(message.text)
        if len(texts) > 1:
            fault = f"the model takes one text, and the prompt has {len(texts)} turns"
            return Output.failed("data", fault, retryable=False)
        text = texts[0] if texts else ""
        inputs = dict(self.renderer.tokenizer(text, return_tensors="pt"))
        if inputs["input_ids"].numel() == 0:
            return Output.failed(
                "exception",
                "the prompt holds nothing this model can say",
                retryable=False,
            )
        return request, inputs

    def generate(self, prepared: Sequence[Prepared | Output]) -> list[Output]:
        """Generate `n` audio clips for each text, each clip with its own seed."""
        outputs = []
        for entry in prepared:
            if isinstance(entry, Output):
                outputs.append(entry)
            else:
                outputs.append(self._speak(*entry))
            self.engine.count.meter.advance(1 / len(prepared))
        return outputs

    def _speak(
        self,
        request: Request,
        tensors: Mapping[str, Any],
    ) -> Output:
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
        except Exception as error:  # fails only this sample
            if is_out_of_memory(error):
                raise
            return failure(error, self.where)
        return Output(tuple(candidates), usage=Usage(length, None))
