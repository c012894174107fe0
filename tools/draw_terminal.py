"""Draws what a command prints on a terminal as an SVG of docs/images, for the README.

    assay demo -o runs/demo          # minutes; the picture is drawn from the finished run
    python tools/draw_terminal.py demo "assay demo -o runs/demo" --until "Small sets"

The command is run, in a terminal of its own; nothing is typed by hand. The drawing loads no font: it asks for the
reader's own.
"""

import argparse
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="A terminal">
<style>
.{unique_id}-matrix {{
  font: {char_height}px/{line_height}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Run a command and draw its output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the file is docs/images/terminal-NAME.svg")
    parser.add_argument("commands", nargs="+", help="commands that begin with assay")
    parser.add_argument(
        "--until", help="leave out the line with these words, and what follows it"
    )
    parser.add_argument("--columns", type=int, default=132)
    given = parser.parse_args()
    nowhere = open(os.devnull, "w")  # noqa: SIM115
    console = Console(record=True, width=given.columns, file=nowhere, highlight=False)
    for command in given.commands:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(
            Text.from_ansi(
                shown(printed(shlex.split(command), given.columns), given.until)
            )
        )
    path = IMAGES / f"terminal-{given.name}.svg"
    svg = console.export_svg(title="", theme=MONOKAI, code_format=SVG, unique_id="t")
    path.write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE), encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def shown(text: str, until: str | None) -> str:
    """Return the output to draw: without blank lines around it and without everything from `until` on."""
    lines = text.replace("\r", "").splitlines()
    end = next(
        (place for place, line in enumerate(lines) if until and until in line),
        len(lines),
    )
    return "\n".join(line.rstrip() for line in lines[:end]).strip("\n") + "\n"


def printed(words: list[str], columns: int) -> str:
    """Return what a command writes to a terminal, without its progress."""
    driver, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    words = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        words, stdout=terminal, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(terminal)
    read = b""
    while True:
        try:
            piece = os.read(driver, 65536)
        except OSError:  # Linux says so when the terminal is closed
            break
        if not piece:
            break
        read += piece
    if code := process.wait():
        sys.exit(f"{shlex.join(words)} ended with {code}")
    return read.decode()


if __name__ == "__main__":
    main()
