"""`src.summarizer`: how scores become one line; users write their own beside these."""

from .summarizer import Avg, AvgInfo, AvgMOS, AvgThreshold, AvgWER, Summarizer

__all__ = ["Avg", "AvgInfo", "AvgMOS", "AvgThreshold", "AvgWER", "Summarizer"]
