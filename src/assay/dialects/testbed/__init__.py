"""The testbed dialect: in-context learning with retrievers, post-processes, loading scripts and prompt templates."""

from .models import model
from .tasks import tasks

__all__ = ["model", "tasks"]
