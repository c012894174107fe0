"""`batch_engine`: the engine by itself, outside a run; what it is asked is not kept."""

from typing import Any

from ....core import GenerateOptions
from ....models import adapt_model, build_model
from ..direct import Direct
from ..engine import Engine, as_turn
from ..launch import model_name

__all__ = ["RWKVInferenceEngine"]


class RWKVInferenceEngine(Engine):
    """Any model of assay behind the engine's methods; it loads when it is first asked."""

    def __init__(
        self,
        model_path: Any,
        vocab_path: str | None = None,
        vocab_size: int = 65536,
        head_size: int = 64,
        seed: int = 42,
    ) -> None:
        model = (
            build_model(model_name(model_path))
            if isinstance(model_path, str)
            else adapt_model(model_path)
        )
        super().__init__(
            Direct(model), options=GenerateOptions(seed=seed), render=_render
        )


def _render(sample: Any) -> Any:
    from ....templates import as_prompt

    return as_prompt(as_turn(sample))
