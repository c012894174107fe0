"""Decoding in a worker: bounded in time and memory, and the run goes on after a decoder broke down."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from made_media import RED, gradient, saved, sound, tone
from PIL import Image as pillow

from assay.core import Audio, DataError, Image
from assay.media import bounded, decode_audio, decode_image


@pytest.fixture
def worker():
    """The one idle worker, warm."""
    bounded.close_workers()
    decode_image(Image(saved(pillow.new("RGB", (2, 2), RED), "PNG")))
    (only,) = bounded._idle
    yield only
    bounded.close_workers()


@pytest.fixture
def picture():
    return Image(saved(gradient(), "PNG"))


def test_one_worker_serves_one_medium_after_the_other(worker, picture):
    for _ in range(3):
        assert np.array_equal(np.asarray(decode_image(picture)), np.asarray(gradient()))
    assert decode_audio(Audio(sound(tone()))).seconds == 1.0

    assert [one.pid for one in bounded._idle] == [worker.pid]
    assert worker.pid != os.getpid()


def test_a_decoder_that_hangs_is_ended_and_the_next_image_gets_another(
    worker, picture, monkeypatch
):
    picture.place = ("data.tsv", 7, "image")
    os.kill(worker.pid, signal.SIGSTOP)
    monkeypatch.setitem(bounded.SECONDS, "image", 0.1)

    with pytest.raises(
        DataError,
        match=r"^data\.tsv:7:image: the image could not be decoded: it took longer than",
    ):
        decode_image(picture)
    monkeypatch.undo()

    assert not worker.is_alive
    assert decode_image(picture).size == (48, 32)


def test_a_decoder_that_crashes_is_the_fault_of_its_medium_alone(worker, picture):
    os.kill(worker.pid, signal.SIGSTOP)
    killer = threading.Timer(0.05, os.kill, (worker.pid, signal.SIGKILL))
    killer.start()

    with pytest.raises(
        DataError, match="the image could not be decoded: the decoder broke down"
    ):
        decode_image(picture)
    killer.join()

    assert decode_image(picture).size == (48, 32)


def test_a_worker_that_died_while_it_waited_is_replaced_without_a_word(worker, picture):
    worker.close()

    assert decode_image(picture).size == (48, 32)


def test_a_medium_that_needs_too_much_memory_is_one_line(worker, monkeypatch):
    large = Image(
        saved(pillow.new("1", (6000, 6000)), "PNG")
    )  # 1 kB of file, 108 MB of pixels
    monkeypatch.setitem(bounded.MEMORY, "image", bounded.GIBIBYTE // 4)

    with pytest.raises(
        DataError, match=r"needs more than \d+ GiB to decode|the decoder broke down"
    ):
        decode_image(large)
    monkeypatch.undo()

    assert decode_image(large).size == (6000, 6000)


def test_the_worker_can_write_no_file_and_knows_no_secret(worker, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "hush-hush-hush")
    fresh = bounded.Worker()
    try:
        fresh.ask("image", saved(gradient(), "PNG"), bounded.Limits(), {}, 30)
        environment = Path(f"/proc/{fresh.pid}/environ").read_bytes()
        limits = Path(f"/proc/{fresh.pid}/limits").read_text()
    except FileNotFoundError:
        pytest.skip("this system shows no processes as files")
    finally:
        fresh.close()

    assert b"hush-hush" not in environment
    for line in limits.splitlines():
        if line.startswith(("Max file size", "Max core file size")):
            assert line.split("size")[1].split()[:2] == ["0", "0"]
        if line.startswith("Max address space"):
            assert line.split()[3] == str(bounded.MEMORY["image"])


def test_threads_are_served_side_by_side(picture):
    sizes = []

    def look():
        sizes.extend(decode_image(picture).size for _ in range(3))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sizes == [(48, 32)] * 9


def test_files_in_the_current_folder_have_no_effect(tmp_path, monkeypatch):
    bounded.close_workers()
    mp3 = sound(tone(), format="MP3")
    (tmp_path / "._").touch()  # as file systems of Macs leave them
    (tmp_path / "numpy.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.path.relpath(Path(bounded.__file__).parents[2]))

    decoded = decode_audio(Audio(mp3))

    assert decoded.rate == 16_000
    bounded.close_workers()
