"""Scorers of text against text: matching, overlap, translation, perplexity, instructions that can be checked."""
