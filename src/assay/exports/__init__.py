"""Write runs in the formats of other tools, one module per tool. `assay export RUN --to NAME` uses them."""

from .exporter import Exporter

__all__ = ["Exporter"]
