"""Scorers of speech: transcripts, voices, how it sounds."""
