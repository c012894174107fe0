"""Logs that inspect_ai wrote, read by assay through inspect_ai. `make interop` installs it."""

import json
import zipfile
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.store.imported import open_run

pytest.importorskip("inspect_ai", reason="pip install inspect_ai")

ROWS = [
    {"id": "a", "question": "2+2?", "answer": "4"},
    {"id": "b", "question": "2+3?", "answer": "5"},
    {"id": "c", "question": "boom", "answer": "6"},
]


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    """Return a log of two epochs: one sample uses a tool, one is answered wrong, one fails."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelAPI, ModelOutput, modelapi
    from inspect_ai.scorer import match, model_graded_qa  # noqa: F401
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import tool

    @tool
    def add():
        async def execute(x: int, y: int):
            """Add two numbers.

            Args:
                x: First.
                y: Second.
            """
            return str(x + y)

        return execute

    @modelapi("scripted")
    class Scripted(ModelAPI):
        async def count_tokens(self, input, config=None):
            return 1

        async def generate(self, input, tools, tool_choice, config):
            text = input[-1].text
            if "boom" in text:
                raise ValueError("no answer for this")
            if "2+2" in text:
                arguments = {"x": 2, "y": 2}
                return ModelOutput.for_tool_call("scripted/m", "add", arguments)
            return ModelOutput.from_content("scripted/m", "It is 4")

    samples = [Sample(r["question"], target=r["answer"], id=r["id"]) for r in ROWS]
    task = Task(
        name="sums",
        dataset=MemoryDataset(samples),
        solver=[use_tools(add()), generate()],
        scorer=match(),
        epochs=2,
    )
    folder = tmp_path_factory.mktemp("logs")
    (written,) = eval(
        task,
        model="scripted/m",
        log_dir=str(folder),
        display="none",
        fail_on_error=False,
    )
    return Path(written.location.removeprefix("file://"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_log_is_read_with_tools_epochs_and_failures(log):
    reader = open_run(log)

    (row,) = reader.results
    assert (row.task, row.model, row.metric) == ("sums", "scripted/m", "match")
    assert row.value == 0.5 and row.n == 2 and row.n_expected == 3
    assert row.outcomes == {"scored": 4, "model_error": 2}
    outputs = {(r.id, r.epoch): r for r in reader.outputs()}
    kinds = [
        part["type"]
        for turn in outputs["a", 1].prompt
        for part in turn["content"]
        if isinstance(part, dict)
    ]
    assert "tool_call" in kinds and "tool_result" in kinds
    assert outputs["a", 0].output["candidates"][0]["text"] == "It is 4"
    assert "no answer for this" in outputs["c", 0].output["error"]["message"]
    assert reader.manifest["versions"]["inspect_ai"]


def test_a_json_log_reads_as_the_same(log, folder):
    from inspect_ai.log import read_eval_log, write_eval_log

    write_eval_log(read_eval_log(str(log)), "same.json")

    (own,), (same,) = open_run(log).results, open_run("same.json").results

    assert (own.value, own.ci, own.n) == (same.value, same.ci, same.n)


def test_every_command_reads_a_log(log, capsys):
    rows = [json.dumps(row) + "\n" for row in ROWS[:2]]
    Path("sums.jsonl").write_text("".join(rows))
    words = "run sums.jsonl --model scripted -a answers=4 --scorer exact_match -o ours"
    main(words.split())
    capsys.readouterr()

    assert main(["compare", str(log), "ours"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "sums.exact_match is compared with sums.match" in shown
    assert main(["show", str(log), "--failures"]) == 0
    assert "no answer for this" in capsys.readouterr().out
    assert main(["leaderboard", str(log.parent)]) == 0
    assert "scripted/m" in capsys.readouterr().out
    assert main(["view", str(log), "--bundle", "site"]) == 0
    capsys.readouterr()
    words = f"run sums.jsonl --model predictions/{log} --scorer includes --epochs 2"
    main([*words.split(), "-o", "again"])
    assert open_run("again").results[0].value == 0.5


def test_an_export_is_read_back_with_equal_numbers(run):
    main(["export", "out", "--to", "inspect", "-o", "back.eval"])

    (own,), (read,) = open_run("out").results, open_run("back.eval").results

    assert (read.value, read.stderr, read.ci) == (own.value, own.stderr, own.ci)
    assert (read.n, read.n_expected, read.interval) == (2, 3, own.interval)
    assert dict(read.outcomes) == dict(own.outcomes)
    compared = assay.compare("out", "back.eval")
    assert compared.compared == 1 and not compared.rows[0].flips()
    image = next(r for r in open_run("back.eval").outputs() if r.id == "b")
    digests = [p.get("sha256") for p in image.prompt[0]["content"]]
    assert any(digests), "the image of the prompt is kept"


def fault(capsys, path) -> str:
    """Return the one line about a log that cannot be read."""
    assert main(["show", str(path)]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1, line
    return line


@pytest.mark.parametrize("name", ["newer.json", "newer.eval"])
def test_a_log_of_a_newer_version_is_one_line(log, capsys, run, name):
    from inspect_ai.log import read_eval_log, write_eval_log

    if name.endswith("json"):
        write_eval_log(read_eval_log(str(log)), name)
        document = json.loads(Path(name).read_text())
        Path(name).write_text(json.dumps({**document, "version": 99}))
    else:
        copy_log(name, b'"version": 2', b'"version": 99')

    line = fault(capsys, name)

    assert "newer version" in line and "pip install --upgrade inspect_ai" in line


def copy_log(name: str, old: bytes, new: bytes) -> None:
    """Write the log of the run, with a text in its entries replaced."""
    main(["export", "out", "--to", "inspect", "-o", "good.eval"])
    with zipfile.ZipFile("good.eval") as good, zipfile.ZipFile(name, "w") as copy:
        for entry in good.infolist():
            copy.writestr(entry.filename, good.read(entry).replace(old, new))


def test_a_truncated_log_is_one_line(log, capsys):
    Path("cut.eval").write_bytes(log.read_bytes()[:-200])

    assert "cut off or damaged" in fault(capsys, "cut.eval")


def test_a_zip_of_something_else_is_one_line(capsys):
    with zipfile.ZipFile("other.eval", "w") as archive:
        archive.writestr("hello.txt", "hello")

    assert "cannot read these results" in fault(capsys, "other.eval")


def test_a_sample_that_needs_more_memory_than_allowed_is_one_line(
    capsys, run, monkeypatch
):
    monkeypatch.setattr("assay.imports.inspect_logs.MEMORY", 400 << 20)
    # Decoded, these lists take a hundred times the memory of their text.
    lists = b",".join([b"[[],[],[],[],[],[],[],[]]"] * 500_000)
    copy_log("bomb.eval", b'"store": {}', b'"store": {"lists": [' + lists + b"]}")

    assert "of memory" in fault(capsys, "bomb.eval")
