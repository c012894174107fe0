"""The runner: plans a run, drives the models, keeps and scores what they answer."""

from .options import RunOptions
from .plan.cell import Cell
from .plan.planning import make_plan
from .result import RunResult
from .run import run, run_folder, score

__all__ = ["Cell", "RunOptions", "RunResult", "make_plan", "run", "run_folder", "score"]
