"""Capitals: one question, one city. Run it with `assay run examples/capitals.py`."""

dataset = [
    {
        "question": "What is the capital of France?",
        "answer": "Paris",
        "continent": "Europe",
    },
    {
        "question": "What is the capital of Japan?",
        "answer": "Tokyo",
        "continent": "Asia",
    },
    {
        "question": "What is the capital of Peru?",
        "answer": "Lima",
        "continent": "America",
    },
    {
        "question": "What is the capital of Kenya?",
        "answer": "Nairobi",
        "continent": "Africa",
    },
]
tags = ("continent",)
options = {"max_tokens": 24, "temperature": 0.0}


def prompt(sample):
    """Return the question, and the form of the answer."""
    return f"{sample.input} Answer with one word."


def score(sample, output):
    """1 if the city is named."""
    return sample.target.lower() in output.text.lower()
