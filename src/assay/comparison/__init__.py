"""Two finished runs compared: paired on sample ids, so that a difference is more than two numbers side by side."""
