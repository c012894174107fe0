"""`src.models.base`: what a user's model class is built on."""

from typing import Any

from ....protocol import is_upstream
from ...inference_mode import without_gradients


class Model:
    """A model with `generate_once` for single questions and `generate_multiturn` for dialogues.

    Both return `{"pred": text, "pred_audio": path, "cache": state, "his": history}`, of which only `pred` is required.
    """

    mono_only: bool = True
    """Whether it hears one channel only; an audio clip with more is mixed down before it is asked."""
    inputs_sr: int = 16000
    """The sampling rate it expects; other audio clips are resampled before it is asked."""

    def __init__(self, sample_params: dict[str, Any] | None = None) -> None:
        self.sample_params = {} if sample_params is None else sample_params
        self.mono_only = True
        self.inputs_sr = 16000

    def generate_once(self, audio: str | None, **kwargs: Any) -> dict[str, Any]:
        """The answer to one question."""
        raise NotImplementedError(
            f"{type(self).__name__} has no generate_once, so it cannot do single-turn tasks"
        )

    def generate_multiturn(
        self,
        audio: str | None,
        user_history: list[Any],
        assistant_history: list[Any],
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The answer of one round of a dialogue."""
        raise NotImplementedError(
            f"{type(self).__name__} has no generate_multiturn, so it cannot do dialogues"
        )

    def inference(self, inputs: Any, **kwargs: Any) -> Any:
        """Answers what a template rendered: one structure, or a list of them, each with its share of the options."""
        from ...calling import converse
        from ...upstream_calling import converse_as_upstream

        ask = converse_as_upstream if is_upstream("televal") else converse
        with without_gradients():
            if not isinstance(inputs, list) or (
                _is_roles(inputs) and not is_upstream("televal")
            ):
                return ask(self, inputs, kwargs)
            return [
                ask(self, entry, self._split_kwargs(kwargs, place))
                for place, entry in enumerate(inputs)
            ]

    def _split_kwargs(self, kwargs: dict[str, Any], idx: int) -> dict[str, Any]:
        """The options of one input of a batch: of a list its place, of everything else the thing itself."""
        for name, value in kwargs.items():
            if isinstance(value, list) and idx >= len(value):
                raise IndexError(
                    f"{name!r} has {len(value)} entries, fewer than there are inputs"
                )
        return {
            name: value[idx] if isinstance(value, list) else value
            for name, value in kwargs.items()
        }

    def _process_inputs(self, input_data: Any) -> dict[str, Any]:
        """What a template rendered, taken apart, each audio clip checked."""
        from ...upstream_calling import taken_apart

        return taken_apart(self, input_data)


def _is_roles(inputs: list[Any]) -> bool:
    """Whether a list is one question, its roles side by side, and not a batch."""
    return any(
        not isinstance(entry, (list, dict)) or "role" in entry for entry in inputs
    )
