"""Draws the tree of errors in docs/errors.md as it is: `python tools/draw_errors.py`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "docs"), str(ROOT / "tests" / "shared")]

from test_errors import PAGE, import_all_errors, tree  # noqa: E402

if __name__ == "__main__":
    import_all_errors()
    drawn = "\n".join(tree())
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(
            r"```text\n.*?```", lambda _: f"```text\n{drawn}\n```", text, flags=re.S
        ),
        encoding="utf-8",
    )
