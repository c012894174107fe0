"""Guests' commands write into folders that users have: files are added there, and none of theirs is replaced."""

import pytest

from assay.core import StoreError
from assay.dialects.kits.evaluation_files import evaluation_files, forget, link_up
from assay.dialects.pipeline.pipeline_engine import Engine
from assay.dialects.televal.audio_clips import AudioFolder
from assay.dialects.televal.televal_files import Folder
from assay.dialects.vlmeval.outputs import _write_status, write_snapshot
from assay.dialects.vlmeval.score_files import put_table
from assay.runner.result import RunResult


def televal_lines(folder):
    Folder(folder, "m").write("prediction", "t", [{"a": 1}])


def televal_table(folder):
    Folder(folder, "m").write_table()


def vlmeval_table(folder):
    put_table(folder / "m_t_acc.csv", ["a"], [[1]])


def vlmeval_status(folder):
    _write_status(folder, "t", RunResult("complete", folder, ()), [], "newest", [])


def vlmeval_snapshot(folder):
    write_snapshot(folder, [])


def pipeline_lines(folder):
    Engine.save_qa_to_jsonl(None, ["q"], ["a"], "t", str(folder))  # type: ignore[arg-type]


WRITERS = {
    televal_lines: "prediction/m/t.jsonl",
    televal_table: "results.csv",
    vlmeval_table: "m_t_acc.csv",
    vlmeval_status: "status.json",
    vlmeval_snapshot: "rows.jsonl",
    pipeline_lines: "t_20260101_000000.jsonl",
}


@pytest.fixture(autouse=True)
def one_second(monkeypatch):
    monkeypatch.setattr("time.strftime", lambda *_: "20260101_000000")


@pytest.mark.parametrize("write", WRITERS)
def test_a_file_of_the_users_is_not_replaced(tmp_path, write):
    path = tmp_path / WRITERS[write]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"mine": 1}')

    with pytest.raises(StoreError, match="was not written by assay"):
        write(tmp_path)

    assert path.read_text() == '{"mine": 1}'


@pytest.mark.parametrize("write", WRITERS)
def test_an_own_file_is_written_again(tmp_path, write):
    write(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")

    write(tmp_path)

    assert (tmp_path / WRITERS[write]).is_file() and (
        tmp_path / "notes.txt"
    ).read_text() == "mine"


def test_a_link_of_the_users_stays(tmp_path):
    (tmp_path / "T1").mkdir()
    (tmp_path / "T1" / "a.csv").write_text("ours")
    (tmp_path / "mine.csv").write_text("mine")
    (tmp_path / "a.csv").symlink_to(tmp_path / "mine.csv")

    link_up(tmp_path / "T1" / "a.csv")
    link_up(tmp_path / "T1" / "b.csv")

    assert (tmp_path / "a.csv").readlink() == tmp_path / "mine.csv" and (
        tmp_path / "b.csv"
    ).is_symlink()


def test_only_what_an_evaluation_wrote_is_forgotten(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with evaluation_files(tmp_path, "M_toy", "predictions", "evaluation"):
        (tmp_path / "M_toy_score.csv").write_text("theirs")

    forget(tmp_path, "M_toy")

    assert (
        not (tmp_path / "M_toy_score.csv").exists()
        and (tmp_path / "notes.txt").read_text() == "mine"
    )


def test_a_half_written_file_of_another_process_stays_when_sounds_are_written(tmp_path):
    import numpy as np

    from assay.media import audio_from

    (tmp_path / "key.part").write_text("mine")

    AudioFolder(tmp_path).put(audio_from(np.zeros(160), 16_000), "key")

    assert (tmp_path / "key.part").read_text() == "mine" and (
        tmp_path / "key.wav"
    ).is_file()
