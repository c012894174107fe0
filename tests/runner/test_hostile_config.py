"""Configuration is data: whatever it says, nothing of it is run, read or written elsewhere."""

import json
from itertools import pairwise

import pytest

from assay.cli.main import main

CODE = "from pathlib import Path\nPath({canary!r}).write_text('ran')\ndef score(sample, output):\n    return 1.0\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with rows and a model; code that must not run lies beside it, not in it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "rows.jsonl").write_text(
        json.dumps({"id": "1", "question": "q", "answer": "x"}) + "\n"
    )
    (tmp_path / "evil.py").write_text(CODE.format(canary=str(tmp_path / "canary")))
    monkeypatch.chdir(inside)
    return inside


def tried(place, capsys, text, name="task.yaml", *more):
    (place / name).write_text(text)
    arguments = ["run", name] if name.startswith("task") else ["run", "--config", name]
    code = main([*arguments, "--model", "scripted", "-o", str(place / "run"), *more])
    said = capsys.readouterr().err
    assert "Traceback" not in said and "unexpected" not in said
    assert not (place.parent / "canary").exists()
    return code, said


LETTERS = "abcdefghijklmnopqrstu"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise(LETTERS)
)


@pytest.mark.parametrize("name", ["task.yaml", "config.yaml"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name: !!python/object/apply:os.system ['touch ../canary']\ndataset: rows.jsonl\n",
            "not valid YAML",
        ),
        ("name: !!python/name:os.system\ndataset: rows.jsonl\n", "not valid YAML"),
        ("name: !function ../evil.score\n", "not valid YAML"),
        (BOMB, "uses an alias"),
        ("a: " + "[" * 500 + "]" * 500, "nested more than 50 deep"),
        ("tasks: x\ntasks: y\nname: x\nname: y\n", "given twice"),
        ("class: os.system\n", "unknown key 'class'"),
        ("include: https://example.org/task.yaml\n", "unknown key 'include'"),
        ("- just\n- a list\n", "must have keys and values"),
        ("\x00", "not valid YAML"),
    ],
)
def test_yaml_that_is_more_than_data_is_refused(place, capsys, name, text, said):
    code, error = tried(place, capsys, text, name)

    assert code == 2 and said in error and len(error.splitlines()) == 1
    assert not (place / "run").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scorers: os.system", "unknown scorer 'os.system'"),
        ("scorers: os:system", "unknown scorer"),
        ("scorers: {class: os.system}", "expected a name"),
        ("scorers: ../evil.py:score", "names code outside its own folder"),
        ("scorers: [{name: ../evil.py:score}]", "names code outside its own folder"),
        ("scorers: [{../evil.py:score: {}}]", "names code outside its own folder"),
        ("summarizers: ../evil.py:score", "names code outside its own folder"),
        ("template: ../evil.py:score", "names code outside its own folder"),
        (
            "fewshot: {num: 1, pick: ../evil.py:score}",
            "names code outside its own folder",
        ),
        ("driver: os.system", "unknown key 'driver'"),
        ("to_sample: os.system", "unknown key 'to_sample'"),
        ("models: {m: os.system}", "unknown key 'models'"),
        ("hints: {benchmark: x}", "unknown key 'hints'"),
        ("epochs: 0", "epochs is 0"),
        ("options: {temperature: hot}", "takes a number"),
    ],
)
def test_a_task_file_names_only_what_is_registered_or_beside_it(
    place, capsys, text, said
):
    code, error = tried(place, capsys, f"dataset: rows.jsonl\n{text}\n")

    assert code == 2 and said in error
    assert not (place / "run").exists()


def test_an_absolute_path_to_code_elsewhere_is_refused(place, capsys):
    code, error = tried(
        place,
        capsys,
        f"dataset: rows.jsonl\nscorers: {place.parent / 'evil.py'}:score\n",
    )

    assert code == 2 and "names code outside its own folder" in error


def test_a_link_out_of_the_folder_is_followed_to_where_it_leads_and_refused(
    place, capsys
):
    (place / "link.py").symlink_to(place.parent / "evil.py")

    code, error = tried(place, capsys, "dataset: rows.jsonl\nscorers: link.py:score\n")

    assert code == 2 and "names code outside its own folder" in error


def test_code_beside_the_task_file_is_loaded(place, capsys):
    (place / "mine.py").write_text("def score(sample, output):\n    return 1.0\n")

    code, _ = tried(place, capsys, "dataset: rows.jsonl\nscorers: mine.py:score\n")

    assert code == 0


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ question.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.system('touch ../canary') }}",
        "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
        "{{ lipsum.__globals__['os'].popen('touch ../canary').read() }}",
        "{% include '/etc/hostname' %}",
    ],
)
def test_a_template_does_not_leave_its_sandbox(place, capsys, template):
    code, _ = tried(
        place, capsys, f"dataset: rows.jsonl\ntemplate: {json.dumps(template)}\n"
    )

    assert code != 0
    journal = place / "run" / "records.jsonl"
    assert not journal.exists() or b"subprocess" not in journal.read_bytes()


@pytest.mark.parametrize(
    "name", ["../../escape", "/tmp/escape", "a/../../b", "..", "a\\nb", "x" * 500]
)
def test_a_name_is_never_a_path(place, capsys, name):
    before = {path for path in place.parent.rglob("*") if path.is_file()}
    (place / "task.yaml").write_text(f'name: "{name}"\ndataset: rows.jsonl\n')

    main(["run", "task.yaml", "--model", "scripted"])
    capsys.readouterr()

    new = {path for path in place.parent.rglob("*") if path.is_file()} - before
    assert all(
        path == place / "task.yaml" or path.is_relative_to(place / "runs")
        for path in new
    )
    assert all(len(path.relative_to(place).parts) <= 3 for path in new)


@pytest.mark.parametrize("id", ["../../x", "/etc/passwd", "a\0b", "i" * 5000])
def test_a_sample_id_is_never_a_path(place, capsys, id):
    (place / "rows.jsonl").write_text(
        json.dumps({"id": id, "question": "q", "answer": "x"}) + "\n"
    )

    main(["run", "rows.jsonl", "--model", "scripted", "-o", str(place / "run")])
    capsys.readouterr()

    names = {path.name for path in place.parent.rglob("*") if path.is_file()}
    assert names <= {
        "rows.jsonl",
        "evil.py",
        "run.json",
        "records.jsonl",
        "summary.json",
        ".lock",
    }


@pytest.mark.parametrize(
    "cells",
    [
        "[{}]",
        '[{"task": "rows", "model": "scripted", "digests": 3}]',
        "3",
        "[]",
        "null",
    ],
)
def test_a_manifest_of_any_shape_does_not_break_the_run(place, capsys, cells):
    (place / "run").mkdir()
    manifest = f'{{"format": 1, "status": "complete", "config": {{}}, "started": "", "cells": {cells}}}'
    (place / "run" / "run.json").write_text(manifest)
    (place / "run" / "records.jsonl").write_bytes(b"")

    code = main(["run", "rows.jsonl", "--model", "scripted", "-o", str(place / "run")])

    assert code == 0
    assert "unexpected" not in capsys.readouterr().err


def test_a_journal_line_that_is_whole_but_no_record_is_passed_over(place, capsys):
    from assay.store.journal import seal

    (place / "run").mkdir()
    wrong = {"kind": "output", "task": [], "model": 1, "id": 1, "key": 1}
    lines = [{"kind": "output"}, {"kind": "score", "id": 3}, wrong]
    (place / "run" / "records.jsonl").write_bytes(
        b"".join(seal(line) for line in lines)
    )

    code = main(["run", "rows.jsonl", "--model", "scripted", "-o", str(place / "run")])

    assert code == 0
    size = (place / "run" / "records.jsonl").read_bytes().index(seal(wrong)) + len(
        seal(wrong)
    )
    said = f"3 damaged lines passed over (bytes 0 to {size})"
    assert said in capsys.readouterr().err
