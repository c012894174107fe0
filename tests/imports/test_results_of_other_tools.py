"""Results of other tools in every command that reads runs."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.store.imported import open_run
from assay.store.labels import read_labels

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a new folder that holds copies of the results."""
    monkeypatch.chdir(tmp_path)
    for path in DATA.iterdir():
        if path.is_dir():
            shutil.copytree(path, tmp_path / path.name)
        else:
            shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture
def sums(folder: Path) -> Path:
    """Return a run of assay on the questions that lm-eval asked, with ids of its own."""
    rows = [
        {"id": f"q{n}", "question": f"{n}+1=", "answer": str(n + 1)}
        for n in range(1, 5)
    ]
    write_rows("sums.jsonl", rows)
    words = "run sums.jsonl --model scripted -a answers=3 --scorer exact_match -o ours"
    assert main(words.split()) == 0
    return folder / "ours"


def write_rows(name: str, rows: list) -> None:
    """Write rows as JSONL."""
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


LM_EVAL = Path("lm_eval/dummy/results_2026-11-18T20-21-54.095444.json")


def numbers(path) -> dict:
    """Return the value of each number, by task and metric."""
    return {(row.task, row.metric): row.value for row in open_run(path).results}


def test_lm_eval_results_are_read_with_their_samples():
    reader = open_run(LM_EVAL)

    assert numbers(LM_EVAL) == {
        ("sums", "exact_match,strict"): 0.0,
        ("sums", "exact_match,loose"): 0.0,
        ("pick", "acc"): 0.25,
        ("pick", "acc_norm"): 0.25,
    }
    pick = next(row for row in reader.results if row.metric == "acc")
    assert pick.n == 4 and pick.ci[0] < 0.25 < pick.ci[1]
    assert pick.model == "dummy" and "lm-eval" in pick.protocol
    first = next(reader.outputs("pick", "dummy"))
    assert first.continuations == [" yes", " no way"]
    assert first.output["likelihoods"][0][0] == pytest.approx(-0.109, abs=1e-3)
    assert reader.damage == ()


def test_a_folder_of_lm_eval_is_read_by_its_newest_results():
    assert numbers("lm_eval") == numbers(LM_EVAL)


def test_lm_eval_results_without_samples_have_the_interval_of_their_standard_error():
    for file in LM_EVAL.parent.glob("samples_*"):
        file.unlink()

    row = next(row for row in open_run(LM_EVAL).results if row.metric == "acc")

    assert row.value == 0.25 and row.stderr == 0.25
    assert row.interval == "normal, from the standard error of lm-eval"
    assert row.ci[1] == pytest.approx(0.25 + 1.96 * 0.25, abs=1e-3)


def test_a_number_that_is_not_a_mean_of_samples_keeps_the_value_of_the_file():
    document = json.loads(LM_EVAL.read_text())
    document["results"]["pick"]["acc,none"] = 0.5
    LM_EVAL.write_text(json.dumps(document))

    row = next(row for row in open_run(LM_EVAL).results if row.metric == "acc")

    assert row.value == 0.5 and "standard error of lm-eval" in row.interval


def test_samples_of_lm_eval_alone_have_an_unknown_model():
    (file,) = Path("lm_eval").rglob("samples_sums*")

    (task, model) = open_run(file).cells[0]

    assert (task, model) == ("sums", "unknown")


def test_reviews_of_evalscope_are_read_with_repeats():
    reader = open_run("evalscope")

    (row,) = reader.results
    assert (row.task, row.model, row.metric) == ("sums", "mock", "accuracy")
    assert row.value == 0.25 and row.n == 4
    assert len(list(reader.outputs())) == 8


def test_files_of_every_eval_ever_are_read():
    (file,) = (f for f in Path("every_eval_ever").iterdir() if f.suffix == ".json")

    reader = open_run(file)

    assert {row.metric: row.value for row in reader.results} == {
        "acc": 0.25,
        "acc_norm": 0.25,
    }
    assert "made by lm_eval 0.4.13" in reader.summary["notes"]


@pytest.mark.parametrize("name", ["openai_batch.jsonl", "anthropic_batch.jsonl"])
def test_outputs_of_batch_apis_are_answers_without_numbers(name, capsys):
    outputs = {record.id: record for record in open_run(name).outputs()}

    assert outputs["a"].output["candidates"][0]["text"] == "4"
    assert outputs["b"].failed and outputs["c"].failed
    assert open_run(name).results == []
    assert main(["show", name]) == 0
    assert "sample a" in capsys.readouterr().out


def write_vlmevalkit(path: Path, with_hit: bool) -> None:
    """Write a table as VLMEvalKit does: all columns of the data, then prediction, hit and log."""
    openpyxl = pytest.importorskip("openpyxl")
    header = ["index", "question", "A", "B", "answer", "category", "prediction"]
    rows = [
        [0, "Which?", "cat", "dog", "A", "animals", "A"],
        [1, "Where?", "in", "out", "B", "places", "A. in"],
    ]
    if with_hit:
        header += ["hit", "log"]
        rows = [[*rows[0], 1, "Match"], [*rows[1], 0, "Match"]]
    book = openpyxl.Workbook()
    for row in (header, *rows):
        book.active.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def test_tables_of_vlmevalkit_are_read():
    path = Path("outputs/Model-7B/T2026/Model-7B_MMBench_exact_matching_result.xlsx")
    write_vlmevalkit(path, with_hit=True)

    reader = open_run(path)

    (row,) = reader.results
    assert (row.task, row.model, row.metric) == ("MMBench", "Model-7B", "hit")
    assert row.value == 0.5 and row.n == 2
    first = next(reader.outputs())
    assert "A. cat" in first.prompt[0]["content"] and first.target == "A"


def test_runs_and_results_of_other_tools_are_compared_by_question(sums, capsys):
    assert main(["compare", "lm_eval", "ours", "--flips"]) == 0

    shown = capsys.readouterr().out
    assert "exact_match" in shown and "0.000 → 0.250" in shown
    assert "paired by question; ids differ" in shown
    assert "'lol'" in shown and "'3'" in shown
    assert "lm-eval does not say the prompt template" in " ".join(shown.split())


def test_different_data_is_compared_only_with_force(sums, capsys):
    rows = [{"id": str(n), "question": f"other {n}", "answer": "x"} for n in range(4)]
    write_rows("other.jsonl", rows)
    words = "run other.jsonl --model scripted -a answers=3 --scorer exact_match -o b"
    main(words.split())
    samples = str(next(Path("lm_eval").rglob("samples_sums*")))
    capsys.readouterr()

    assert main(["compare", samples, "b"]) == 3
    refused = " ".join(capsys.readouterr().out.split())
    assert "different data: 4 of 4 samples" in refused and "--force" in refused

    assert main(["compare", samples, "b", "--force"]) == 0
    assert "forced, although" in " ".join(capsys.readouterr().out.split())


def test_python_compares_results_of_other_tools():
    samples = next(Path("lm_eval").rglob("samples_sums*"))

    report = assay.compare("lm_eval", samples)

    assert report.compared == 2


def test_show_view_gate_leaderboard_and_label_read_them(capsys):
    Path("policy.yaml").write_text("min_value: 0.9\n")

    assert main(["show", "lm_eval", "--limit", "1"]) == 0
    assert "sums (lm-eval)" in capsys.readouterr().out
    assert main(["gate", "policy.yaml", "evalscope"]) in (4, 5)
    assert "sums.accuracy" in capsys.readouterr().out
    assert main(["leaderboard", "lm_eval", "evalscope"]) == 0
    board = capsys.readouterr().out
    assert "dummy" in board and "mock" in board
    assert main(["label", "evalscope"]) == 0
    assert "no labels" in capsys.readouterr().out
    assert main(["view", "evalscope", "--bundle", "site"]) == 0
    assert "1 run," in capsys.readouterr().out
    assert main(["view", ".", "--bundle", "all"]) == 0
    assert "2 runs" in capsys.readouterr().out


def test_nothing_is_written_beside_the_results(folder):
    before = sorted(path for path in folder.rglob("*"))

    main(["show", "lm_eval"])
    main(["compare", "lm_eval", str(LM_EVAL)])

    assert sorted(path for path in folder.rglob("*")) == before


def test_labels_stay_when_the_results_change():
    Path("labels.csv").write_text("id,value\n0,1\n")
    assert main(["label", "evalscope", "--import", "labels.csv", "--by", "me"]) == 0
    reviews = Path("evalscope/reviews/mock/sums_default.jsonl")
    reviews.write_text(
        reviews.read_text().replace('"accuracy": 0.0', '"accuracy": 1.0')
    )
    shutil.rmtree("evalscope/reports")

    reader = open_run("evalscope")

    assert [label.by for label in read_labels(reader.layout)] == ["me"]
    assert next(row for row in reader.results).value == 1.0


def test_an_export_to_lm_eval_is_read_back_with_equal_numbers(sums):
    main(["export", "ours", "--to", "lm-eval-json", "-o", "back.json"])

    (own,), (read,) = open_run("ours").results, open_run("back.json").results

    assert (read.value, read.stderr, read.ci) == (own.value, own.stderr, own.ci)
    assert (read.n, read.n_expected, read.interval) == (4, 4, own.interval)
    assert dict(read.outcomes) == dict(own.outcomes)


def test_an_export_to_every_eval_ever_is_read_back_with_equal_numbers(sums):
    main(["export", "ours", "--to", "every-eval-ever", "-o", "back"])
    (file,) = Path("back").rglob("*.json")

    (own,), (read,) = open_run("ours").results, open_run(file).results

    assert (read.value, read.ci, read.n) == (own.value, own.ci, own.n)
    compared = assay.compare("ours", file)
    assert compared.compared == 1 and not compared.rows[0].flips()


def test_predictions_are_taken_from_results_of_other_tools(capsys):
    rows = [{"id": str(n), "question": "?", "answer": "lol"} for n in range(4)]
    write_rows("data.jsonl", rows)
    samples = next(Path("lm_eval").rglob("samples_sums*"))
    words = ["run", "data.jsonl", "--scorer", "exact_match", "--model"]

    assert main([*words, f"predictions/{samples}", "-o", "a"]) == 0
    assert open_run("a").results[0].value == 1.0

    assert main([*words, f"predictions/{LM_EVAL}", "-o", "b"]) == 2
    assert "-a task=NAME names one of sums, pick" in capsys.readouterr().err
    more = ["-a", "task=sums", "-o", "c"]
    assert main([*words, f"predictions/{LM_EVAL}", *more]) == 0
    assert open_run("c").results[0].value == 1.0


def test_predictions_of_a_batch_file_leave_out_failed_requests():
    rows = [{"id": id, "question": "2+2?", "answer": "4"} for id in "abc"]
    write_rows("data.jsonl", rows)
    words = "run data.jsonl --scorer exact_match --model predictions/openai_batch.jsonl"

    main([*words.split(), "-o", "a"])

    (row,) = open_run("a").results
    assert row.value == 1.0 and row.outcomes["model_error"] == 2


def fault(capsys, *words: str) -> str:
    """Return the one line of a command that refuses its input."""
    assert main([*words]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1, line
    return line


def test_a_file_of_no_tool_is_one_line(capsys):
    Path("notes.json").write_text('{"a": 1}')

    line = fault(capsys, "compare", "notes.json", "lm_eval")

    assert "neither a run folder nor results of a tool" in line


def test_a_log_without_inspect_names_the_extra(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    Path("x.eval").write_bytes(b"PK")

    line = fault(capsys, "show", "x.eval")

    assert "x.eval" in line and "pip install 'assay[inspect]'" in line


@pytest.fixture
def with_inspect(monkeypatch):
    """Let the archive be checked as if inspect_ai were here; nothing gets as far as reading."""
    monkeypatch.setattr("assay.core.Requirement.check", lambda self, where=None: None)


@pytest.mark.usefixtures("with_inspect")
def test_a_truncated_log_is_one_line(capsys):
    with zipfile.ZipFile("x.eval", "w") as archive:
        archive.writestr("header.json", "{}" * 1000)
    data = Path("x.eval").read_bytes()
    Path("x.eval").write_bytes(data[: len(data) // 2])

    assert "the zip file is cut off or damaged" in fault(capsys, "show", "x.eval")


@pytest.mark.usefixtures("with_inspect")
def test_a_zip_bomb_is_refused_before_it_is_decompressed(capsys):
    with zipfile.ZipFile("x.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/a_epoch_1.json", bytes(100 << 20))

    line = fault(capsys, "show", "x.eval")

    assert "would decompress to more than is read" in line


def test_a_torn_results_file_is_one_line(capsys):
    LM_EVAL.write_text(LM_EVAL.read_text()[:-100])

    assert "not valid JSON" in fault(capsys, "show", str(LM_EVAL))


def test_a_torn_line_of_samples_names_its_number(capsys):
    file = next(Path("lm_eval").rglob("samples_sums*"))
    file.write_text(file.read_text() + '{"doc_id": 4, "filt')

    assert "line 9: not valid JSON" in fault(capsys, "show", str(file))


def test_deeply_nested_json_is_one_line(capsys):
    text = LM_EVAL.read_text().rstrip().removesuffix("}")
    LM_EVAL.write_text(f'{text}, "deep": {"[" * 100_000}{"]" * 100_000}}}')

    assert "nested too deeply" in fault(capsys, "show", str(LM_EVAL))


def test_an_excel_file_of_something_else_names_the_missing_column(capsys):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["name", "age"])
    book.active.append(["x", 3])
    book.save("people.xlsx")

    assert "no column 'index'; it has name, age" in fault(capsys, "show", "people.xlsx")


def test_an_unreadable_file_in_a_folder_is_left_out_and_named(capsys):
    Path("lm_eval/broken.eval").write_bytes(b"nothing")

    assert main(["leaderboard", "lm_eval"]) == 0

    err = capsys.readouterr().err
    assert "left out" in err and "broken.eval" in err


def test_a_killed_conversion_leaves_no_half_results(monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("assay.store.converting._results", stop)
        with pytest.raises(KeyboardInterrupt):
            open_run("evalscope")

    assert open_run("evalscope").results[0].value == 0.25


@pytest.mark.parametrize("value", [5, True, {"a": 1}, [[]], "x"])
def test_a_value_of_another_kind_is_one_line_with_its_file(value, capsys):
    samples = next(Path("lm_eval/dummy").glob("samples_sums*.jsonl"))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[1]["metrics"] = value
    rows[1]["resps"] = [[["nan?", "False"]]]
    write_rows(str(samples), rows)

    assert main(["compare", str(LM_EVAL), str(LM_EVAL)]) == 2

    message = capsys.readouterr().err
    assert "cannot read these results: a value is not what the format has" in message
    assert len(message.strip().splitlines()) <= 3


def test_a_batch_answer_that_cannot_be_read_is_one_failed_sample():
    file = Path("openai_batch.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["response"]["body"] = {"choices": [7]}
    write_rows(str(file), rows)

    outputs = {record.id: record.output for record in open_run(file).outputs()}

    assert "cannot be read" in outputs["a"]["error"]["message"]
    assert "cannot be read" not in json.dumps(outputs["b"])
