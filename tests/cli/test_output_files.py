"""No verb replaces a file that assay did not write, not even through a link."""

import errno
import os
import re

import pytest

from assay.cli.completion import _actions
from assay.cli.main import VERBS
from assay.registry import exporters

MINE = "my own notes\n"

OUTPUTS = {
    "report as HTML": ("report", "run", "-o", "mine.html"),
    "report as Markdown": ("report", "run", "-o", "mine.md"),
    "report as CSV": ("report", "run", "-o", "mine.csv"),
    "report without -o": ("report", "run"),
    "leaderboard as text": ("leaderboard", "run", "-o", "mine.txt"),
    "leaderboard as Markdown": ("leaderboard", "run", "-o", "mine.md"),
    "leaderboard as CSV": ("leaderboard", "run", "-o", "mine.csv"),
    "leaderboard as JSON": ("leaderboard", "run", "-o", "mine.json"),
    "leaderboard as HTML": ("leaderboard", "run", "-o", "mine.html"),
    "labels": ("label", "run", "--export", "mine.csv"),
    "export as CSV": ("export", "run", "-o", "mine.csv"),
    "export as Parquet": ("export", "run", "--to", "parquet", "-o", "mine.parquet"),
    "export for lm-eval": ("export", "run", "--to", "lm-eval-json", "-o", "mine.json"),
    "export without -o": ("export", "run"),
    "charts": ("report", "run", "--charts", "drawings"),
    "new benchmark": ("new", "benchmark", "mine"),
}
"""Commands that write a file into a folder of the user."""
FILES = {
    "report without -o": "report.html",
    "export without -o": "run/samples.csv",
    "charts": "drawings/exact_match-numbers.svg",
    "new benchmark": "mine.py",
}
"""The file each of them writes, if it is not the last word."""
NEVER_REPLACED = {"new benchmark"}
"""Commands that replace no file at all."""
FOLDERS = {
    "run": ("run", "sums.jsonl", "--model", "four.py:generate", "-o", "mine"),
    "fresh run": (
        "run", "sums.jsonl", "--model", "four.py:generate", "-o", "mine", "--fresh",
    ),
    "demo": ("demo", "text", "-o", "mine"),
    "merge": ("merge", "run", "-o", "mine"),
    "bundle": ("view", "run", "--bundle", "mine"),
    "cache": (
        "run", "sums.jsonl", "--model", "four.py:generate", "-o", "other", "--cache", "mine",
    ),
    "copy": ("export", "run", "file://{folder}/mine"),
}  # fmt: skip
"""Commands that write a folder."""
ADD_FILES = {"cache"}
"""Those that may add files to a folder which has others."""


@pytest.fixture
def finished(assay, folder):
    said = assay("run", "sums.jsonl", "--model", "four.py:generate", "-o", "run")
    assert said.code == 0, said.err
    return folder


def output_of(name, folder):
    path = folder / FILES.get(name, OUTPUTS[name][-1])
    path.parent.mkdir(exist_ok=True)
    return path


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_file_of_the_user_is_left_as_it_is(name, assay, finished):
    path = output_of(name, finished)
    path.write_text(MINE)

    said = assay(*OUTPUTS[name])

    assert said.code == 2
    assert said.err.count("\n") == 1 and "; fix: " in said.err
    assert path.read_text() == MINE


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("is_dangling", [False, True])
def test_nothing_is_written_through_a_link(name, is_dangling, assay, finished):
    path = output_of(name, finished)
    target = finished / "elsewhere.txt"
    if not is_dangling:
        target.write_text(MINE)
    path.symlink_to(target)

    said = assay(*OUTPUTS[name])

    assert said.code == 2
    assert path.is_symlink()
    assert target.exists() is not is_dangling
    if not is_dangling:
        assert target.read_text() == MINE


@pytest.mark.parametrize("name", [n for n in OUTPUTS if n not in NEVER_REPLACED])
def test_a_file_that_assay_wrote_is_replaced_until_its_user_changes_it(
    name, assay, finished
):
    path = output_of(name, finished)

    first = assay(*OUTPUTS[name])
    written = path.read_bytes()
    second = assay(*OUTPUTS[name])
    with path.open("a") as file:
        file.write(MINE)
    changed = path.read_bytes()
    third = assay(*OUTPUTS[name])

    assert (first.code, second.code, third.code) == (0, 0, 2), (first, second, third)
    assert written
    assert "has changed since assay wrote it" in third.err
    assert path.read_bytes() == changed


@pytest.mark.parametrize("name", [name for name in FOLDERS if name != "demo"])
def test_a_folder_of_the_user_is_left_as_it_is(name, assay, finished):
    own = finished / "mine"
    own.mkdir()
    for file in ("notes.txt", "summary.json", "index.html"):
        (own / file).write_text(MINE)

    said = assay(*(word.format(folder=finished) for word in FOLDERS[name]))

    assert said.code == (0 if name in ADD_FILES else 2), said
    for file in ("notes.txt", "summary.json", "index.html"):
        assert (own / file).read_text() == MINE


@pytest.mark.parametrize("name", FOLDERS)
def test_a_file_in_place_of_a_folder_is_left_as_it_is(name, assay, finished):
    (finished / "mine").write_text(MINE)

    said = assay(*(word.format(folder=finished) for word in FOLDERS[name]))

    assert said.code == 2, said
    assert "Error" not in said.err
    assert (finished / "mine").read_text() == MINE


def test_a_device_takes_a_report(assay, finished):
    assert assay("report", "run", "-o", os.devnull, "--format", "csv").code == 0
    assert not os.path.isfile(os.devnull)


def test_a_missing_folder_is_a_usage_error(assay, finished):
    for words in (
        ("report", "run", "-o", "nowhere/report.html"),
        ("leaderboard", "run", "-o", "nowhere/board.md"),
        ("label", "run", "--export", "nowhere/labels.csv"),
        ("export", "run", "-o", "nowhere/samples.csv"),
    ):
        said = assay(*words)

        assert said.code == 2 and "there is no such folder" in said.err, words


def test_a_killed_write_leaves_a_file_that_can_be_replaced(
    assay, finished, monkeypatch
):
    """The digest is noted before the rename, so the older file still counts as assay's."""
    assert assay("report", "run", "-o", "r.csv").code == 0

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", killed)
        assert assay("report", "run", "-o", "r.csv").code == 130

    assert assay("report", "run", "-o", "r.csv").code == 0
    assert sorted(path.name for path in finished.glob(".r.csv*")) == []


@pytest.mark.parametrize(
    "name",
    ["report as HTML", "leaderboard as CSV", "labels", "export as CSV", "charts"],
)
def test_a_name_that_is_too_long_is_a_usage_error(name, assay, finished):
    *words, path = OUTPUTS[name]

    said = assay(*words, "x" * 300 + path)

    assert said.code == 2 and "File name too long; fix:" in said.err


def test_a_rotated_table_that_its_user_edited_is_left_as_it_is(assay, folder):
    pytest.importorskip("pandas")
    (folder / "x.tsv").write_text("index\tquestion\tA\tB\tanswer\n0\twhich?\ta\tb\tA\n")
    assert assay("vlmeval", "circular", "x.tsv").code == 0
    assert assay("vlmeval", "circular", "x.tsv").code == 0
    (folder / "x_circular.tsv").write_text(MINE)

    said = assay("vlmeval", "circular", "x.tsv")

    assert said.code == 2 and "has changed since assay wrote it" in said.err
    assert (folder / "x_circular.tsv").read_text() == MINE


@pytest.mark.parametrize("was_there", [False, True])
def test_a_bundle_that_cannot_be_written_leaves_nothing(
    was_there, assay, finished, monkeypatch
):
    if was_there:
        (finished / "bundle").mkdir()
    before = sorted(finished.rglob("*"))

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patches:
        patches.setattr("assay.view.saved_pages.folder_page", fail)
        said = assay("view", "run", "--bundle", "bundle")

    assert said.code == 74 and "; fix: free some space" in said.err
    assert sorted(finished.rglob("*")) == before
    assert assay("view", "run", "--bundle", "bundle").code == 0


WRITES = {
    ("run", "-o"): FOLDERS["run"],
    ("run", "--cache"): FOLDERS["cache"],
    ("leaderboard", "-o"): OUTPUTS["leaderboard as CSV"],
    ("view", "--bundle"): FOLDERS["bundle"],
    ("report", "-o"): OUTPUTS["report as HTML"],
    ("report", "--charts"): OUTPUTS["charts"],
    ("label", "--export"): OUTPUTS["labels"],
    ("new", "--dir"): OUTPUTS["new benchmark"],
    ("export", "url"): FOLDERS["copy"],
    ("export", "-o"): OUTPUTS["export as CSV"],
    ("merge", "-o"): FOLDERS["merge"],
    ("demo", "-o"): FOLDERS["demo"],
}
"""Options that name a file or a folder to write, and a command of this module that uses them."""
WRITES_LIKE_A_TOOLKIT = {
    ("pipeline", "-o"),
    ("pipeline", "--output-dir"),
    ("pipeline", "--inferoutput"),
    ("televal", "--save_dir"),
    ("ulmeval", "--work-dir"),
}
"""Options of toolkits' commands, tested with the toolkits."""
READS = {
    "run": {"--data", "--template", "--agent_args", "--register", "--media_root", "--include_path", "-C"},
    "label": {"--import"},
    "doctor": {"--scan_logs", "--runs"},
    "conformance": {"--against"},
    "parity": {"--data"},
    "pipeline": {"--dataset-path", "--register", "--template"},
    "televal": {"--registry"},
    "ulmeval": {"--register", "--result-file"},
}  # fmt: skip
"""Options that name what is read."""
WRITES_NO_FILE = {
    ("label", "--by"), ("show", "--sort"), ("run", "--budget"), ("run", "--dialect"), ("run", "-t"), ("run", "-M"),
    ("televal", "--save_pred_audio"), ("ulmeval", "--data"), ("ulmeval", "--model"), ("pipeline", "--model"),
}  # fmt: skip
NAMES_A_FILE = re.compile(
    r"\b(file|files|folder|dir|path|write|writes|output|out|export|save)\b|svg|bundle",
    re.IGNORECASE,
)


def options_that_name_files():
    for verb in VERBS:
        for action in _actions(verb):
            if action.nargs == 0 or action.choices or action.type in (int, float):
                continue
            names = action.option_strings or [action.dest]
            words = " ".join([*names, str(action.metavar), str(action.help)])
            if NAMES_A_FILE.search(words.replace("_", " ").replace("-", " ")):
                yield verb, names[0]


def test_every_option_that_may_write_a_file_is_known_here(capsys):
    options = set(options_that_name_files())
    unknown = [
        (verb, name)
        for verb, name in options
        if (verb, name) not in {*WRITES, *WRITES_LIKE_A_TOOLKIT, *WRITES_NO_FILE}
        and name not in {"--data", "--template", *READS.get(verb, ())}
        and (name.startswith("-") or name in ("url", "output"))
    ]

    assert not unknown, "say in WRITES or READS what these options do, and test them"
    assert options >= {*WRITES, *WRITES_LIKE_A_TOOLKIT}
    for (verb, name), words in WRITES.items():
        assert words[0] == verb
        assert name in words or name in ("url", "--dir")


SERVICES = {"mlflow", "trackio", "wandb"}
"""Exporters that send a run to a service."""


@pytest.mark.parametrize("exporter", sorted(set(exporters.names()) - SERVICES))
def test_no_exporter_replaces_a_file_of_the_user(exporter, assay, finished):
    for folder in ("first", "second"):
        (finished / folder).mkdir()
    name = {"csv": "out.csv", "parquet": "out.parquet"}.get(exporter, "out.json")
    words = ("export", "run", "--to", exporter, "-o")
    first = assay(*words, f"first/{name}")
    if first.code != 0:
        pytest.skip(first.err)
    written = [
        path.relative_to(finished / "first")
        for path in (finished / "first").rglob("*")
        if path.is_file() and not path.name.startswith(".")
    ]
    assert written
    for path in written:
        (finished / "second" / path).parent.mkdir(parents=True, exist_ok=True)
        (finished / "second" / path).write_text(MINE)

    second = assay(*words, f"second/{name}")

    assert {(finished / "second" / path).read_text() for path in written} == {MINE}
    added = [p for p in (finished / "second").rglob("*") if p.name[0] != "."]
    if second.code == 0:  # its files have random names
        assert len(added) > len(list((finished / "first").rglob("[!.]*")))
