"""Scorers of text: matching, overlap, translation, perplexity, verifiable instructions."""
