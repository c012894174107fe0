"""Executors: a model in several copies, in processes of this machine or as Ray actors of many."""

from .check import check_spread, is_spread, make_spread
from .shared_work import SharedWork, StandingShares
from .spread import Spread

__all__ = ["SharedWork", "Spread", "StandingShares", "check_spread", "is_spread", "make_spread"]
