"""Preflight: what is wrong with how a model renders the prompts of a task, as it says itself."""

from ..core import ComponentError, Prompt
from .cell import Cell


def first_prompt(cell: Cell) -> Prompt | None:
    """The prompt of the first usable sample; `None` if there is none."""
    sample = cell.first_sample()
    if sample is None:
        return None
    try:
        prompt: Prompt = cell.template(sample)
    except ComponentError:
        return None  # counted when its turn comes
    return prompt


def prompt_faults(cell: Cell, prompt: Prompt) -> tuple[str, ...]:
    """The faults of a prompt; none where the model has no tokenizer of its own to look with."""
    preflight = getattr(cell.model, "preflight", None)
    if preflight is None:
        return ()
    options = prompt.options or cell.options
    return tuple(str(fault) for fault in preflight(prompt, options.stop))
