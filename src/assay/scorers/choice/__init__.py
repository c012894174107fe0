"""Scorers of multiple choice and of yes or no: from generated text, from the first token, or from likelihoods."""
