"""`evaluator_registry`: functions that drive a model and return numbers, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ... import builtin, mmlu_pro

Evaluator = Callable[..., Any]


@dataclass(frozen=True)
class EvaluatorConfig:
    """What was registered under a name."""

    name: str
    evaluator: Evaluator
    description: str = ""
    metrics: Sequence[str] = field(default_factory=list)


class EvaluatorRegistry:
    """Evaluators by name; a later registration replaces an earlier one."""

    _registry: ClassVar[dict[str, EvaluatorConfig]] = {}

    @classmethod
    def register(
        cls, name: str, evaluator: Evaluator, description: str = "", metrics: Sequence[str] | None = None
    ) -> None:
        """Makes an evaluator known."""
        cls._registry[name] = EvaluatorConfig(name, evaluator, description, list(metrics or ()))

    @classmethod
    def get(cls, name: str) -> EvaluatorConfig | None:
        """What was registered under a name; `None` if nothing was."""
        return cls._registry.get(name)

    @classmethod
    def list_evaluators(cls) -> list[str]:
        """All names, in the order of their registration."""
        return list(cls._registry)

    @classmethod
    def evaluate(cls, name: str, engine: Any, data: Any, **kwargs: Any) -> Any:
        """What the evaluator of that name says of a model on some rows."""
        config = cls.get(name)
        if config is None:
            raise ValueError(f"Evaluator {name!r} is not registered. Available: {cls.list_evaluators()}")
        return config.evaluator(engine, data, **kwargs)


_LETTERS = ("accuracy", "correct", "total", "subject_accuracies", "num_subjects")
_LENGTHS = ("total_samples", "total_tokens", "total_time", "throughput", "avg_length", "forward_tps", "full_tps")

for _config in (
    EvaluatorConfig("exact_match", builtin.exact_match, "the answer is the reference", _LETTERS[:3]),
    EvaluatorConfig("perplexity", builtin.perplexity, "how probable a target is", ("perplexity", "accuracy", "total")),
    EvaluatorConfig("generation", builtin.generation, "texts, their lengths, the speed", _LENGTHS),
    EvaluatorConfig("mmlu_pro", mmlu_pro.evaluate, "the chosen letter, by subject", _LETTERS),
    EvaluatorConfig("mmlu_pro@upstream", mmlu_pro.evaluate_as_upstream, "the first letter anywhere", _LETTERS),
    EvaluatorConfig(
        "perplexity@upstream",
        builtin.perplexity_as_upstream,
        "any `text` is LAMBADA, no target is right",
        ("perplexity", "accuracy", "total"),
    ),
):
    EvaluatorRegistry.register(_config.name, _config.evaluator, _config.description, _config.metrics)
