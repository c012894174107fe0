"""Writes the tables of docs/options.md from the one list of options: `python tools/list_options.py`."""

from itertools import groupby
from pathlib import Path

from assay.cli.run_flags import option_rows
from assay.runner.option_fields import GROUPS

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
TABLE = "| flag | config key | environment | default | meaning |\n| --- | --- | --- | --- | --- |"
HEAD = """\
# Options of a run

Every option of `assay run`: as a flag, as a key of a config file, and as an environment variable.

- **Config file** (`--config FILE`, YAML or JSON): use the name in the second column, or a flag without its dashes.
- **Environment variable**: counts if neither the command nor the config file sets the option. A line on stderr says
  which were used. Generation options have variables, too: `ASSAY_RUN_TEMPERATURE`. Options that grant trust or forget a
  run have none.
- **Python**: the fields of `assay.RunOptions` are the keywords of `assay.run`.
"""


def main() -> None:
    """Write the page."""
    rows = sorted(option_rows(), key=lambda row: GROUPS.index(row[0]))
    parts = [HEAD]
    for group, members in groupby(rows, key=lambda row: row[0]):
        parts.append(f"\n## {group.capitalize()}\n\n{TABLE}\n")
        parts += [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in row[1:]) + " |\n"
            for row in members
        ]
    PAGE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
