"""`src.models.base`: what a user's model class is built on."""

from typing import Any


class Model:
    """A model with `generate_once` for single questions and `generate_multiturn` for dialogues.

    Both return `{"pred": text, "pred_audio": path, "cache": state, "his": history}`, of which only `pred` is required.
    """

    mono_only: bool = True
    """Whether it hears one channel only; a sound with more is mixed down before it is asked."""
    inputs_sr: int = 16000
    """The sampling rate it expects; other sounds are resampled before it is asked."""

    def __init__(self, sample_params: dict[str, Any] | None = None) -> None:
        self.sample_params = sample_params or {}
        self.mono_only = True
        self.inputs_sr = 16000

    def generate_once(self, audio: str | None, **kwargs: Any) -> dict[str, Any]:
        """The answer to one question."""
        raise NotImplementedError(f"{type(self).__name__} has no generate_once, so it cannot do single-turn tasks")

    def generate_multiturn(
        self, audio: str | None, user_history: list[Any], assistant_history: list[Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The answer of one round of a dialogue."""
        raise NotImplementedError(f"{type(self).__name__} has no generate_multiturn, so it cannot do dialogues")

    def inference(self, inputs: Any, **kwargs: Any) -> Any:
        """Answers what a template rendered: one structure, or a list of them, each with its share of the options."""
        from ...calling import converse

        if not (
            isinstance(inputs, list)
            and all(isinstance(entry, (list, dict)) and "role" not in entry for entry in inputs)
        ):
            return converse(self, inputs, kwargs)
        return [
            converse(self, entry, {name: v[place] if isinstance(v, list) else v for name, v in kwargs.items()})
            for place, entry in enumerate(inputs)
        ]
