"""The documentation builds as a site: no page left out, no dead link, no request to another host."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//"""
)
pytestmark = [pytest.mark.costly, pytest.mark.xdist_group("site")]  # built once


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` builds it: a warning ends the build."""
    pytest.importorskip(
        "material", reason="mkdocs-material is not installed: pip install -e '.[docs]'"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        from mkdocs.commands.build import build
        from mkdocs.config import load_config

        folder = tmp_path_factory.mktemp("site")
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder))
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    return folder


def test_every_page_is_there_as_html_and_as_markdown(site: Path):
    for page in (ROOT / "docs").rglob("*.md"):
        place = site / page.relative_to(ROOT / "docs")
        html = (
            place.with_name("index.html")
            if page.name == "README.md"
            else place.with_suffix(".html")
        )
        assert html.is_file() and place.is_file(), page.name
    assert (site / "llms.txt").is_file()


def test_the_search_finds_the_words_of_a_page(site: Path):
    entries = json.loads(
        (site / "search" / "search_index.json").read_text(encoding="utf-8")
    )["docs"]

    assert any(
        "clopper-pearson" in entry["text"]
        and entry["location"].startswith("statistics")
        for entry in entries
    )


def test_no_page_loads_anything_from_another_host(site: Path):
    for page in site.rglob("*.html"):
        assert not LOADED.search(page.read_text(encoding="utf-8")), page.name


def test_what_fences_say_to_the_tests_is_not_shown(site: Path):
    page = (site / "running.html").read_text(encoding="utf-8")

    assert "norun" not in page and "exit=2" not in page
    assert re.search(r'class="filename">capitals\.py<', page)


def test_copy_buttons_of_consoles_take_the_commands_alone(site: Path):
    page = (site / "tutorial.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<div class="language-console highlight"([^>]*)>', page)

    copied = [
        unescape(match[1])
        for block in blocks
        if (match := re.search(r'data-copy="([^"]*)"', block))
    ]

    assert len(copied) == len(blocks) > 3
    for text in copied:
        assert text and all(
            line.startswith(("assay ", "python", "pip ", "cat ", "    "))
            for line in text.split("\n")
        ), text


def searched(site: Path, words: str) -> list[str]:
    """Return the pages whose entries have all words, those with the highest boost first, as the theme ranks them."""
    entries = json.loads(
        (site / "search" / "search_index.json").read_text(encoding="utf-8")
    )["docs"]
    hits = [
        entry
        for entry in entries
        if all(
            word in f"{entry['title']} {entry['text']}".lower()
            for word in words.lower().split()
        )
    ]
    hits.sort(key=lambda entry: -entry.get("boost", 1))
    return [entry["location"].partition("#")[0] for entry in hits]


@pytest.mark.parametrize("words", ["few-shot", "word error rate", "judge", "resume"])
def test_the_search_finds_pages_of_users_first(site: Path, words: str):
    pages = searched(site, words)

    assert pages
    assert not any(
        page.startswith(("development/", "decisions/", "changelog", "figures"))
        for page in pages
    )
    assert not pages[0].startswith(("reference/", "errors"))


def test_every_row_of_the_options_has_all_cells(site: Path):
    page = (site / "options.html").read_text(encoding="utf-8")

    for table in re.findall(r"<table>(.*?)</table>", page, re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        counts = {len(re.findall(r"<t[hd]\b", row)) for row in rows}
        assert counts == {5}
    assert "ASSAY_RUN_TASKS" in page and "TASK|S" not in page
