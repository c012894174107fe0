"""VLMEvalKit as a dialect: its TSV benchmarks, dataset classes and model classes, run unchanged."""

from .models import model
from .tasks import tasks

__all__ = ["model", "tasks"]
