"""Writes docs/llms.txt, the pages as programs read them, from the navigation: `python tools/list_pages.py`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from site_hooks import FROM_THE_ROOT

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "llms.txt"
ELSEWHERE = {place: source for source, place in FROM_THE_ROOT.items()}
"""Pages of the site that lie outside docs/."""
HEAD = """\
# assay

> One evaluation system for every kind of model: text, images, audio, video, generated media and code. Every number
> comes with its interval, its failures are counted, and every sample can be looked at.

Install with Python 3.11 or newer. `assay run DATA --model MODEL` runs; the same command resumes. `assay VERB --help`
has everything a command takes. Errors are one line with a fix. The pages are Markdown, beside this file in the site.
"""


def page() -> str:
    """Return the whole file."""
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))[
        "nav"
    ]
    parts = [HEAD]
    for section in navigation:
        ((title, entries),) = section.items()
        parts.append(f"\n## {title}\n\n")
        parts += [
            _line(name, path)
            for name, path in pages_in(entries)
            if path.endswith(".md")
        ]
    return "".join(parts)


def pages_in(entries: list[Any]) -> Iterator[tuple[str, str]]:
    """Name and path of every page of a part of the navigation."""
    for entry in entries:
        if isinstance(entry, str):
            yield "", entry
            continue
        for name, below in entry.items():
            if isinstance(below, str):
                yield name, below
            else:
                yield from pages_in(below)


def _line(name: str, path: str) -> str:
    file = ROOT / ELSEWHERE[path] if path in ELSEWHERE else ROOT / "docs" / path
    text = file.read_text(encoding="utf-8")
    title = name or text.partition("\n")[0].removeprefix("# ")
    about = first_sentence(text)
    return f"- [{title}]({path}){': ' if about else ''}{about}\n"


def first_sentence(text: str) -> str:
    """Return the first sentence between a page's title and its first section, without marks, or an empty text."""
    text = text.partition("\n## ")[0]
    prose = re.sub(r"^```.*?^```$|^#.*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\n+", prose.strip("\n")):
        words = " ".join(paragraph.split())
        if words and words[0] not in "|-!<" and not paragraph.startswith("    "):
            plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", words).replace("**", "")
            return re.sub(r":$", ".", re.split(r"(?<=[.?])\s", plain)[0])
    return ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
