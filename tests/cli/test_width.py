"""Every verb fits into 80 columns."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from assay.cli.main import VERBS
from assay.report.grid import fold_line
from assay.report.progress import LiveProgress
from assay.runner.events import TaskProgress

FOUR = ("--model", "four.py:generate")
COMMANDS = [
    ("--help",),
    ("ls",),
    ("ls", "scorers"),
    ("ls", "models"),
    ("ls", "templates"),
    ("ls", "summarizers"),
    ("show", "wer"),
    ("show", "gsm8k"),
    ("show", "run"),
    ("run", "sums.jsonl", *FOUR, "-o", "run"),
    ("run", "sums.jsonl", *FOUR, "-o", "third", "--baseline", "run"),
    ("run", "sums.jsonl", *FOUR, "--dry_run"),
    ("score", "run"),
    ("compare", "run", "other"),
    ("leaderboard", "run", "other"),
    ("power", "run"),
    ("power", "--n", "200"),
    ("label", "run"),
    ("verify", "run"),
    ("doctor",),
    ("check", "four.py"),
    ("check", "sums.jsonl"),
    ("merge", "run", "-o", "merged"),
    ("export", "run"),
    ("parity", "sums.jsonl", *FOUR),
    ("conformance", "wer"),
]


@pytest.fixture
def runs(assay, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assay("run", "sums.jsonl", *FOUR, "-o", "run")
    assay("run", "sums.jsonl", "--model", "adder.py:generate", "-o", "other")


def too_wide(text):
    """Return the lines wider than 80 columns, unless one word alone is."""
    lines = [line for line in text.splitlines() if cell_len(line) > 80]
    return [line for line in lines if max(map(len, line.split())) < 60]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_output_fits(words, assay, runs):
    said = assay(*words)

    assert said.code in (0, 3), said
    assert said.out and too_wide(said.out) == []


def test_what_else_differs_between_two_runs_fits(assay, runs):
    several = ("--epochs", "2", "--temperature", "0.5", "--scorer", "exact_match")
    longer = ("--on_error", "continue", "--system", "Think about it. " * 5)
    assay("run", "sums.jsonl", *FOUR, *several, *longer, "-o", "long")

    said = assay("compare", "run", "long")

    assert "also different: " in said.out
    assert too_wide(said.out) == []


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_fits(verb, folder, monkeypatch, capsys):
    from assay.cli.main import main

    monkeypatch.setenv("COLUMNS", "80")
    try:
        main([verb, "--help"])
    except SystemExit:
        pass

    printed = capsys.readouterr().out
    assert printed and too_wide(printed) == []


def test_a_file_gets_whole_lines(assay, folder, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)

    lines = assay("ls", "scorers").out.splitlines()

    assert max(map(len, lines)) > 80
    assert all(not line.startswith(" ") for line in lines)


@pytest.mark.parametrize(
    ("line", "folded"),
    [
        ("name  one two three four", ["name  one two", "      three four"]),
        ("one two three four five", ["one two three", "    four five"]),
        ("  cost: one two three", ["  cost: one two", "      three"]),
        ("averyveryverylongword", ["averyveryverylongword"]),
        ("short", ["short"]),
    ],
)
def test_a_line_is_folded_between_words(line, folded):
    assert fold_line(line, 16) == folded


def test_show_prints_the_lines_of_a_target(assay, folder):
    (folder / "poem.jsonl").write_text(
        '{"question": "Q", "answer": "first line\\nsecond line"}\n'
    )
    assay("run", "poem.jsonl", *FOUR, "-o", "poem")

    said = assay("show", "poem")

    assert "  target: first line\n    second line\n" in said.out
    assert "�" not in said.out


def bar_of(console, cell):
    """Return what is drawn for one task, once its run has stopped."""
    progress = LiveProgress(console)
    progress.start([cell])
    progress.stop()
    lines = console.file.getvalue().splitlines()
    last = [line for line in lines if "/200" in line][-1]
    return last.removeprefix("\x1b[2K")


def drawn(done, state, outcomes=None, width=80):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system=None
    )
    cell = TaskProgress("task", "model", expected=200)
    cell.done, cell.state = done, state
    cell.outcomes.update(outcomes or {})
    return bar_of(console, cell)


def test_the_bar_keeps_its_width_whatever_the_note_says():
    short = drawn(7, "running")
    long = drawn(107, "running", {"model_error": 12, "truncated": 345, "unparsed": 6})

    assert short.index("/200") == long.index("/200") > 20
    assert max(map(cell_len, (short, long))) <= 80


@pytest.mark.parametrize("state", ["running", "stopped", "finished"])
def test_the_bar_of_a_run_that_was_stopped_is_not_full(state):
    assert "29/200" in drawn(29, state)


def test_an_interrupted_task_is_not_called_finished(folder):
    import assay as package

    cells = []

    class Watcher:
        def start(self, started):
            cells.extend(started)

        def update(self):
            pass

        def say(self, line):
            pass

        def stop(self):
            pass

    def raises(messages):
        raise NameError("no such name")

    package.run("sums.jsonl", model=raises, output=str(folder / "r"), watcher=Watcher())

    assert [cell.state for cell in cells] == ["stopped"]


@pytest.mark.parametrize("text", ["plain words " * 20, "中文问题，" * 40, "é" * 100])
def test_a_forecast_contains_its_own_estimate(text, assay, folder):
    rows = "".join(f'{{"question": "{text}{n}", "answer": "4"}}\n' for n in range(12))
    (folder / "long.jsonl").write_text(rows, encoding="utf-8")
    words = ("run", "long.jsonl", *FOUR, "-o", "runs/a", "--dry_run", "--json")

    before = assay(*words).json["cells"][0]
    assay("run", "long.jsonl", *FOUR, "-o", "runs/a", "--limit", "6")
    after = assay(*words).json["cells"][0]

    for cell in (before, after):
        low, high = cell["range"]["input_tokens"]
        assert low <= cell["tokens"]["input"] <= high


def test_help_fills_its_paragraphs_and_keeps_indented_lines(capsys, monkeypatch):
    from assay.cli.main import main

    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main(["power", "--help"])

    lines = capsys.readouterr().out.splitlines()

    [start] = [i for i, line in enumerate(lines) if line.startswith("Print what can")]
    paragraph = lines[start : lines.index("", start)]
    assert len(paragraph) > 2 and not any(line.startswith(" ") for line in paragraph)
    assert "  assay power runs/pilot --n 500" in lines
