"""Dialects: files written for other systems, run unchanged.

`enable("testbed")` makes a dialect's names importable in a notebook or an interactive session; `disable` undoes it.
"""

from .notebook import disable, enable

__all__ = ["disable", "enable"]
