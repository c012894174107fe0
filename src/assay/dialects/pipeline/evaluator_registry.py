"""The module `evaluator_registry` of rwkv-benchmark: user files register evaluators in it by name."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ..protocol import is_upstream
from ..shapes import Function
from . import builtin
from . import pipeline_checkout as checkout
from . import pipeline_prompts as prompts

Evaluator = Function


@dataclass
class EvaluatorConfig:
    """A registered evaluator: its function, its description and the names of its metrics."""

    name: str
    evaluator: Evaluator
    description: str = ""
    metrics: Sequence[str] = field(default_factory=list)


class EvaluatorRegistry:
    """Evaluators by name; a later registration replaces an earlier one."""

    _registry: ClassVar[dict[str, EvaluatorConfig]] = {}

    @classmethod
    def register(
        cls,
        name: str,
        evaluator: Evaluator,
        description: str = "",
        metrics: Sequence[str] | None = None,
    ) -> None:
        """Register an evaluator."""
        cls._registry[name] = EvaluatorConfig(
            name,
            evaluator,
            description,
            list(metrics or ()),
        )

    @classmethod
    def get(cls, name: str) -> EvaluatorConfig | None:
        """Return the evaluator registered under a name, or None.

        `NAME@upstream` is the variant of a shipped evaluator with upstream's rules. If
        upstream's rules were chosen, `NAME` means the same.
        """
        config = cls._registry.get(name) or AS_UPSTREAM.get(name)
        if (
            config is None
            or config is not _shipped.get(name)
            or not is_upstream("pipeline")
        ):
            return config
        form = AS_UPSTREAM.get(f"{name}@upstream", config)
        return replace(
            config,
            evaluator=form.evaluator,
            **checkout.registered_texts("evaluator", name),
        )

    @classmethod
    def list_evaluators(cls) -> list[str]:
        """Return the names of all evaluators, in the order of their registration."""
        return list(cls._registry)

    @classmethod
    def evaluate(
        cls,
        name: str,
        engine: object,
        data: Any,
        **kwargs: object,
    ) -> Any:
        """Run an evaluator with an engine on some rows, and return its result.

        The number of rows that could not be loaded is repeated in a warning, since the
        result does not include them.
        """
        config = cls.get(name)
        if config is None:
            raise ValueError(
                f"Evaluator {name!r} is not registered. Available: {cls.list_evaluators()}"
            )
        metrics = config.evaluator(engine, data, **kwargs)
        left_out = getattr(data, "left_out", 0)
        if not left_out or not isinstance(metrics, Mapping):
            return metrics
        rows = f"{left_out} of {len(data) + left_out} rows"
        warnings.warn(
            f"{name}: the numbers leave out {rows}, which could not be loaded (`left_out`)",
            stacklevel=2,
        )
        return {**metrics, "left_out": left_out}


_CORRECT = ("accuracy", "correct", "total")
_BY_SUBJECT = (*_CORRECT, "subject_accuracies", "num_subjects")
_LENGTHS = ("total_samples", "total_tokens", "throughput", "avg_length")
_LIKELY = ("perplexity", "accuracy", "total")

for _name, _evaluator, _description, _metrics in (
    ("exact_match", builtin.exact_match, "the answer is the reference", _CORRECT),
    ("perplexity", builtin.perplexity, "how probable a target is", _LIKELY),
    ("generation", builtin.generation, "texts, their lengths, the speed", _LENGTHS),
    ("mmlu_pro", prompts.evaluate, "the chosen letter, by subject", _BY_SUBJECT),
):
    EvaluatorRegistry.register(_name, _evaluator, _description, _metrics)
_shipped = dict(EvaluatorRegistry._registry)

AS_UPSTREAM = {
    "mmlu_pro@upstream": EvaluatorConfig(
        "mmlu_pro@upstream",
        prompts.evaluate_as_upstream,
        "the first letter anywhere",
        _BY_SUBJECT,
    ),
    "perplexity@upstream": EvaluatorConfig(
        "perplexity@upstream",
        builtin.perplexity_as_upstream,
        "any `text` is LAMBADA, no target is right",
        _LIKELY,
    ),
}
"""Variants of shipped evaluators that follow upstream's rules. They can be used by name but are not listed."""
