"""`assay verify`, and what every reader of a run says of damage: in one line, with the rest still shown."""

import json
import signal
import subprocess
import sys
import time

import pytest

PNG = b"\x89PNG\r\n\x1a\n"
PAINTER = f"""
from assay import Abilities, Text, Image, Output
from assay.core import Candidate

class Painter:
    abilities = Abilities(produces=frozenset({{"text", "image"}}))
    def generate(self, requests):
        with open("asked.txt", "a") as log:
            log.write("".join(r.id + "\\n" for r in requests))
        return [Output((Candidate((Text("4"), Image({PNG!r} + r.id.encode()))),)) for r in requests]
"""


@pytest.fixture
def run(assay, folder):
    (folder / "painter.py").write_text(PAINTER)
    said = assay(
        "run",
        "sums.jsonl",
        "--model",
        "painter.py:Painter",
        "--scorer",
        "exact_match",
        "-o",
        "out",
    )
    assert said.code == 0
    (folder / "asked.txt").unlink()
    return [
        "run",
        "sums.jsonl",
        "--model",
        "painter.py:Painter",
        "--scorer",
        "exact_match",
        "-o",
        "out",
    ]


def flip(path, at=None):
    data = bytearray(path.read_bytes())
    at = len(data) // 2 if at is None else at
    data[at] ^= 1
    path.write_bytes(bytes(data))


def asked(folder):
    log = folder / "asked.txt"
    return sorted(log.read_text().split()) if log.exists() else []


def flip_an_answer(folder):
    journal = folder / "out" / "records.jsonl"
    flip(journal, journal.read_bytes().index(b"3+3?"))


def flip_a_verdict(folder):
    journal = folder / "out" / "records.jsonl"
    lines = journal.read_bytes().split(b"\n")
    at = next(
        n
        for n, line in enumerate(lines)
        if b'"kind":"score"' in line and b'"id":"1"' in line
    )
    flip(journal, len(b"\n".join(lines[:at])) + 20)


def lose_the_last_line(folder):
    journal = folder / "out" / "records.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))


def edit_the_summary(folder):
    summary = folder / "out" / "summary.json"
    summary.write_text(summary.read_text().replace('"value": 0.333', '"value": 0.999'))


def one_medium(folder):
    journal = (folder / "out" / "records.jsonl").read_text().splitlines()
    line = next(
        json.loads(entry)
        for entry in journal
        if '"kind":"output"' in entry and '"id":"1"' in entry
    )
    digest = next(
        part["sha256"]
        for part in line["output"]["candidates"][0]["parts"]
        if "sha256" in part
    )
    return next((folder / "out" / "media").rglob(f"{digest}.*"))


def flip_a_medium(folder):
    flip(one_medium(folder))


def lose_a_medium(folder):
    one_medium(folder).unlink()


DAMAGE = {
    "answer": (flip_an_answer, "1 damaged line was skipped", ["1"]),
    "verdict": (flip_a_verdict, "1 damaged line was skipped", []),
    "end": (lose_the_last_line, "bytes, and", []),
    "summary": (edit_the_summary, "summary.json has changed", []),
    "changed medium": (flip_a_medium, "media: 1 changed, of sample '1'", ["1"]),
    "missing medium": (lose_a_medium, "media: 1 missing, of sample '1'", ["1"]),
}


def test_an_undamaged_run_is_verified(assay, run):
    said = assay("verify", "out")

    assert said.code == 0 and said.err == ""
    assert said.out.splitlines() == [
        "ok: every line of the journal is whole: 3 answers, 3 verdicts",
        "ok: every medium has the bytes of its name: 3",
        "ok: journal and summary have the digests that the run noted",
        "ok: the journal gives the 1 numbers of the table",
        "verified: out",
    ]


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize(
    "reader", ["verify", "show", "export", "baseline", "run", "score"]
)
def test_every_reader_reports_damage(assay, folder, run, kind, reader):
    damage, line, again = DAMAGE[kind]
    damage(folder)
    commands = {
        "verify": ["verify", "out"],
        "show": ["show", "out"],
        "export": ["export", "out", "-o", "x.csv"],
        "baseline": [*run[:-1], "new", "--baseline", "out"],
        "run": run,
        "score": ["score", "out"],
    }

    said = assay(*commands[reader])

    told = [
        entry
        for entry in (said.out + said.err).splitlines()
        if line in entry or "damaged line passed over" in entry
    ]
    assert told, said
    is_lacking = {
        "score": bool(again),  # samples whose answers are lost
        "baseline": kind
        in (
            "verdict",
            "end",
        ),  # its journal does not give its number: nothing was compared
        "run": False,
    }
    assert said.code == (3 if is_lacking.get(reader, True) else 0)
    if reader in ("run", "score"):
        assert asked(folder) == (again if reader == "run" else [])
        assert (assay("verify", "out").code == 0) == (reader == "run" or not again)


@pytest.mark.parametrize("kind", DAMAGE)
def test_the_same_command_again_mends_the_run_and_asks_only_for_what_is_damaged(
    assay, folder, run, kind
):
    damage, _, again = DAMAGE[kind]
    before = json.loads((folder / "out" / "summary.json").read_text())["results"]
    damage(folder)

    mended, repeated = assay(*run), assay(*run, "--json")

    assert mended.code == 0 and asked(folder) == again
    assert (
        repeated.json["results"] == before
        and repeated.json["usage"]["sums/painter.py:Painter"]["asked"] == 0
    )


def test_a_table_that_the_journal_does_not_give_is_named(assay, folder, run):
    import hashlib

    edit_the_summary(folder)
    manifest = json.loads((folder / "out" / "run.json").read_text())
    manifest["summary"]["sha256"] = hashlib.sha256(
        (folder / "out" / "summary.json").read_bytes()
    ).hexdigest()
    (folder / "out" / "run.json").write_text(json.dumps(manifest))

    said = assay("verify", "out")

    assert said.code == 3 and said.out.endswith("damaged: out\n")
    assert (
        "exact_match: summary.json has value 0.999" in said.out
        and "and the journal gives 0.333" in said.out
    )


def test_a_run_that_was_not_finished_shows_no_numbers_and_is_not_verified(
    assay, folder, run
):
    manifest = json.loads((folder / "out" / "run.json").read_text())
    for name in ("journal", "summary", "media"):
        del manifest[name]
    (folder / "out" / "run.json").write_text(
        json.dumps({**manifest, "status": "running"})
    )

    shown, said = assay("show", "out"), assay("verify", "out")

    assert (
        "0.333" not in shown.out.split("sums ·")[0]
        and "no numbers: summary.json does not match this run" in shown.out
    )
    assert said.code == 3 and "not checked: the run is not finished" in said.out


def test_a_run_of_the_first_version_is_shown_and_called_unverified(assay, folder, run):
    manifest = json.loads((folder / "out" / "run.json").read_text())
    for name in ("journal", "summary", "media"):
        del manifest[name]
    (folder / "out" / "run.json").write_text(json.dumps({**manifest, "format": 1}))

    shown, said = assay("show", "out"), assay("verify", "out")

    assert (
        shown.code == 0
        and "0.333" in shown.out
        and "unverified: the run was written by" in shown.err
    )
    assert said.code == 3 and said.out.endswith("unverified: out\n")
    assert "ok: the journal gives the 1 numbers of the table" in said.out


def test_a_table_that_cannot_be_rebuilt_is_not_called_verified(assay, folder, run):
    (folder / "sums.jsonl").unlink()

    said = assay("verify", "out")

    assert (
        said.code == 3
        and "not checked: the table could not be made again: " in said.out
    )


def test_a_folder_that_is_not_a_run_is_refused(assay, folder):
    said = assay("verify", str(folder))

    assert said.code == 2 and "not a run folder" in said.err


def test_an_emptied_journal_has_no_verdicts_and_no_other_run_is_named(
    assay, folder, run
):
    (folder / "out" / "records.jsonl").write_bytes(b"")

    said = assay("verify", "out")

    assert said.code == 3 and "exact_match: the journal has no verdicts" in said.out
    assert "scored by others" not in said.out


def test_after_scoring_a_run_with_a_damaged_answer_verify_says_what_is_lost(
    assay, folder
):
    words = ("run", "sums.jsonl", "--model", "four.py:generate", "-o", "run")
    assay(*words)
    journal = folder / "run" / "records.jsonl"
    lines = journal.read_bytes().split(b"\n")
    number = next(i for i, line in enumerate(lines) if b'"kind":"output"' in line)
    lines[number] = lines[number][:50] + b"#" + lines[number][51:]
    journal.write_bytes(b"\n".join(lines))

    scored = assay("score", "run")
    lost = assay("verify", "run")
    assay(*words)
    asked_again = assay("verify", "run")

    assert scored.code == 3 and "will be asked again" not in scored.out + scored.err
    assert "1 sample has no answer" in scored.out + scored.err
    assert lost.code == 3 and "1 answer is lost" in lost.out
    assert "the journal gives the 2 numbers of the table" in lost.out
    assert "asked or scored again" not in lost.out
    assert asked_again.code == 0 and "asked or scored again" in asked_again.out


SLOW = """
import time

def generate(messages):
    time.sleep(0.2)
    return "4"
"""


def test_a_run_that_was_stopped_at_once_is_not_called_damaged(assay, folder):
    (folder / "slow.py").write_text(SLOW)
    rows = [json.dumps({"id": i, "question": "?", "answer": "4"}) for i in range(500)]
    (folder / "many.jsonl").write_text("\n".join(rows))
    words = ["run", "many.jsonl", "--model", "slow.py:generate", "-o", "out"]
    running = subprocess.Popen(
        [sys.executable, "-m", "assay.cli.main", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    journal = folder / "out" / "records.jsonl"
    deadline = time.monotonic() + 60
    while not journal.exists() or b'"score"' not in journal.read_bytes():
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    assert b"Traceback" not in running.communicate(timeout=60)[1]
    assert json.loads((folder / "out" / "summary.json").read_bytes())["results"] == []

    said = assay("verify", "out")

    assert "the same `assay run` continues it" in said.out
    assert "damaged" not in said.out
