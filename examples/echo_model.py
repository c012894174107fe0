"""A model that repeats what it was asked: `--model examples/echo_model.py:generate -a times=2`."""


def generate(messages, *, times: int = 1) -> str:
    """Return the last message, repeated."""
    return " ".join([messages[-1]["content"]] * times)
