"""What a media cell may be: path, bytes, base64, data URL, image, array, struct; and what a row may reach."""

import base64
import importlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import soundfile
from dataset_rows import Read
from PIL import Image as pillow

from assay.core import Audio, DataError, Image, Media, Sample, UsageError
from assay.datasets import open_dataset
from assay.datasets.hub import HubRows
from assay.datasets.undecoded import without_decoding
from assay.media import audio_from, check_media, decode_audio, decode_image


def png(colour: tuple[int, int, int] = (9, 8, 7)) -> bytes:
    buffer = io.BytesIO()
    pillow.new("RGB", (4, 3), colour).save(buffer, format="PNG")
    return buffer.getvalue()


def wav(rate: int = 8000) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(rate // 10), rate, format="WAV")
    return buffer.getvalue()


def only_medium(source: Any, **options: Any) -> Media:
    (sample,) = open_dataset(source, **options)
    assert isinstance(sample, Sample)
    (medium,) = sample.media
    return medium


def row(cell: Any, column: str = "image") -> dict[str, Any]:
    return {"id": "a", "question": "?", "answer": "x", column: cell}


def write_rows(path: Path, *cells: Any, column: str = "image") -> Path:
    lines = [
        json.dumps({**row(cell, column), "id": f"q{n}"})
        for n, cell in enumerate(cells, 1)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    "as_cell",
    [bytes, bytearray, memoryview, io.BytesIO],
    ids=lambda kind: kind.__name__,
)
def test_bytes_of_every_sort_arrive_as_they_are(as_cell: Any) -> None:
    assert only_medium([row(as_cell(png()))]).data() == png()


def test_base64_and_data_urls_arrive_as_they_are() -> None:
    text = base64.b64encode(png()).decode()

    assert only_medium([row(text)]).data() == png()
    assert only_medium([row(f"data:image/png;base64,{text}")]).data() == png()


def test_a_path_is_that_of_a_file_beside_the_rows(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())

    medium = only_medium(write_rows(tmp_path / "rows.jsonl", "a.png"))

    assert medium.data() == png()
    assert medium.source == tmp_path / "a.png"


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "CMYK", "1", "I;16"])
def test_a_pillow_image_of_any_mode_becomes_a_png_that_decodes(mode: str) -> None:
    picture = pillow.new("RGB", (4, 3), (255, 0, 0)).convert(
        "I" if mode == "I;16" else mode
    )
    picture = picture.convert(mode)

    medium = only_medium([row(picture)])

    assert medium.format == "png"
    made = decode_image(Image(medium.data()))
    assert (made.size, made.mode) == ((4, 3), "RGB")


def test_an_array_is_an_image_pixel_by_pixel() -> None:
    pixels = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)

    medium = only_medium([row(pixels)])

    assert np.array_equal(np.asarray(decode_image(Image(medium.data()))), pixels)


def test_an_array_that_is_not_an_image_is_a_fault_of_its_row() -> None:
    medium = only_medium([row(np.zeros((2, 2, 7), np.uint8))])

    with pytest.raises(
        DataError,
        match=r"^rows:1:image: no image can be made of an array of shape \(2, 2, 7\)",
    ):
        medium.data()


@pytest.mark.parametrize("shape", [(800,), (800, 2), (2, 800)])
def test_a_decoded_sound_is_kept_to_the_last_bit(shape: tuple[int, ...]) -> None:
    samples = (
        np.linspace(-1, 1, 800 * (len(shape) == 1 or 2))
        .astype(np.float32)
        .reshape(shape)
    )

    medium = only_medium(
        [row({"array": samples, "sampling_rate": 8000, "path": "a.mp3"}, "audio")]
    )
    made = decode_audio(Audio(medium.data()))

    assert made.rate == 8000
    assert np.array_equal(made.samples, samples.T if shape == (2, 800) else samples)


def test_a_decoded_sound_without_its_rate_is_the_fault_of_its_row() -> None:
    medium = only_medium([row({"array": [0.0, 0.1]}, "audio")])

    with pytest.raises(
        DataError, match=r"^rows:1:audio: the audio has no sampling_rate"
    ):
        medium.data()


def features(column: str, kind: str) -> dict[bytes, bytes]:
    """What the hub's library writes into a Parquet schema."""
    known: dict[str, Any] = {
        name: {"dtype": "string", "_type": "Value"}
        for name in ("id", "question", "answer")
    }
    known[column] = {"_type": kind}
    return {b"huggingface": json.dumps({"info": {"features": known}}).encode()}


HUB_COLUMNS = [("image", "Image", png()), ("audio", "Audio", wav())]


@pytest.mark.parametrize(
    ("column", "kind", "data"), HUB_COLUMNS, ids=["image", "audio"]
)
def test_a_parquet_file_of_the_hub_gives_the_bytes_in_its_structs(
    tmp_path: Path, column: str, kind: str, data: bytes
) -> None:
    table = pyarrow.Table.from_pylist(
        [row({"bytes": data, "path": "0001.bin"}, column)]
    )
    path = tmp_path / "test-00000-of-00001.parquet"
    pyarrow.parquet.write_table(
        table.replace_schema_metadata(features(column, kind)), path
    )

    medium = only_medium(path)

    assert medium.data() == data
    assert medium.name == "0001.bin"
    check_media(medium)


def test_plain_bytes_in_parquet_are_an_image(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row(png())]), path)

    assert only_medium(path).data() == png()


def test_a_struct_with_a_path_alone_is_a_file_beside_the_rows(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([row({"bytes": None, "path": "a.png"})]), path
    )

    assert only_medium(path).data() == png()


def test_empty_bytes_in_a_struct_are_an_empty_image_and_not_its_path(
    tmp_path: Path,
) -> None:
    medium = only_medium([row({"bytes": b"", "path": "/etc/hostname"})])

    with pytest.raises(DataError, match=r"^rows:1:image: the image is empty: 0 bytes"):
        check_media(medium)


@pytest.mark.parametrize(
    ("column", "kind", "data"), HUB_COLUMNS, ids=["image", "audio"]
)
def test_columns_of_the_hubs_library_come_undecoded(
    column: str, kind: str, data: bytes
) -> None:
    pytest.importorskip("datasets.features", reason="the extra hf is not installed")
    library: Any = importlib.import_module("datasets")
    table = pyarrow.Table.from_pylist(
        [row({"bytes": data, "path": "0001.bin"}, column)]
    )
    made = library.Dataset(
        library.table.InMemoryTable(
            table.replace_schema_metadata(features(column, kind))
        )
    )

    through_library = next(HubRows("hf://a/b", without_decoding(made)).rows())[2]

    assert type(made.features[column]).__name__ == kind
    assert only_medium([through_library]).data() == data


def test_a_snapshot_of_the_hub_may_link_to_its_own_blobs_but_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    store = tmp_path / "datasets--org--exam"
    snapshot = store / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (store / "blobs").mkdir()
    (store / "refs").mkdir()
    (store / "refs" / "main").write_text("abc")
    (store / "blobs" / "1234").write_bytes(png())
    (tmp_path / "other.png").write_bytes(png())
    os.symlink("../../blobs/1234", snapshot / "a.png")
    os.symlink(tmp_path / "other.png", snapshot / "b.png")
    write_rows(snapshot / "test.jsonl", "a.png", "b.png")

    got = Read("hf://org/exam", split="test")

    assert [sample.media[0].data() for sample in got.good] == [png()]
    assert "test.jsonl:2:image: the image file is outside the data folder" in got.fault


OUTSIDE = [
    "../secret.png",
    "/etc/hostname",
    "sub/../../secret.png",
    "linked/secret.png",
    "~/x/../../etc/hostname",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_path_that_leaves_the_folder_is_the_fault_of_its_row(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(png())
    os.symlink(tmp_path, folder / "linked")
    (folder / "a.png").write_bytes(png())
    path = write_rows(
        folder / "rows.jsonl", "a.png", "sub/../a.png", str(folder / "a.png"), name
    )

    if name.startswith("~"):  # `~` is a name like any other: nothing of it is expanded
        medium = Read(path).good[3].media[0]
        assert str(medium.source).startswith(str(folder / "~"))
        return
    got = Read(path)

    assert len(got.good) == 3
    assert got.fault.startswith(
        f"{path}:4:image: the image file is outside the data folder, got '{name}'"
    )
    assert "--media_root" in got.fault


def test_a_folder_given_as_the_data_holds_its_media_wherever_its_rows_lie(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(png())
    write_rows(tmp_path / "rows" / "test.jsonl", "../images/a.png")

    assert only_medium(tmp_path).data() == png()
    assert "outside" in str(_refused(tmp_path / "rows" / "test.jsonl"))


def test_the_user_may_name_another_folder(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(png())
    cells = [
        "../images/a.png",
        "images/a.png",
        str(tmp_path / "images" / "a.png"),
        "../../secret.png",
    ]
    path = write_rows(tmp_path / "rows" / "test.jsonl", *cells)

    got = Read(path, media_root=tmp_path)

    assert [sample.media[0].data() for sample in got.good] == [png()] * 3
    assert ":4:image: the image file is outside" in got.fault


def test_a_media_root_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="media_root: no such folder"):
        open_dataset(
            write_rows(tmp_path / "rows.jsonl", "a.png"), media_root=tmp_path / "none"
        )


def test_media_in_messages_follow_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    content = [{"type": "text", "text": "?"}]
    rows = [
        {
            "id": str(n),
            "messages": [
                {
                    "role": "user",
                    "content": [*content, {"type": "image", "image": name}],
                }
            ],
        }
        for n, name in enumerate(
            ["a.png", "../../etc/hostname", "http://127.0.0.1/a.png"]
        )
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")

    good, outside, url = open_dataset(path)

    assert isinstance(good, Sample) and not isinstance(good.input, str)
    assert good.input[0].media[0].data() == png()
    assert f"{path}:2:messages: the image file is outside" in str(
        getattr(outside, "error", "")
    )
    assert f"{path}:3:messages: the image is a URL, which is not fetched" in str(
        getattr(url, "error", "")
    )


def test_a_name_with_a_zero_character_is_the_fault_of_its_row(tmp_path: Path) -> None:
    got = Read([row("a.png"), {**row("a\0b.png"), "id": "b"}])

    assert (
        "rows:2:image: the name of the image file holds a zero character" in got.fault
    )


def _refused(path: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        open_dataset(path)
    return caught.value


@pytest.mark.parametrize("how", ["as it is", "by a function"])
def test_audio_columns_do_not_need_the_librarys_decoder(how: str) -> None:
    library: Any = pytest.importorskip(
        "datasets", reason="the extra hf is not installed"
    )
    clip = audio_from(np.zeros(160, np.float32), 16_000).data()
    table = pyarrow.Table.from_pylist(
        [row({"bytes": clip, "path": "0001.wav"}, "audio")]
    )
    data = library.Dataset(
        library.table.InMemoryTable(
            table.replace_schema_metadata(features("audio", "Audio"))
        )
    )

    medium = only_medium(data if how == "as it is" else lambda: data)

    assert data.features["audio"].decode and medium.data() == clip


def test_lists_of_the_librarys_media_come_undecoded_too() -> None:
    library: Any = pytest.importorskip(
        "datasets", reason="the extra hf is not installed"
    )
    cells = [{"bytes": png(), "path": "a.png"}] * 2
    made = library.Features(
        {
            "question": library.Value("string"),
            "images": library.Sequence(library.Image()),
        }
    )
    data = library.Dataset.from_list(
        [{"question": "?", "images": cells}], features=made
    )

    [sample] = open_dataset(data)

    assert isinstance(sample, Sample) and [
        medium.data() for medium in sample.media
    ] == [png(), png()]


@pytest.mark.parametrize("streams", [False, True])
def test_audio_inside_structures_comes_undecoded_too(streams: bool) -> None:
    library: Any = pytest.importorskip(
        "datasets", reason="the extra hf is not installed"
    )
    clip = {"bytes": b"RIFF....WAVE", "path": "a.wav"}
    part = {"clip": library.Audio(), "who": library.Value("string")}
    rows = {
        "heard": [{"clip": clip, "who": "Ann"}],
        "said": [[{"clip": clip, "who": "Bo"}]],
        "answer": ["two"],
    }
    data = library.Dataset.from_dict({**rows, "question": ["Who?"]})
    data = data.cast(
        library.Features({**data.features, "heard": part, "said": library.List(part)})
    )

    [sample] = open_dataset(data.to_iterable_dataset() if streams else data)

    assert isinstance(sample, Sample)
    assert (
        sample.fields["heard"]["clip"] == clip
        and sample.fields["said"][0]["clip"] == clip
    )


def test_a_metadata_file_names_its_media_without_settings(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "b.wav").write_bytes(
        audio_from(np.zeros(160, np.float32), 16_000).data()
    )
    table = tmp_path / "metadata.csv"
    table.write_text("file_name,transcription\na.png,a square\nb.wav,silence\n")

    first, second = open_dataset(table)

    assert isinstance(first, Sample) and isinstance(second, Sample)
    assert [type(medium) for one in (first, second) for medium in one.media] == [
        Image,
        Audio,
    ]
    assert (first.target, second.target) == ("a square", "silence")


def test_file_name_is_ignored_without_a_media_suffix_or_beside_a_media_column(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.png").write_bytes(png())
    table = tmp_path / "rows.jsonl"
    rows = [
        {"question": "?", "file_name": "x.py"},
        {"question": "?", "file_name": "gone.png", "image": "a.png"},
    ]
    for given in rows:
        table.write_text(json.dumps(given) + "\n")

        [sample] = open_dataset(table)

        assert isinstance(sample, Sample) and len(sample.media) == ("image" in given)
