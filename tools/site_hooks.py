"""What mkdocs does not know of our pages; it calls these functions when it builds the site (`make site`).

Pages are written to be read in the repository, too. So files at its root are pages of the site, links to them are
followed, links to source files become their names, and what a fence says to `tests/docs` becomes a title or goes.
"""

import os
import re
import shutil
from html import escape, unescape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FROM_THE_ROOT = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "bench/RESULTS.md": "figures.md",
    **{
        f"decisions/{page.name}": f"decisions/{page.name}"
        for page in sorted((ROOT / "decisions").glob("*.md"))
    },
}
"""Pages outside docs/, and where they are in the site."""
PAGES_OF_CONTRIBUTORS = {"architecture.md", "conformance.md"}
"""Pages outside the section Development that users do not search for."""
BOOST = {"Start": 4, "Guides": 4, "Explanation": 1, "Reference": 0.5}
"""By section of the navigation: how much its pages count in the search."""
CONSOLE = re.compile(
    r'<div class="(language-console highlight)">(.*?</code></pre>)', re.DOTALL
)
TAG = re.compile(r"<[^>]+>")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w+) (.+)$", re.MULTILINE)
NAMED = re.compile(r"^```(\w+)\n# file: (\S+)\n", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Add the decisions to the navigation, one line each."""
    section = next(part["Development"] for part in config.nav if "Development" in part)
    place = section.index({"Decisions": "decisions/"})
    section[place] = {
        "Decisions": [
            page for page in FROM_THE_ROOT.values() if page.startswith("decisions/")
        ]
    }
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/."""
    from mkdocs.structure.files import File

    for source, place in FROM_THE_ROOT.items():
        files.append(
            File.generated(
                config, place, content=(ROOT / source).read_text(encoding="utf-8")
            )
        )
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return a page with its links and fences as mkdocs reads them."""
    page.meta["search"] = _search_settings(page)
    here = page.file.src_uri
    source = next(
        (ROOT / root for root, place in FROM_THE_ROOT.items() if place == here),
        DOCS / here,
    )
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    for position, part in enumerate(parts):
        parts[position] = (
            _fence(part)
            if position % 2
            else LINK.sub(lambda link: _link(link, source, here), part)
        )
    return "".join(parts)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Give console blocks the text that their copy button takes: the commands alone."""
    return CONSOLE.sub(_with_commands, html)


def _with_commands(block: re.Match[str]) -> str:
    """Return a console block with the attribute `data-copy`, which the theme's copy button reads."""
    text = unescape(TAG.sub("", block[2]))
    commands = "\n".join(commands_in(text))
    return f'<div class="{block[1]}" data-copy="{escape(commands)}">{block[2]}'


def commands_in(text: str) -> list[str]:
    """Return the commands of a console session: lines after `$ `, and those that continue them."""
    commands: list[str] = []
    is_continued = False
    for line in text.split("\n"):
        if line.startswith("$ "):
            commands.append(line.removeprefix("$ "))
        elif is_continued:
            commands.append(line.removeprefix("> "))
        else:
            continue
        is_continued = commands[-1].endswith("\\")
    return commands


def _search_settings(page: Any) -> dict[str, Any]:
    """Return how a page counts in the search: guides first, pages for contributors not at all."""
    if page.file.src_uri in PAGES_OF_CONTRIBUTORS:
        return {"exclude": True}
    section = page.ancestors[-1].title if page.ancestors else ""
    if section == "Development":
        return {"exclude": True}
    return {"boost": BOOST.get(section, 1)}


def on_post_build(config: Any) -> None:
    """Lays the pages as Markdown beside the HTML, for readers that are programs; llms.txt names them."""
    for page in DOCS.rglob("*.md"):
        target = Path(config.site_dir) / page.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, target)
    for source, place in FROM_THE_ROOT.items():
        shutil.copyfile(ROOT / source, Path(config.site_dir) / place)


def _fence(block: str) -> str:
    block = NAMED.sub(r'```\1 title="\2"\n', block)
    return FENCE.sub(lambda head: f"```{head[1]}{_title(head[2])}", block)


def _title(info: str) -> str:
    if info.startswith("title="):
        return f" {info}"
    name = re.search(r"\bfile=(\S+)", info)
    return f' title="{name[1]}"' if name else ""


def _link(link: re.Match[str], source: Path, here: str) -> str:
    """Return a link of a page as the site has it."""
    mark, text, target = link.groups()
    path, hash_sign, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return link[0]
    file = Path(os.path.normpath(source.parent / path))
    in_repository = file.relative_to(ROOT).as_posix()
    if in_repository in FROM_THE_ROOT:
        place = FROM_THE_ROOT[in_repository]
    elif file.is_relative_to(DOCS):
        place = file.relative_to(DOCS).as_posix()
    elif in_repository == "README.md":
        place = "README.md"
    else:
        return text if text.startswith("`") else f"`{text}`"
    relative = os.path.relpath(place, Path(here).parent)
    return f"{mark}[{text}]({relative}{hash_sign}{anchor})"
