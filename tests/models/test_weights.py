"""Digests of weights."""

import hashlib

from assay.models.weights import weights_digest


def test_the_digest_is_remembered_and_follows_a_change(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "w.gguf"
    file.write_bytes(b"one")

    first = weights_digest(file)
    [note] = (tmp_path / "cache" / "assay" / "digests").iterdir()
    note.write_text("f" * 64)
    remembered = weights_digest(file)
    file.write_bytes(b"three")

    assert first == hashlib.sha256(b"one").hexdigest()
    assert remembered == "f" * 64
    assert weights_digest(file) == hashlib.sha256(b"three").hexdigest()


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "w.gguf"
    file.write_bytes(b"one")

    assert weights_digest(file) == hashlib.sha256(b"one").hexdigest()
