"""Writes docs/reference/commands.md from what each verb prints for --help: `python tools/list_commands.py`."""

import contextlib
import io
import os
from pathlib import Path
from unittest import mock

from assay.cli import main as command_line

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
COLUMNS = "110"
GUIDES = {
    "run": "../running.md",
    "score": "../running.md#score-again",
    "show": "../results.md",
    "compare": "../comparing.md",
    "leaderboard": "../comparing.md",
    "view": "../viewer.md",
    "report": "../viewer.md#to-share",
    "label": "../viewer.md",
    "check": "../benchmark.md",
    "verify": "../reliability.md#damage",
    "export": "../results.md",
    "merge": "../clusters.md",
    "batches": "../batch.md",
    "conformance": "../conformance.md",
    "parity": "../local-models.md",
    "gate": "../gate.md",
    "power": "../power.md",
    "python": "../dialects.md",
    "vlmeval": "../dialects/vlmeval.md",
    "pipeline": "../dialects/pipeline.md",
    "televal": "../dialects/televal.md",
    "ulmeval": "../dialects/ulmeval.md",
}
HEAD = """\
# Commands

What `assay VERB --help` prints, for every verb. The options of `assay run` also have config keys, environment
variables and defaults: [options](../options.md). `-` and `_` are the same in every option of `run`. `--debug` shows the
traceback of an error. Exit codes: [running](../running.md#when-things-fail).

"""


def page() -> str:
    """Return the whole page."""
    rows = [
        f"| [`{verb}`](#{verb}) | {what} |\n"
        for verb, what in command_line.VERBS.items()
    ]
    aliases = ", ".join(
        f"`{alias}` is `{verb}`" for alias, verb in command_line.ALIASES.items()
    )
    parts = [
        HEAD,
        "| verb | what it does |\n| --- | --- |\n",
        *rows,
        f"\nOther names: {aliases}.\n",
    ]
    parts += [_section(verb) for verb in command_line.VERBS]
    return "".join(parts)


def _section(verb: str) -> str:
    guide = (
        f"Guide: [{Path(GUIDES[verb].partition('#')[0]).stem}]({GUIDES[verb]})\n\n"
        if verb in GUIDES
        else ""
    )
    return f"\n## {verb}\n\n{guide}```text\n{help_of(verb).strip()}\n```\n"


def help_of(verb: str) -> str:
    """Return what a verb prints for --help, in lines of a fixed length."""
    printed = io.StringIO()
    width = mock.patch.dict(os.environ, {"COLUMNS": COLUMNS})
    with width, contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        command_line.main([verb, "--help"])
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
