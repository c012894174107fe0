"""Scores of scorers that run programs, by the sandbox of this machine and without a run around them."""

import asyncio
from dataclasses import replace
from typing import Any

from assay.core import Output, Request, Sample, Score
from assay.core.request import DEFAULT_OPTIONS
from assay.models.sandboxed import SandboxModel


class AskedSandbox:
    """A sandbox as a scorer knows it; one that fails gives no verdict."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.model = SandboxModel()

    async def ask(self, prompt: Any, options: Any = None) -> Output:
        if self.fails:
            return Output.failed("sandbox", "it broke")
        return (await self.model.generate([Request(prompt, DEFAULT_OPTIONS, None)]))[0]


def score(scorer: Any, text: str, fails: bool = False, **fields: Any) -> Score:
    """What a scorer says of an answer to a row."""
    sample = Sample("a", input=fields.get("prompt", ""), fields=fields)
    return asyncio.run(
        replace(scorer, models={"sandbox": AskedSandbox(fails)})(
            sample, Output.of(text)
        )
    )
