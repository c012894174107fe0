"""Media inside data files: found by digest, whatever the format, and only if they are media."""

import base64
import hashlib
import json
from pathlib import Path

import pytest
from made_runs import answered, manifest, png, wav, write_run

from assay.view.run_folders import RunFolders
from assay.view.run_media import DataMedia, data_files


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def written(folder: Path, kind: str, images: list[bytes]) -> Path:
    texts = [base64.b64encode(data).decode() for data in images]
    path = folder / f"data.{kind}"
    if kind == "tsv":
        path.write_text(
            "index\timage\tanswer\n"
            + "".join(f"{n}\t{text}\tx\n" for n, text in enumerate(texts))
        )
    elif kind == "jsonl":
        rows = [
            {"id": n, "images": [f"data:image/png;base64,{text}"]}
            for n, text in enumerate(texts)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(
            pyarrow.table(
                {"image": [{"bytes": data, "path": None} for data in images]}
            ),
            path,
        )
    return path


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "parquet"])
def test_a_medium_is_found_in_its_row_first_and_again(tmp_path: Path, kind: str):
    images = [png((n, 0, 0)) for n in range(5)]
    held = DataMedia([written(tmp_path, kind, images)])

    found = [held.get(digest(images[n])) for n in (3, 0, 3, 4)]

    assert found == [images[3], images[0], images[3], images[4]]


def test_what_is_not_there_or_is_not_a_medium_is_none(tmp_path: Path):
    text = b"not a medium, but long enough to be taken for base64 by its length" * 8
    held = DataMedia(
        [
            written(tmp_path, "tsv", [text]),
            tmp_path / "gone.tsv",
            Path("/dev/zero"),
            Path("nul\0"),
        ]
    )

    assert held.get(digest(text)) is None and held.get("0" * 64) is None


def test_a_data_file_that_has_changed_hands_out_nothing_else(tmp_path: Path):
    first, second = png((1, 1, 1)), png((2, 2, 2))
    path = written(tmp_path, "tsv", [first, second])
    held = DataMedia([path])
    assert held.get(digest(second)) == second
    written(tmp_path, "tsv", [second, first])

    assert held.get(digest(first)) is None


def test_the_page_finds_what_the_run_was_given_in_its_data(tmp_path: Path):
    image, tone = png(), wav()
    described = manifest("sums")
    described["cells"][0]["digests"] = {
        "data": {"files": [{"path": str(written(tmp_path, "tsv", [image, tone]))}]}
    }
    content = [
        {"type": "image", "sha256": digest(image)},
        {"type": "audio", "sha256": digest(tone)},
    ]
    write_run(
        tmp_path / "run",
        [answered("a", [{"role": "user", "content": content}], "x")],
        described=described,
    )
    folders = RunFolders(tmp_path / "run")
    run = folders.refresh()[0]

    shelf = folders.media(run)
    found = [shelf.find(run.record(0), digest(data)) for data in (image, tone)]

    assert [(one.type, one.data()) for one in found] == [
        ("image/png", image),
        ("audio/wav", tone),
    ]
    assert (
        len(shelf.thumbnail(found[0])) < 2000 and len(shelf.waveform(found[1])) == 600
    )


def test_a_relative_path_is_found_from_every_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    image = png()
    (tmp_path / "sub" / "media").mkdir(parents=True)
    (tmp_path / "sub" / "media" / "a.png").write_bytes(image)
    data = tmp_path / "sub" / "data.jsonl"
    data.write_text("{}")
    described = manifest("sums")
    described["cells"][0]["digests"] = {"data": {"files": [{"path": str(data)}]}}
    part = {"type": "image", "sha256": digest(image), "path": "sub/media/a.png"}
    write_run(
        tmp_path / "run",
        [answered("a", [{"role": "user", "content": [part]}], "x")],
        described=described,
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    folders = RunFolders(tmp_path / "run")
    run = folders.refresh()[0]

    medium = folders.media(run).find(run.record(0), digest(image))

    assert medium.data() == image


@pytest.mark.parametrize(
    "cell",
    [
        {},
        {"digests": None},
        {"digests": {"data": {"files": "x"}}},
        {"digests": {"data": {"files": [1, {"path": 2}]}}},
    ],
)
def test_a_manifest_that_names_no_files_has_none(cell: dict):
    assert data_files(cell) == []
