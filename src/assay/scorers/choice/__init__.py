"""Scorers of one answer among several: by what was written, by the first token, by likelihood; yes or no."""
