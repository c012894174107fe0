"""Scorers of speech: transcripts, voices, and audio quality."""
