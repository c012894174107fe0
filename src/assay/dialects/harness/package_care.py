"""Patch a library after its import: less output, compiled templates, and time limits."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .time_limits import limited

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LARGEST_TEMPLATE_CACHE = 4096
LONGEST_RENDERING = 10.0
"""Time limit in seconds for rendering one template with one row."""
LONGEST_IMPORT = 120.0
"""Time limit in seconds for importing one helper module of a task. Some import torch, or read word lists."""


def quiet_datasets() -> None:
    """Turn off progress bars and warnings of the libraries that load data."""
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    # Each attempt to reach the hub would print a line; the one error says it all.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def cache_templates(environment: "Environment") -> None:
    """Compile each Jinja template once, with a time limit. The libraries compile it again for every document."""
    from jinja2.sandbox import safe_range

    compile_template: Callable[..., Template] = type(environment).from_string

    @lru_cache(maxsize=LARGEST_TEMPLATE_CACHE)
    def compiled(source: str) -> "Template":
        return compile_template(environment, source)

    class LimitedTemplate(environment.template_class):  # type: ignore[misc, name-defined]
        """A template with a time limit for rendering."""

        def render(self, *args: object, **kwargs: object) -> str:
            with limited(LONGEST_RENDERING, "a template", "", "shorten its loops"):
                return str(super().render(*args, **kwargs))

    environment.template_class = LimitedTemplate
    environment.globals["range"] = safe_range

    def from_string(
        source: object,
        *args: object,
        **kwargs: object,
    ) -> "Template":
        if args or kwargs or not isinstance(source, str):
            return compile_template(environment, source, *args, **kwargs)
        return compiled(source)

    environment.from_string = from_string  # type: ignore[method-assign]


@contextmanager
def limited_import(file: Path) -> Iterator[None]:
    """Raise if the block, which imports a helper module, takes too long."""
    fix = "move what it computes into a function"
    with limited(LONGEST_IMPORT, "importing it", str(file), fix):
        yield
