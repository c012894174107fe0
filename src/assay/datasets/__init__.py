"""Datasets: rows of any file, list or function as samples, streamed."""

from .files import is_data_path
from .opening import open_dataset
from .samples import Samples
from .views import View, view

__all__ = ["Samples", "View", "is_data_path", "open_dataset", "view"]
