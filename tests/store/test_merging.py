"""Shards of a run become one run folder, as if it had been run in one piece."""

import json
import shutil

import pytest

import assay
from assay.cli.main import main
from assay.core import Image, StoreError
from assay.store.merging import merge_runs

ROWS = [
    {"id": str(n), "question": f"{n} + 1 =", "answer": str(n + 1)} for n in range(10)
]


@pytest.fixture
def parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    (tmp_path / "model.py").write_text(
        "def generate(messages):\n    return messages[-1]['content'].split()[0]\n"
    )

    def make(count=2, **settings):
        return [
            assay.run(
                "rows.jsonl",
                model="model.py:generate",
                shard=f"{at}/{count}",
                output=f"part{at}",
                **settings,
            ).folder
            for at in range(1, count + 1)
        ]

    return make


def whole(folder, **settings):
    return assay.run(
        "rows.jsonl", model="model.py:generate", output=str(folder), **settings
    )


def asked(result):
    (spent,) = result.usage.values()
    return spent["asked"]


def test_merged_shards_are_the_run_in_one_piece(parts, tmp_path):
    merged = merge_runs(parts(3), tmp_path / "all")

    together, apart = whole(tmp_path / "all"), whole(tmp_path / "once")

    assert merged.lines > 0 and merged.damaged == 0
    assert asked(together) == 0 and asked(apart) == 10
    assert together.status == "complete"
    assert [r.to_plain() for r in together.results] == [
        r.to_plain() for r in apart.results
    ]


def test_samples_that_no_shard_has_are_asked(parts, tmp_path):
    merge_runs(parts(3)[:2], tmp_path / "all")

    assert asked(whole(tmp_path / "all")) == 3


def test_media_of_all_shards_come_along(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from PIL import Image as Pixels

    def draw(messages):
        return Image(
            Pixels.new("RGB", (2, 2), tuple(3 * [int(messages[-1]["content"][0])]))
        )

    def drawn(sample, output):
        return bool(output.media)

    task = assay.Task("pictures", ROWS[:4], produces=("image",), scorers=(drawn,))
    folders = [
        assay.run([task], model=draw, shard=f"{at}/2", output=f"p{at}").folder
        for at in (1, 2)
    ]

    merged = merge_runs(folders, "all")
    together = assay.run([task], model=draw, output="all")

    assert merged.media == 4
    assert asked(together) == 0 and together.value("drawn") == 1.0


def test_a_damaged_line_is_left_out_and_counted(parts, tmp_path):
    first, second = parts()
    journal = first / "records.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0].replace(b'"kind"', b'"kinb"'), *lines[1:]]))

    assert merge_runs([first, second], tmp_path / "all").damaged == 1
    assert whole(tmp_path / "all").status == "complete"


def test_parts_that_were_not_asked_alike_are_refused(parts, tmp_path):
    (first, _) = parts()
    other = assay.run(
        "rows.jsonl",
        model="model.py:generate",
        shard="2/2",
        output="other",
        system="Be short.",
    ).folder

    with pytest.raises(
        StoreError,
        match=r"rows on model\.py:generate was not asked as in .*: template differ",
    ):
        merge_runs([first, other], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_a_folder_that_holds_something_is_not_written_to(parts, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")

    with pytest.raises(
        StoreError, match="the folder is not empty; fix: -o a new folder"
    ):
        merge_runs(parts(), mine)
    assert [path.name for path in mine.iterdir()] == ["notes.txt"]


def test_the_configuration_of_a_part_is_not_taken_over(parts, tmp_path):
    merge_runs(parts(), tmp_path / "all")

    assert "config" not in json.loads((tmp_path / "all" / "run.json").read_text())


def test_the_command_says_what_to_type_next(parts, capsys):
    folders = [str(folder) for folder in parts()]
    capsys.readouterr()

    assert main(["merge", *folders, "-o", "all"]) == 0
    assert "run … -o all" in capsys.readouterr().out
    assert main(["merge", *folders]) == 2
    assert "-o DIR" in capsys.readouterr().err


@pytest.mark.parametrize("again", ["the same folder", "a copy of it"])
def test_the_same_part_twice_is_refused_before_anything_is_written(
    parts, tmp_path, again
):
    first = parts(2)[0]
    other = first
    if again == "a copy of it":
        other = tmp_path / "copy"
        shutil.copytree(first, other)

    with pytest.raises(
        StoreError,
        match=r"holds the same part of rows on .* as .*part1; fix: name each",
    ):
        merge_runs([first, other], tmp_path / "all")

    assert not (tmp_path / "all").exists()
