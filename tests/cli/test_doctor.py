"""`assay doctor`."""

import pytest


def test_installed_parts_are_listed(assay):
    said = assay("doctor")

    assert said.code == 0
    for word in (
        "assay ",
        "Python ",
        "cores",
        "memory",
        "disk",
        "embedded model smollm2",
        "sandbox: ",
    ):
        assert word in said.out


def test_json_is_one_document(assay):
    found = assay("doctor", "--json").json

    assert found["requirements"]["base"]["msgspec"] is not None
    assert found["disk_free_bytes"] > 0 and set(found["sandbox"]) == {
        "tier",
        "no_forks",
        "refused",
    }


def test_the_reason_for_a_new_sandbox_per_execution_is_reported(assay, monkeypatch):
    from assay import sandbox
    from assay.sandbox.bubblewrap import Bubblewrap

    why = "bwrap: No permissions to create new namespace"
    monkeypatch.setattr(
        sandbox, "choose", lambda: sandbox.Choice(Bubblewrap("bwrap"), no_forks=why)
    )

    said = assay("doctor").out

    assert (
        f"sandbox: bubblewrap\n  started anew for each execution, which takes longer: {why}\n"
        in said
    )


def test_a_missing_extra_comes_with_its_pip_line(assay, monkeypatch):
    from importlib import metadata

    def version(name):
        if name == "sacrebleu":
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("assay.cli.doctor.metadata.version", version)

    assert (
        "metrics: lacks sacrebleu: pip install 'assay[metrics]'" in assay("doctor").out
    )


@pytest.fixture
def run_with_a_secret(assay, folder, monkeypatch):
    (folder / "leak.py").write_text(
        "def generate(messages):\n    return 'tell' + chr(34) + 'no-one'\n"
    )
    assay("run", "sums.jsonl", "--model", "leak.py:generate", "-o", "out")
    monkeypatch.setenv(
        "MY_API_KEY", 'tell"no-one'
    )  # a run that knows the secret keeps it out by itself


def test_a_secret_in_a_run_is_found_and_not_repeated(assay, run_with_a_secret):
    said = assay("doctor", "--scan-logs", "out")

    assert said.code == 1
    assert (
        "MY_API_KEY" in said.out
        and "records.jsonl" in said.out
        and "no-one" not in said.out
    )


def test_a_run_without_secrets_is_clean(assay, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "not-in-any-answer")
    monkeypatch.setenv("MY_SHORT_TOKEN", "4")
    assay("run", "sums.jsonl", "--model", "four.py:generate", "-o", "out")

    said = assay("doctor", "--scan_logs", "out", "--json")

    assert said.code == 0 and said.json["found"] == []
    assert (
        "MY_API_KEY" in said.json["variables"]
        and "MY_SHORT_TOKEN" not in said.json["variables"]
    )


def test_a_secret_across_two_blocks_is_found(tmp_path, monkeypatch):
    from assay.cli import doctor

    monkeypatch.setattr(doctor, "_BLOCK", 16)
    (tmp_path / "file").write_bytes(b"x" * 12 + b"secret-value" + b"y" * 40)

    found = doctor.scan(tmp_path, {"A_KEY": "secret-value"})

    assert [(entry["variable"], entry["byte"]) for entry in found] == [("A_KEY", 12)]


def test_a_folder_that_is_not_there_is_refused(assay):
    assert assay("doctor", "--scan_logs", "nope").code == 2


def test_the_sandbox_of_this_machine_is_named_and_why_there_is_no_better_one(
    assay, monkeypatch
):
    from assay.sandbox import Choice

    monkeypatch.setattr(
        "assay.sandbox.choose",
        lambda: Choice(None, (("bubblewrap", "bwrap is not installed"),)),
    )

    said = assay("doctor")

    assert (
        "sandbox: none works here" in said.out
        and "not bubblewrap: bwrap is not installed" in said.out
    )
    assert "fix: pip install 'assay[sandbox]'" in said.out


def test_the_abilities_of_a_model_are_shown_without_a_request(assay):
    endpoint = "base_url=http://127.0.0.1:1/v1"
    said = assay("doctor", "--model", "openai/some", "-a", endpoint, "--json")

    assert said.code == 0
    assert said.json["model"] == "openai/some"
    assert "image" in said.json["takes"] and said.json["gives"] == ["text"]
    assert said.json["chat_template"] is None and said.json["engine"] is None


def test_an_unknown_model_is_one_line(assay):
    said = assay("doctor", "--model", "hf//nowhere/at/all")

    assert said.code == 2
    assert said.err == (
        "assay: /nowhere/at/all: no such model folder or file; fix: check the path\n"
    )
