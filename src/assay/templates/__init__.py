"""Templates: from a sample to the prompt a model is given."""

from .build import build_template
from .built import BuiltTemplate, as_prompt, rename_roles, with_system
from .choices import LAYOUTS, Choices
from .dialogue import Dialogue, has_rounds, rounds, with_reply
from .fewshot import FewshotTemplate, ShotPool, apply_fewshot
from .jinja import JinjaMessages, JinjaText
from .likelihood import ChoiceLikelihood, LikelihoodOf, Rolling
from .plain import Completion, Question
from .variants import Variants
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
    "JinjaMessages",
    "JinjaText",
    "LikelihoodOf",
    "Question",
    "Rolling",
    "ShotPool",
    "Variants",
    "WithoutChat",
    "apply_fewshot",
    "as_prompt",
    "build_template",
    "has_rounds",
    "rename_roles",
    "rounds",
    "with_reply",
    "with_system",
]
