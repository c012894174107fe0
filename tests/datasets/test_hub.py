"""Hugging Face ids: snapshots on disk, and what is said when there is none."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from dataset_rows import ROWS, json_lines

from assay.core import Image, MissingExtra, Sample, UsageError
from assay.datasets import open_dataset
from assay.datasets.hub import HubName, HubRows, find_snapshot, without_decoding


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with one dataset of two revisions, two splits and a configuration folder."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "datasets--org--exam"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("bbb")
    for revision, rows in (("aaa", ROWS[:3]), ("bbb", ROWS)):
        data = folder / "snapshots" / revision / "data"
        data.mkdir(parents=True)
        (data.parent / "README.md").write_text("# exam")
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pylist(rows), data / "test-00000-of-00001.parquet"
        )
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pylist(rows[:2]), data / "train-00000-of-00001.parquet"
        )
    law = folder / "snapshots" / "bbb" / "law"
    law.mkdir()
    (law / "test.jsonl").write_bytes(b"".join(json_lines(ROWS[:5])))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "split", "count"),
    [
        ("hf://org/exam@law", "test", 5),
        ("hub:org/exam@law#test", None, 5),
        ("hf://datasets/org/exam?revision=aaa", "test", 3),
        ("hf://org/exam?revision=aaa#train", None, 2),
        ("hub:org/exam@law#all", None, 5),
    ],
)
def test_a_snapshot_on_disk_is_read_without_the_library(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    split: str | None,
    count: int,
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)

    samples = open_dataset(text, split=split)

    assert len(list(samples)) == count
    assert all(isinstance(sample, Sample) for sample in samples)


def test_the_main_revision_is_taken_when_none_is_named(cache: Path) -> None:
    folder = find_snapshot(HubName.of("hf://org/exam"))

    assert folder == cache / "datasets--org--exam" / "snapshots" / "bbb"
    assert find_snapshot(HubName.of("hf://org/other")) is None
    assert find_snapshot(HubName.of("hf://org/exam?revision=ccc")) is None


def test_without_snapshot_and_library_the_error_says_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)

    with pytest.raises(
        MissingExtra,
        match=r"hf://org/none: datasets.*is not installed; fix: pip install 'assay\[hf\]', or pass --data PATH",
    ):
        open_dataset("hf://org/none")


@pytest.mark.parametrize(
    "text", ["hf://exam", "hf://../../etc", "hub:org/name/x/y", "hf://org/na me"]
)
def test_an_invalid_hub_id_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a Hugging Face dataset id"):
        open_dataset(text)


def test_the_library_gives_the_rows_and_media_stay_bytes(tmp_path: Path) -> None:
    pytest.importorskip("datasets.features", reason="the extra hf is not installed")
    library: Any = importlib.import_module("datasets")
    png = b"\x89PNG\r\n\x1a\nnot really a picture"
    data = library.Dataset.from_list(
        [{"question": "?", "answer": "x", "image": {"bytes": png, "path": None}}],
        features=library.Features(
            question=library.Value("string"),
            answer=library.Value("string"),
            image=library.Image(),
        ),
    )

    row = next(HubRows("hf://a/b", without_decoding(data)).rows())[2]
    (sample,) = open_dataset([row])

    assert isinstance(sample, Sample)
    assert sample.media == (Image(png),)


def test_the_library_streams_the_named_split(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets.features", reason="the extra hf is not installed")
    library: Any = importlib.import_module("datasets")
    asked: list[Any] = []

    def load(*args: Any, **options: Any) -> Any:
        asked.append((args, options))
        return library.Dataset.from_list(ROWS).to_iterable_dataset()

    monkeypatch.setattr(library, "load_dataset", load)
    monkeypatch.setattr("assay.datasets.hub.hub_can_be_reached", lambda: True)

    samples = open_dataset("hf://org/other@law?revision=abc#dev")

    assert [sample.id for sample in samples] == [row["id"] for row in ROWS]
    assert asked == [
        (("org/other", "law"), {"split": "dev", "revision": "abc", "streaming": True})
    ]
    assert samples.fingerprint() == {"source": "hf://org/other@law?revision=abc#dev"}


def test_all_splits_of_a_snapshot_are_read_in_the_order_of_their_names(
    cache: Path,
) -> None:
    folder = cache / "datasets--org--exam" / "snapshots" / "bbb" / "fields"
    folder.mkdir()
    for split, rows in (("test", ROWS[2:4]), ("law", ROWS[:2])):
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pylist(rows), folder / f"{split}-00000-of-00001.parquet"
        )

    samples = open_dataset("hub:org/exam@fields#all")

    assert [sample.id for sample in samples] == [row["id"] for row in ROWS[:4]]


def test_all_splits_are_read_one_after_the_other(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets.features", reason="the extra hf is not installed")
    library: Any = importlib.import_module("datasets")
    asked: list[Any] = []

    def load(*args: Any, **options: Any) -> Any:
        asked.append(options["split"])
        rows = [{**row, "id": f"law {row['id']}"} for row in ROWS]
        return {
            "law": library.Dataset.from_list(rows).to_iterable_dataset(),
            "physics": library.Dataset.from_list(ROWS).to_iterable_dataset(),
        }

    monkeypatch.setattr(library, "load_dataset", load)
    monkeypatch.setattr("assay.datasets.hub.hub_can_be_reached", lambda: True)

    samples = open_dataset("hf://org/other@fields#all")

    assert [sample.id for sample in samples] == [f"law {row['id']}" for row in ROWS] + [
        row["id"] for row in ROWS
    ]
    assert asked == [None]


def test_without_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("datasets.features", reason="the extra hf is not installed")
    script = (
        "from assay.datasets import open_dataset\n"
        "try: open_dataset('hf://org/none')\n"
        "except Exception as e: print(e)"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}

    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )

    assert run.stdout.startswith("hf://org/none: cannot load from the hub: ")
    assert "pass --data PATH with a local copy" in run.stdout
    assert run.stdout.count("\n") == 1
