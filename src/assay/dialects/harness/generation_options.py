"""Convert generation options of a library's tasks to options of assay."""

from collections.abc import Mapping
from typing import Any

from ...core import GenerateOptions, UsageError, shorten
from .random_state import OTHER_SEED

DEFAULT_MAX_TOKENS = 256
"""The token limit of an answer if a task sets none, as in lm-eval."""
LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of the token limit. As in lm-eval, the first one that is set counts."""
PASSED_ON: Mapping[str, str] = {
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "repetition_penalty": "repetition_penalty",
    "seed": "seed",
}
"""Generation options that have the same meaning in assay."""
WITHOUT_EFFECT: Mapping[str, tuple[Any, ...]] = {
    "num_beams": (1,),
    "num_return_sequences": (1,),
    "length_penalty": (1, 1.0),
    "early_stopping": (False, None),
    "use_cache": (True, False),
    "return_dict_in_generate": (True, False),
    "is_gen": (True,),
    "pad_token_id": (None,),
}
"""Options with the values that change nothing. Any other value is refused."""
OF_SAMPLING = ("top_p", "top_k", "min_p")


def options_of(
    kwargs: Mapping[str, Any],
    where: str,
) -> GenerateOptions:
    """Return lm-eval's generation options as options of assay. Raise for an option that is not supported."""
    rest = dict(kwargs)
    length = None
    for name in LENGTHS:
        number = _number(rest.pop(name, None), name, where)
        length = number if length is None else length
    until = rest.pop("until", None) or ()
    stops = (until,) if isinstance(until, str) else tuple(str(stop) for stop in until)
    temperature = _number(rest.pop("temperature", None), "temperature", where) or 0.0
    does_sample = rest.pop("do_sample", None)
    if does_sample is False:
        temperature = 0.0
    elif does_sample and not temperature:
        temperature = 1.0 if "temperature" not in kwargs else 0.0
    options: dict[str, Any] = {}
    for name, value in rest.items():
        if name in PASSED_ON:
            options[PASSED_ON[name]] = value
        elif value not in WITHOUT_EFFECT.get(name, ()):
            raise UsageError(
                f"generation option {name}={shorten(value)} cannot be honoured",
                where=f"{where}, key `generation_kwargs`",
                fix="remove it in a YAML task that includes this one",
            )
    if not temperature:
        for name in OF_SAMPLING:
            options.pop(name, None)
    elif "seed" not in options:
        options["seed"] = OTHER_SEED
    if length is None:
        max_tokens = DEFAULT_MAX_TOKENS
    else:
        max_tokens = int(length)
    try:
        return GenerateOptions(
            temperature=temperature,
            max_tokens=max_tokens,
            stop=tuple(stop for stop in stops if stop),
            **options,
        )
    except UsageError as error:
        key = f"{where}, key `generation_kwargs`"
        raise UsageError(
            error.what,
            where=key,
            fix=error.fix,
        ) from error


def _number(
    value: str | float | None,
    name: str,
    where: str,
) -> float | None:
    """Return a generation option as a number, or raise with its key; None stays None."""
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"generation option {name}={shorten(value)} is not a number",
            where=f"{where}, key `generation_kwargs`",
            fix=f"write {name} as a number",
        ) from error
