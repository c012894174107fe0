"""`vlmeval.dataset.utils.judge_util`: the judge of a run, for code that asks it by itself."""

from typing import Any

from ....judging import GuestJudge

__all__ = ["DEBUG_MESSAGE", "build_judge"]

DEBUG_MESSAGE = "The judge did not answer: give a model with --judge, and its key in the environment."


def build_judge(**kwargs: Any) -> GuestJudge:
    """The model given by `--judge`; the name asked for is only a wish, its options go with the questions."""
    return GuestJudge(kwargs)
