"""What a newcomer reads is true: every code block of README and docs is run.

A page is one story in one folder. What a fence says after its language decides:

- `python`: run; with `# file: name.py` as its first line it is written to the folder instead, for later blocks to use.
- `bash`: its `assay …` lines are run; `exit=N` expects that exit code, 0 otherwise.
- `console`: `$ assay …` lines are run and must print what stands below them; a line `…` stands for any lines, `[…]`
  for any words.
- `norun: reason`: not run; Python must compile, `assay` lines must parse, `make` targets must exist.
- `file=NAME`, or `# file: NAME` as the first line of YAML: written to the folder. `text` is only to be read.

Pages under `docs/dialects` show guest files: Python that names no file must compile there, for it imports names that
only exist while assay loads it; `tests/dialects` runs such files.
"""

import os
import re
import runpy
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from each_row import each

from assay.cli import main as command_line

ROOT = Path(__file__).parents[2]
READMES = (ROOT / "README.md", ROOT / "README.zh.md")
PAGES = sorted([*READMES, ROOT / "SKILL.md", *(ROOT / "docs").rglob("*.md")])
DATA_LANGUAGES = ("json", "jsonl", "csv", "tsv", "jinja", "yaml")
FILE_LINE = re.compile(r"^# file: (\S+)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    info: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file it is to be written to."""
        said = re.search(r"\bfile=(\S+)", self.info)
        first = FILE_LINE.match(self.text.partition("\n")[0])
        return said.group(1) if said else first.group(1) if first else None

    @property
    def is_run(self) -> bool:
        return not self.info.startswith("norun")

    @property
    def is_guest(self) -> bool:
        """Of a file written for another system, shown and not written here."""
        return self.page.parent.name == "dialects" and self.file is None

    @property
    def exit_code(self) -> int:
        said = re.search(r"\bexit=(\d+)", self.info)
        return int(said.group(1)) if said else 0

    def commands(self) -> Iterator[tuple[list[str], list[str]]]:
        """Each command as words, with the lines that stand below it."""
        prompt = "$ " if self.language == "console" else ""
        words: list[str] | None = None
        below: list[str] = []
        for line in self.text.replace("\\\n", " ").splitlines():
            is_command = (
                line.startswith(prompt) and line.strip() and not line.startswith("#")
            )
            if prompt and not is_command:
                below.append(line)
                continue
            if not is_command:
                continue
            if words is not None:
                yield words, below
            words, below = shlex.split(line.removeprefix(prompt), comments=True), []
        if words is not None:
            yield words, below


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    opened: tuple[int, str, str, list[str]] | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if opened is None and line.startswith("```"):
            language, _, info = line[3:].strip().partition(" ")
            opened = (number, language, info.strip(), [])
        elif opened is not None and line.startswith("```"):
            blocks.append(
                Block(
                    page, opened[0], opened[1], opened[2], "\n".join(opened[3]) + "\n"
                )
            )
            opened = None
        elif opened is not None:
            opened[3].append(line)
    assert opened is None, (
        f"{page.name}: the block of line {opened and opened[0]} never ends"
    )
    return blocks


ALL_BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_runs_as_written(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")

    for block in blocks_of(page):
        if block.is_run:
            run_block(block, tmp_path, capsys)


def run_block(block: Block, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if block.file is not None:
        is_code = block.language in ("python", "yaml")
        body = block.text if is_code else re.sub(r"\A# file: .*\n", "", block.text)
        (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
        (folder / block.file).write_text(body, encoding="utf-8")
    elif block.is_guest and block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language == "python":
        script = folder / f"block_{block.line}.py"
        script.write_text(block.text, encoding="utf-8")
        runpy.run_path(str(script), run_name="__main__")
    elif block.language in ("bash", "console"):
        for words, below in block.commands():
            run_command(words, below, block, capsys)


def run_command(
    words: list[str], below: list[str], block: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {}
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, environment_value = words.pop(0).partition("=")
        environment[name] = environment_value
    assert words[0] == "assay", (
        f"{block.place}: only assay can be run here; mark the block `norun: reason`"
    )
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(
            "sys.argv", words
        )  # the next steps it prints begin with the command as it was called
        code = command_line.main(words[1:])
    out, err = capsys.readouterr()
    said = f"{block.place}: {' '.join(words)}\n{out}\n{err}"
    assert code == block.exit_code, f"exit code {code}, not {block.exit_code}: {said}"
    if below:
        assert agrees(below, [*out.splitlines(), *err.splitlines()]), (
            f"prints something else: {said}"
        )


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Whether a page shows what was printed, blank lines and ends of lines aside."""
    pieces = [
        r"(?:.*\n)*?"
        if line.strip() == "…"
        else ".*".join(map(re.escape, line.rstrip().split("[…]"))) + "\n"
        for line in shown
        if line.strip()
    ]
    text = "".join(f"{line.rstrip()}\n" for line in printed if line.strip())
    return re.fullmatch("".join(pieces), text) is not None


@each("block", [b for b in ALL_BLOCKS if not b.is_run])
def test_a_block_that_is_not_run_says_why_and_is_sound(block: Block):
    reason = block.info.partition(":")[2].strip()

    assert len(reason.split()) >= 2, (
        f"{block.place}: say why it is not run, as `norun: needs an endpoint`"
    )
    if block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language in ("bash", "console"):
        for words, _ in block.commands():
            check_command(
                [word for word in words if not re.fullmatch(r"[A-Z_]+=.*", word)], block
            )


def check_command(words: list[str], block: Block) -> None:
    if words and words[0] == "assay":
        parse(words[1:], block)
    elif words and words[0] == "make":
        targets = re.findall(
            r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
        )
        assert set(words[1:]) <= set(targets), (
            f"{block.place}: the Makefile has {', '.join(targets)}"
        )


def parse(words: list[str], block: Block) -> None:
    """Parses the words of `assay run …`; other verbs are only looked up."""
    from assay.cli.run import options_from, parser

    verb = command_line.ALIASES.get(words[0], words[0])
    assert verb in command_line.VERBS, f"{block.place}: there is no `assay {verb}`"
    if verb == "run":
        assert options_from(parser().parse(words[1:])).tasks, (
            f"{block.place}: names no task"
        )


@each("block", ALL_BLOCKS)
def test_every_block_says_what_it_is(block: Block):
    known = ["python", "bash", "console", "text", "toml", "dockerfile", *DATA_LANGUAGES]
    if block.is_guest:
        known.append("")  # what a guest file printed

    assert block.language in known, (
        f"{block.place}: {block.language or 'no language'}; known: {', '.join(known)}"
    )
    if block.language in DATA_LANGUAGES and block.is_run and not block.is_guest:
        assert block.file, f"{block.place}: name its file, or make it `text`"


@each("page", PAGES)
def test_every_file_a_page_shows_is_used_by_a_later_block(page: Path):
    blocks = blocks_of(page)

    for position, block in enumerate(blocks):
        if block.file is not None and block.is_run:
            # A command uses a file by its name, or by the folder that it is in.
            path = Path(block.file)
            names = {path.stem, *path.parts[:-1]}
            later = "".join(b.text for b in blocks[position + 1 :] if b.is_run)
            is_used = any(name in later for name in names)
            assert is_used, f"{block.place}: nothing uses {block.file}"


@each("page", sorted({*PAGES, *ROOT.glob("*.md"), *(ROOT / "decisions").glob("*.md")}))
def test_links_inside_the_repository_lead_somewhere(page: Path):
    for target in LINK.findall(
        re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    ):
        if not re.match(r"[a-z]+:|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), (
                f"{name_of(page)} links to {target}"
            )


def test_every_guide_is_reachable_from_the_readme():
    linked, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page.is_dir():
            waiting += sorted(page.glob("*.md"))
        if page in linked or page.suffix != ".md" or not page.exists():
            continue
        linked.add(page)
        targets = LINK.findall(page.read_text(encoding="utf-8"))
        waiting += [
            Path(os.path.normpath(page.parent / t.partition("#")[0]))
            for t in targets
            if ":" not in t
        ]

    assert set(PAGES) <= linked, (
        f"nobody links to {sorted(name_of(p) for p in set(PAGES) - linked)}"
    )


def test_the_list_of_decisions_has_a_line_for_each_page():
    folder = ROOT / "decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in folder.glob("0*.md")}

    missing = sorted(name for name in pages if f"({name})" not in listed)

    assert missing == []


def test_the_readme_fits_one_screen():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 90


def test_both_readmes_have_the_same_blocks_links_and_sections():
    english, chinese = READMES

    assert [block.text for block in blocks_of(english)] == [
        block.text for block in blocks_of(chinese)
    ]
    texts = [page.read_text(encoding="utf-8") for page in READMES]
    assert LINK.findall(texts[0]) == LINK.findall(texts[1])
    assert [text.count("\n## ") for text in texts] == [texts[0].count("\n## ")] * 2
    assert [text.count("\n| ") for text in texts] == [texts[0].count("\n| ")] * 2


def test_the_architecture_page_lists_the_packages_in_the_order_the_test_checks():
    source = (ROOT / "tests" / "test_architecture.py").read_text(encoding="utf-8")
    groups = re.findall(
        r"^    \{(.+)\},$",
        source.partition("GROUPS = (")[2].partition("\n)")[0],
        re.MULTILINE,
    )
    order = " < ".join(
        " ".join(sorted(re.findall(r'"(\w+)"', group))) for group in groups
    )

    assert f"    {order}\n" in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_file_the_pages_name_is_there():
    places = re.compile(r"`((?:src|tests|examples|decisions|bench|docs)/[\w./-]+)`")
    named = {
        (page, path)
        for page in (ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *PAGES)
        if page.parent.name != "dialects"  # they name files of other systems
        for path in places.findall(page.read_text(encoding="utf-8"))
        if "NAME" not in path
        and Path(path).name not in ("x.py", "test_x.py", "test.sh")
    }

    assert named
    for page, path in sorted(named):
        assert (ROOT / path).exists(), f"{name_of(page)} names {path}"
