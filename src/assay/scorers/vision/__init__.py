"""Scorers of answers about images: questions, documents, captions, boxes."""
