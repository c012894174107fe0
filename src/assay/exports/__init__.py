"""Runs in the formats of other tools, one module per tool. `assay export RUN --to NAME` writes them."""

from .exporter import Exporter

__all__ = ["Exporter"]
