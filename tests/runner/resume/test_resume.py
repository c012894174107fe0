"""Exactly once: resuming, re-scoring, repeating a run elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

import assay
from assay.cli.main import main
from assay.store import RunReader

MODEL = """
from pathlib import Path
def generate(messages):
    question = messages[-1]["content"]
    with open(Path(__file__).with_name("calls.log"), "a") as log:
        log.write(question + "\\n")
    return question.split()[-1]
"""


def make_data(folder: Path, count: int) -> Path:
    path = folder / "data.jsonl"
    rows = (
        {"id": f"s{n}", "question": f"say {n}", "answer": str(n if n % 3 else -1)}
        for n in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "model.py").write_text(MODEL)
    return path


def command(data: Path, out: Path, *more: str) -> list[str]:
    return [
        "run",
        str(data),
        "--model",
        f"{data.parent / 'model.py'}:generate",
        "-o",
        str(out),
        *more,
    ]


def keys_of(folder: Path) -> dict[str, str]:
    return {record.id: record.key for record in RunReader(folder).outputs()}


def test_the_same_command_again_asks_nothing(tmp_path: Path):
    data = make_data(tmp_path, 50)
    in_a_process = [
        sys.executable,
        "-m",
        "assay.cli.main",
        *command(data, tmp_path / "run"),
    ]
    subprocess.run(in_a_process, capture_output=True, check=True)
    before = (tmp_path / "calls.log").read_text()

    assert main(command(data, tmp_path / "run")) == 0

    assert (tmp_path / "calls.log").read_text() == before
    assert (
        json.loads((tmp_path / "run" / "summary.json").read_text())["results"][0]["n"]
        == 50
    )


def test_a_larger_limit_asks_only_for_what_is_new(tmp_path: Path):
    calls: list[str] = []

    def model(messages):
        calls.append(messages[-1]["content"])
        return "x"

    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(20)]
    task = assay.Task("t", dataset=rows, scorers="exact_match")
    assay.run(task, model, limit=5, output=str(tmp_path / "run"))

    result = assay.run(task, model, limit=12, output=str(tmp_path / "run"))

    assert calls == [f"q{n}" for n in range(12)]
    assert result[0].n == 12


def test_a_smaller_limit_counts_only_its_own_samples(tmp_path: Path):
    rows = [
        {"id": str(n), "question": f"q{n}", "answer": "x" if n < 5 else "y"}
        for n in range(20)
    ]
    task = assay.Task("t", dataset=rows, scorers="exact_match")
    model = lambda messages: "x"  # noqa: E731
    assay.run(task, model, output=str(tmp_path / "run"))

    result = assay.run(task, model, limit=5, output=str(tmp_path / "run"))

    assert (result[0].value, result[0].n, result[0].n_expected) == (1.0, 5, 5)


def test_a_run_repeated_from_its_manifest_has_equal_keys(tmp_path: Path):
    data = make_data(tmp_path, 30)
    main(command(data, tmp_path / "run", "--temperature", "0.5", "--seed", "3"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    again = ["run", "--config", str(tmp_path / "run" / "run.json"), "-o", "copy"]
    in_a_process = [sys.executable, "-m", "assay.cli.main", *again]
    subprocess.run(in_a_process, cwd=elsewhere, capture_output=True, check=True)

    assert keys_of(elsewhere / "copy") == keys_of(tmp_path / "run")


def test_one_changed_byte_changes_exactly_the_affected_keys(tmp_path: Path):
    data = make_data(tmp_path, 10)
    main(command(data, tmp_path / "a"))
    before = keys_of(tmp_path / "a")

    data.write_text(data.read_text().replace("say 4", "say: 4"))
    main(command(data, tmp_path / "b"))
    after_data = keys_of(tmp_path / "b")
    main(command(data, tmp_path / "c", "--template", "{{ question }}!"))
    after_template = keys_of(tmp_path / "c")
    model = tmp_path / "model.py"
    model.write_text(model.read_text() + "#")
    main(command(data, tmp_path / "d"))
    after_model = keys_of(tmp_path / "d")

    assert {id for id in before if before[id] != after_data[id]} == {"s4"}
    assert all(after_data[id] != after_template[id] for id in before)
    assert all(after_data[id] != after_model[id] for id in before)


def test_a_changed_row_is_asked_again_and_the_run_says_why(tmp_path: Path, capfd):
    data = make_data(tmp_path, 10)
    log = tmp_path / "calls.log"
    main(command(data, tmp_path / "run"))
    log.unlink()
    data.write_text(data.read_text().replace("say 4", "say four 4"))
    capfd.readouterr()

    assert main(command(data, tmp_path / "run")) == 0

    assert log.read_text() == "say four 4\n"
    assert "data changed: samples whose request differs" in "".join(capfd.readouterr())


def test_an_edited_scorer_scores_again_without_the_model(tmp_path: Path):
    bench = tmp_path / "bench.py"
    source = (
        "dataset = [{'id': str(n), 'question': f'q{n}', 'answer': 'x'} for n in range(8)]\n"
        "def score(sample, output):\n    return %s\n"
    )
    bench.write_text(source % "0.25")
    calls: list[str] = []

    def model(messages):
        calls.append("asked")
        return "x"

    assay.run(str(bench), model, output=str(tmp_path / "run"))
    bench.write_text(source % "0.75")

    result = assay.run(str(bench), model, output=str(tmp_path / "run"))

    assert len(calls) == 8
    assert result.value("score") == 0.75


def test_score_needs_no_model(tmp_path: Path):
    data = make_data(tmp_path, 12)
    main(command(data, tmp_path / "run"))
    before = (tmp_path / "calls.log").read_text()

    result = assay.score(tmp_path / "run", scorers=("f1",))

    assert (tmp_path / "calls.log").read_text() == before
    assert result.results[0].metric == "f1"
    assert result.results[0].n == 12
