"""Models that generate text and speech, as two parts of one candidate (Qwen2.5-Omni).

One part of the model generates text, like any model with media input. Another part
converts the text to speech, only if the request asks for audio. Speech is sampled with
a seed of its own.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Candidate, Output, Request
from ...media import audio_from
from ..prompting.fitting import Limits
from ..prompting.weighing import not_finite
from .candidates import Drawn
from .media_batches import length_of
from .media_models import MediaModel, Prepared
from .media_prompts import move_to_model
from .media_settings import NotFinite, Penalties, finite_only
from .sampling import is_greedy

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OF_VOICE = ("speaker", "talker_", "token2wav_")
RATE = 24000
"""Sampling rate of the generated speech; the model's configuration does not contain it."""


class TalkingModel(MediaModel):
    """A model that takes text, images and audio clips, generates text, and can speak it."""

    def __init__(
        self,
        model: "PreTrainedModel",
        renderer: Any,
        limits: Limits,
        where: str,
        settings: Mapping[str, Any],
    ) -> None:
        self.whole = model
        self.voice = {
            name: value for name, value in settings.items() if name.startswith(OF_VOICE)
        }
        """The settings of the part of the model that speaks."""
        further = {
            name: value for name, value in settings.items() if name not in self.voice
        }
        super().__init__(model.thinker, renderer, limits, where, further)

    def _shares_writing(self, request: Request) -> bool:
        """Return True if the engine can generate the answer: greedy text without speech.

        Other answers need the model's own `generate`.
        """
        is_silent = "audio" not in request.prompt.produces
        return (
            is_silent
            and is_greedy(request.options)
            and super()._shares_writing(request)
        )

    def _answered(
        self,
        group: Sequence[int],
        prepared: Prepared,
    ) -> dict[int, Output]:
        """Answer requests for speech one by one, and the others together."""
        outputs = {}
        silent = []
        for index in group:
            request = prepared.requests[index]
            if "audio" in request.prompt.produces:
                outputs[index] = self._speak(request, prepared.inputs[index])
            else:
                silent.append(index)
        if silent:
            outputs |= super()._answered(silent, prepared)
        return outputs

    def _speak(
        self,
        request: Request,
        inputs: Mapping[str, Any],
    ) -> Output:
        # The speech part needs the sizes of images and videos, but not their pixels.
        arguments = {
            f"thinker_{name}" if name.startswith("pixel_values") else name: value
            for name, value in move_to_model(inputs, self.model).items()
        }
        length = length_of(inputs)
        candidates = []
        for index in range(request.options.n):
            try:
                with self.plain.drawing(request, index), finite_only(self.whole.talker):
                    ids, audio = self.whole.generate(
                        **arguments,
                        **self._spoken_settings(request, length),
                    )
            except NotFinite as error:
                return not_finite(str(error))
            except (RuntimeError, ValueError):
                # The speech part fails on an answer of one token, usually the end token.
                [answer] = self.plain.draw(
                    move_to_model(inputs, self.model), request, index
                )
                if len(answer.ids) > 1:
                    raise
                candidates.append(self.answers.candidate(request, answer))
                continue
            if not bool(audio.isfinite().all()):
                return not_finite("the model computed a waveform that is not finite")
            stops = request.options.stop
            own_ids = self.answers.own(ids[0].tolist(), length, stops)
            prompt = inputs["input_ids"][0].tolist()
            text = self.answers.candidate(request, Drawn(own_ids, prompt=prompt))
            waveform = audio_from(audio.float().cpu().numpy(), RATE)
            candidates.append(
                Candidate((*text.parts, waveform), text.stop_reason, (), text.token_ids)
            )
        return self.answers.output(
            request,
            candidates,
            length,
            self.plain.squeezed(request, length),
        )

    def _spoken_settings(self, request: Request, length: int) -> dict[str, Any]:
        """Return `generate` arguments for both parts of the model: text generation and speech."""
        talker = self.whole.config.talker_config
        ends = [talker.tts_codec_pad_token_id, talker.tts_codec_end_token_id]
        settings = self.plain.settings_for(request, length, Penalties(request.options))
        thinker_settings = {
            f"thinker_{name}": value for name, value in settings.items()
        }
        return {
            "generation_mode": "audio",
            "talker_eos_token_id": ends,
            **thinker_settings,
            **self.voice,
        }
