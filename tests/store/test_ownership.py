"""Whose a file is: a run is written to a new, empty or own folder, and no file that assay did not write is touched."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay
from assay.core import Abilities, Image, Output, StoreError, UsageError
from assay.store import RunWriter
from assay.store.journal import seal
from assay.store.ownership import refuse_foreign

ROWS = [{"id": str(n), "question": f"q{n}", "answer": f"a{n}"} for n in range(3)]
PNG = b"\x89PNG\r\n\x1a\n"


class Painter:
    """Answers with words and an image, so that media are written too."""

    abilities = Abilities()
    identity = {"painter": 1}  # noqa: RUF012 - never changed

    def generate(self, requests):
        return [
            Output.of(assay.Text(f"a{r.id}"), Image(PNG + r.id.encode()))
            for r in requests
        ]


def run(folder: Path, **more):
    return assay.run(
        assay.Task("t", dataset=ROWS, scorers="exact_match"),
        Painter(),
        output=str(folder),
        **more,
    )


def snapshot(folder: Path) -> dict[str, tuple]:
    """Every entry under a folder: what it is, what it holds, and whether it was written to."""
    found = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        content = (
            os.readlink(path)
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else None
        )
        found[str(path.relative_to(folder))] = (
            state.st_mode,
            state.st_ino,
            state.st_mtime_ns,
            content,
        )
    return found


DIGEST = Image(PNG + b"0").digest
FOREIGN_TEXT = st.sampled_from(
    [
        b"",
        b"{}",
        b"my notes",
        b'{"mine": 1}',
        b'{"kind":"output"}\n',
        b'{"id": 1, "question": "2+2?"}\n{"id": 2}\n',
        b'{"format": 2}',
        b'{"format": 1, "status": "complete"}',
        b'{"pid": 1}',
        b"\x00\xff\n",
        b'[{"format": 2}]',
    ]
)
FOREIGN_NAMES = [
    "run.json", "records.jsonl", "summary.json", ".lock", "media/cat.png", f"media/{DIGEST[:2]}/{DIGEST}.png",
    f"media/{DIGEST[:2]}/notes.txt", ".run.json.0123456789abcdef", ".summary.json.0123456789abcdef",
    "..lock.0123456789abcdef", "data.jsonl", "notes/todo.txt", "media", ".assay-files.jsonl",
]  # fmt: skip
FILES = st.dictionaries(st.sampled_from(FOREIGN_NAMES), FOREIGN_TEXT, max_size=5)


def put(folder: Path, files: dict[str, bytes], *, as_links: bool) -> None:
    """Files of somebody else; links lead to files beside the folder."""
    for number, (name, content) in enumerate(files.items()):
        path = folder / name
        if os.path.lexists(path) or any(parent.is_file() for parent in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if as_links and number % 2:
            target = folder.parent / f"target{number}"
            target.write_bytes(content)
            path.symlink_to(target)
        else:
            path.write_bytes(content)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files=FILES, is_run=st.booleans(), as_links=st.booleans(), fresh=st.booleans())
def test_no_file_that_assay_did_not_write_is_touched(files, is_run, as_links, fresh):
    place = Path(tempfile.mkdtemp())
    folder = place / "run"
    folder.mkdir()
    if is_run:
        with RunWriter(folder):
            pass
        for name in files:  # a file that a run has cannot be somebody else's too, unless it was put in its place
            if (folder / name).is_file():
                (folder / name).unlink()
    put(folder, files, as_links=as_links)
    own = {"run.json", "records.jsonl", "summary.json", ".lock"} - files.keys()
    before = {
        name: state
        for name, state in snapshot(place).items()
        if name.removeprefix("run/") not in own
    }
    listed = set(os.listdir(folder))

    try:
        run(folder, fresh=fresh)
        was_run = True
    except (UsageError, StoreError):
        was_run = False

    after = snapshot(place)
    kept = {
        name: state
        for name, state in before.items()
        if not _is_own_leftover(name, state)
    }
    changed = [name for name, state in kept.items() if _differs(state, after.get(name))]
    assert changed == []
    if not was_run and not is_run:
        assert set(os.listdir(folder)) <= listed | {".lock"}
    shutil.rmtree(place)


def _differs(before: tuple, after: tuple | None) -> bool:
    is_folder = before[3] is None
    return after is None or (before[0] != after[0] if is_folder else before != after)


def _is_own_leftover(name: str, state: tuple) -> bool:
    """What cannot be told from what a killed run leaves: a draft, journal or lock with nothing in it."""
    base = name.rpartition("/")[2]
    return state[3] == b"" and base.startswith(
        (".run.json.", ".summary.json.", ".lock", "..lock.", "records.jsonl")
    )


@pytest.mark.parametrize(
    "name",
    [
        "data.jsonl",
        "run.json",
        "records.jsonl",
        "summary.json",
        ".lock",
        "media/cat.png",
    ],
)
@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_of_another_user_is_refused_before_work_in_one_line(
    tmp_path, name, fresh
):
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"name": "mine"}\n')
    asked = []

    with pytest.raises(UsageError) as caught:
        task = assay.Task("t", dataset=ROWS)
        assay.run(
            task,
            lambda messages: asked.append(1),
            output=str(tmp_path / "mine"),
            fresh=fresh,
        )

    assert (
        "\n" not in str(caught.value)
        and "fix: " in str(caught.value)
        and "with -o" in str(caught.value)
    )
    assert caught.value.exit_code == 2 and asked == []
    assert (
        path.read_text() == '{"name": "mine"}\n'
        and len(list((tmp_path / "mine").rglob("*"))) <= 2
    )


def test_a_dataset_in_the_output_folder_is_refused(tmp_path, monkeypatch):
    (tmp_path / "records.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    text = (tmp_path / "records.jsonl").read_bytes()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"not an assay run: records.jsonl"):
        assay.run("records.jsonl", "scripted", output=".")

    assert (tmp_path / "records.jsonl").read_bytes() == text and os.listdir(
        tmp_path
    ) == ["records.jsonl"]


def test_the_root_folder_is_refused():
    with pytest.raises(UsageError, match="not an assay run"):
        refuse_foreign(Path("/"))


def test_a_journal_that_is_the_dataset_of_its_own_run_is_refused(tmp_path):
    run(tmp_path / "run")

    with pytest.raises(
        UsageError,
        match=r"records\.jsonl is written by this run, and it is also its data",
    ):
        assay.run(
            str(tmp_path / "run" / "records.jsonl"),
            "scripted",
            output=str(tmp_path / "run"),
        )


def test_notes_in_a_run_folder_stay_and_the_run_continues(tmp_path):
    run(tmp_path / "run")
    (tmp_path / "run" / "notes.md").write_text("good so far")
    (tmp_path / "run" / "media" / "cat.png").write_text("my cat")

    assert run(tmp_path / "run", limit=2).status == "complete"
    assert run(tmp_path / "run", fresh=True).status == "complete"

    assert (tmp_path / "run" / "notes.md").read_text() == "good so far"
    assert (tmp_path / "run" / "media" / "cat.png").read_text() == "my cat"


def test_fresh_removes_the_media_that_the_journal_names_and_no_other(tmp_path):
    run(tmp_path / "run")
    own = list((tmp_path / "run" / "media").rglob("*.png"))
    other = own[0].with_name(f"{'0' * 64}.png")
    other.write_bytes(b"somebody else's")

    assay.run(
        assay.Task("t", dataset=ROWS),
        "scripted",
        output=str(tmp_path / "run"),
        fresh=True,
    )

    assert len(own) == 3 and not any(path.exists() for path in own)
    assert other.read_bytes() == b"somebody else's"


@pytest.mark.parametrize(
    "left",
    [
        [],
        [".lock"],
        [".lock", ".run.json"],
        ["..lock.0123456789abcdef"],
        [".lock", "run.json"],
        [".lock", "run.json", "records.jsonl"],
        [".lock", "run.json", ".summary.json"],
    ],
)
def test_what_a_killed_run_leaves_is_known_as_its_own(tmp_path, left):
    run(tmp_path / "whole")
    (tmp_path / "run").mkdir()
    for name in left:
        if name in (".run.json", ".summary.json"):
            text = (tmp_path / "whole" / name[1:]).read_bytes()[:20]
            (tmp_path / "run" / f"{name}.0123456789abcdef").write_bytes(text)
        elif name.startswith("..lock."):
            (tmp_path / "run" / name).write_bytes(b"")
        else:
            shutil.copy(tmp_path / "whole" / name, tmp_path / "run" / name)

    assert run(tmp_path / "run").status == "complete"

    assert not [
        path for path in (tmp_path / "run").iterdir() if "0123456789abcdef" in path.name
    ]


def test_a_torn_first_line_is_a_journal_and_rows_with_a_kind_are_not(tmp_path):
    with RunWriter(tmp_path / "run"):
        pass
    (tmp_path / "run" / "records.jsonl").write_bytes(
        seal({"kind": "output", "task": "t"})[:30]
    )
    refuse_foreign(tmp_path / "run")
    (tmp_path / "run" / "records.jsonl").write_text(
        '{"kind":"output","id":1}\n{"kind":"score"}\n'
    )

    with pytest.raises(
        UsageError, match=r"records\.jsonl here was not written by assay"
    ):
        refuse_foreign(tmp_path / "run")


@pytest.mark.parametrize(
    "name", ["run.json", "records.jsonl", "summary.json", ".lock", "media"]
)
def test_a_link_in_place_of_a_file_of_the_run_is_refused(tmp_path, name):
    run(tmp_path / "run")
    shutil.move(tmp_path / "run" / name, tmp_path / "elsewhere")
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere")
    before = snapshot(tmp_path)

    with pytest.raises(
        UsageError, match="is a link, and a run would be written through it"
    ):
        run(tmp_path / "run", limit=1)

    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_damaged_run_json_is_named_with_its_fix_and_the_journal_alone_is_enough(
    tmp_path, text
):
    run(tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(text)

    with pytest.raises(
        UsageError,
        match=r"run\.json (is empty|is not valid JSON|was not written by assay); fix: ",
    ):
        run(tmp_path / "run")
    (tmp_path / "run" / "run.json").unlink()
    result = run(tmp_path / "run")

    assert result.status == "complete" and result.usage["t/Painter"]["asked"] == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"results": 3, "status": "complete"}']
)
def test_a_damaged_summary_is_made_anew(tmp_path, text):
    before = run(tmp_path / "run")[0].value
    (tmp_path / "run" / "summary.json").write_text(text)

    result = run(tmp_path / "run")

    assert result.status == "complete" and result[0].value == before
    assert any("summary.json has changed" in note for note in result.notes)
    assert (
        json.loads((tmp_path / "run" / "summary.json").read_text())["results"][0][
            "value"
        ]
        == before
    )


def test_run_json_is_written_before_anything_else(tmp_path, monkeypatch):
    seen = []
    real = os.open

    def noted(path, *more, **most):
        seen.append(Path(path).name)
        return real(path, *more, **most)

    monkeypatch.setattr(os, "open", noted)
    with RunWriter(tmp_path / "run"):
        pass

    written = [
        name
        for name in seen
        if name not in (".lock", "run") and not name.startswith("..lock.")
    ]
    assert written[0].startswith(".run.json.") and written[-1] == "records.jsonl"


def test_a_cache_refuses_a_database_that_assay_did_not_write(tmp_path):
    import sqlite3

    from assay.store.cache import ResponseCache

    database = sqlite3.connect(tmp_path / "responses.sqlite")
    database.execute("create table poems (line text)")
    database.commit()
    database.close()
    before = snapshot(tmp_path)

    with pytest.raises(
        StoreError, match="not an assay cache; fix: choose another --cache folder"
    ):
        ResponseCache(tmp_path)

    assert snapshot(tmp_path) == before
