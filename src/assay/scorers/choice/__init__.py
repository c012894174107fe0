"""Scorers of one answer among several: by generated text, by the first token, by likelihood; yes or no."""
