"""Templates: turn a sample into the prompt for a model."""

from .build import Variants, build_template
from .built import BuiltTemplate, as_prompt
from .choices import LAYOUTS, Choices
from .dialogue import Dialogue, has_rounds, rounds
from .fewshot import FewshotTemplate, apply_fewshot
from .likelihood import ChoiceLikelihood, LikelihoodOf, Rolling
from .plain import Completion, Question
from .wrap import ChainOfThought, WithoutChat

__all__ = [
    "LAYOUTS",
    "BuiltTemplate",
    "ChainOfThought",
    "ChoiceLikelihood",
    "Choices",
    "Completion",
    "Dialogue",
    "FewshotTemplate",
    "LikelihoodOf",
    "Question",
    "Rolling",
    "Variants",
    "WithoutChat",
    "apply_fewshot",
    "as_prompt",
    "build_template",
    "has_rounds",
    "rounds",
]
