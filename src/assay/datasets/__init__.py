"""Datasets: turn the rows of a file, a list or a function into samples, one at a time."""

from .files import is_data_path
from .opening import open_dataset
from .samples import Samples
from .views import View, view

__all__ = ["Samples", "View", "is_data_path", "open_dataset", "view"]
