"""Compatibility layers ("dialects") that run files written for other evaluation systems unchanged.

`enable("testbed")` makes one system's names importable in a notebook or an interactive session; `disable` undoes it.
"""

from .notebook import disable, enable

__all__ = ["disable", "enable"]
