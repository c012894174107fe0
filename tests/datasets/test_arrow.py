"""Arrow files and folders that `datasets` saves: rows in order, nothing of its own cache, no decoder."""

import io
import json
import wave
from pathlib import Path

import pytest

from assay.core import Audio, DataError, UsageError
from assay.datasets.files import open_files
from assay.datasets.opening import open_dataset
from assay.datasets.parquet import Arrow
from assay.media.checks import check_audio

pyarrow = pytest.importorskip("pyarrow")
ROWS = [
    {"id": str(number), "question": f"What is {number}?", "answer": number}
    for number in range(700)
]


def written(path: Path, rows, *, kind="stream", rows_a_batch=300) -> Path:
    table = pyarrow.Table.from_pylist(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (pyarrow.ipc.new_stream if kind == "stream" else pyarrow.ipc.new_file)(
        str(path), table.schema
    ) as writer:
        writer.write_table(table, max_chunksize=rows_a_batch)
    return path


def saved(folder: Path, rows, *, files=2) -> Path:
    """A folder as `save_to_disk` writes it."""
    size = -(-len(rows) // files)
    names = [f"data-{index:05}-of-{files:05}.arrow" for index in range(files)]
    for index, name in enumerate(names):
        written(folder / name, rows[index * size : (index + 1) * size])
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": name} for name in names]})
    )
    (folder / "dataset_info.json").write_text("{}")
    return folder


@pytest.mark.parametrize("kind", ["stream", "file"])
def test_rows_of_both_kinds_of_arrow_files_are_read_in_order(tmp_path, kind):
    shard = Arrow(written(tmp_path / "rows.arrow", ROWS, kind=kind))

    rows = [row for _, _, row in shard.rows()]

    assert (
        rows == ROWS
        and shard.known_length == len(ROWS)
        and shard.columns == ("id", "question", "answer")
    )
    assert shard.row_at(650, 0) == ROWS[649]


def test_a_saved_folder_is_its_own_files_and_not_those_of_the_cache(tmp_path):
    folder = saved(tmp_path / "saved", ROWS)
    written(folder / "cache-1a2b3c.arrow", ROWS[:5])

    shards, _ = open_files(folder, None, "")

    assert [row for shard in shards for _, _, row in shard.rows()] == ROWS


def test_splits_of_a_saved_dictionary_may_have_any_name(tmp_path):
    for name, rows in {"test_clean": ROWS[:3], "test_other": ROWS[3:5]}.items():
        saved(tmp_path / "both" / name, rows, files=1)
    (tmp_path / "both" / "dataset_dict.json").write_text(
        '{"splits": ["test_clean", "test_other"]}'
    )

    shards, is_settled = open_files(tmp_path / "both", "test_other", "")

    assert (
        is_settled
        and [row for shard in shards for _, _, row in shard.rows()] == ROWS[3:5]
    )
    with pytest.raises(
        UsageError, match="holds several splits: test_clean, test_other"
    ):
        open_files(tmp_path / "both", None, "")


@pytest.mark.parametrize("length", [3, 40, 9_000])
def test_a_truncated_arrow_file_is_reported(tmp_path, length):
    path = written(tmp_path / "rows.arrow", ROWS)
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(
        DataError, match=r"rows\.arrow: not a whole Arrow file.*fetch it again"
    ):
        list(Arrow(path).rows())


def test_a_broken_list_of_files_is_reported(tmp_path):
    folder = saved(tmp_path / "saved", ROWS[:2])
    (folder / "state.json").write_text("[]")

    with pytest.raises(
        DataError, match=r"state\.json: the file does not list the files of the dataset"
    ):
        open_files(folder, None, "")


def test_an_audio_column_that_would_be_decoded_is_read_as_the_bytes_it_holds(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = {
        "audio": [{"bytes": b"RIFF....WAVE", "path": "a.wav"}],
        "text": ["two words"],
    }
    data = datasets.Dataset.from_dict(rows).cast_column(
        "audio", datasets.Audio(sampling_rate=16_000)
    )
    data.save_to_disk(tmp_path / "saved")
    data.to_parquet(tmp_path / "saved.parquet")

    for source in (tmp_path / "saved", tmp_path / "saved.parquet", data):
        [sample] = open_dataset(source, columns={"target": "text"})

        assert (
            isinstance(sample.media[0], Audio)
            and sample.media[0].data() == b"RIFF....WAVE"
        )
        assert (sample.input, sample.target) == ("", "two words")


def test_a_cache_file_beside_data_of_another_format_is_passed_over(tmp_path):
    (tmp_path / "test.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n')
    (tmp_path / "cache-12ab.arrow").write_bytes(b"ARROW1")

    samples = list(open_dataset(tmp_path))

    assert [sample.target for sample in samples] == ["4"]


def test_the_rate_that_an_audio_feature_declares_is_the_rate_that_is_heard(tmp_path):
    datasets = pytest.importorskip("datasets")
    wav = io.BytesIO()
    with wave.open(wav, "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(b"\x00\x10" * 16000)
    rows = {
        "audio": [{"bytes": wav.getvalue(), "path": "a.wav"}],
        "text": ["two words"],
    }
    plain = datasets.Dataset.from_dict(rows)

    for declared, heard in ((8000, 8000), (16000, 16000), (None, 16000)):
        data = plain.cast_column("audio", datasets.Audio(sampling_rate=declared))
        folder = tmp_path / f"saved-{declared}"
        data.save_to_disk(folder)
        data.to_parquet(tmp_path / f"{declared}.parquet")
        for source in (folder, tmp_path / f"{declared}.parquet", data):
            [sample] = open_dataset(source, columns={"target": "text"})
            facts = check_audio(sample.media[0])
            assert (facts.rate, facts.seconds) == (heard, 1.0)
            if declared != 8000:
                assert sample.media[0].data() == wav.getvalue()
