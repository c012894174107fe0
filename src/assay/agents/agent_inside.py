"""Runs inside a workspace: calls the function of a Python agent with the instruction, and writes its answer.

Imports only the standard library.
"""

import asyncio
import importlib.util
import inspect
import json
import os
import sys

FOLDER = "/tmp/agent"


def main(path: str, name: str) -> None:
    """Call the function and write its return value: a string unchanged, anything else as JSON."""
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("assay_agent", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, name)
    with open(f"{FOLDER}/instruction.md", encoding="utf-8") as file:
        instruction = file.read()
    context_values = {"model": os.environ["ASSAY_MODEL"], "id": os.environ["ASSAY_ID"]}
    accepted = inspect.signature(function).parameters
    more = {key: value for key, value in context_values.items() if key in accepted}
    answer = function(instruction, **more)
    if inspect.isawaitable(answer):

        async def finish():  # type: ignore[no-untyped-def]
            return await answer

        answer = asyncio.run(finish())  # type: ignore[no-untyped-call]
    if answer is None:
        return
    if isinstance(answer, str):
        text = answer
    else:
        text = json.dumps(answer, default=str)
    with open(
        f"{FOLDER}/answer",
        "w",
        encoding="utf-8",
        errors="replace",
    ) as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
