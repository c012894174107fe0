"""Exports as files: what they hold. tests/interop reads the same files with the tools they are for."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from assay.cli.main import main
from assay.exports.exporter import hub_data, hub_name
from assay.registry import exporters

ROOT = Path(__file__).parents[2]


def export(kind: str, *more: str) -> int:
    return main(["export", "out", "--to", kind, *more])


def read_log(path: Path) -> dict[str, dict]:
    """Return the entries of a log of inspect_ai."""
    with zipfile.ZipFile(path) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_every_exporter_has_a_row_in_the_page():
    page = (ROOT / "docs" / "exports.md").read_text()

    assert [name for name in exporters.names() if f"| `{name}` |" not in page] == []


def test_inspect_log_has_header_samples_and_their_list(run):
    assert export("inspect", "-o", "x.eval") == 0

    log = read_log(Path("x.eval"))
    header = log["header.json"]
    assert header["version"] == 2 and header["status"] == "success"
    assert header["eval"]["dataset"]["sample_ids"] == ["a", "b", "c"]
    assert [entry["id"] for entry in log["summaries.json"]] == ["a", "b", "c"]
    assert {f"samples/{id}_epoch_1.json" for id in "abc"} <= log.keys()


def test_inspect_log_has_interval_method_counts_and_failures(run):
    export("inspect", "-o", "x.eval")

    score = read_log(Path("x.eval"))["header.json"]["results"]["scores"][0]
    values = {name: metric["value"] for name, metric in score["metrics"].items()}
    assert values["mean"] == 1.0 and 0 < values["ci_low"] < values["ci_high"] == 1.0
    assert (score["scored_samples"], score["unscored_samples"]) == (2, 1)
    assert score["metadata"]["interval"] == "clopper-pearson"
    assert score["metadata"]["outcomes"] == {"scored": 2, "model_error": 1}


def test_inspect_sample_has_reasoning_media_and_error(run):
    export("inspect", "-o", "x.eval")

    log = read_log(Path("x.eval"))
    answer = log["samples/a_epoch_1.json"]["output"]["choices"][0]["message"]
    assert answer["content"] == [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "4"},
    ]
    question = log["samples/b_epoch_1.json"]["input"][0]["content"]
    assert question[0]["image"].startswith("data:image/png;base64,")
    failed = log["samples/c_epoch_1.json"]
    assert "no answer for this" in failed["error"]["message"]
    assert failed["scores"] == {}


def test_media_that_are_gone_are_named_by_digest(run):
    Path("four.png").unlink()

    export("inspect", "-o", "x.eval")

    question = read_log(Path("x.eval"))["samples/b_epoch_1.json"]["input"][0]
    assert question["content"][0]["text"].startswith("[image ")


def test_several_models_become_several_logs(run, capsys):
    words = "run sums.jsonl -M m.py:generate -M m.py:other --on_error continue"
    main([*words.split(" "), "--scorer", "exact_match", "-o", "out"])

    assert export("inspect") == 0
    names = sorted(path.name for path in Path("out/inspect").glob("*.eval"))
    assert len(names) == 2 and "other" in names[1]


def test_lm_eval_file_names_an_organisation_and_the_intervals(run):
    export("lm-eval-json")

    document = json.loads(Path("out/results.json").read_text())
    assert document["config"]["model_args"]["pretrained"] == "local/m.py-generate"
    (config,) = document["configs"].values()
    number = config["metadata"]["numbers"]["exact_match"]
    assert number["interval"] == "clopper-pearson" and number["n"] == 2


def test_every_eval_ever_has_uncertainty_and_samples(run):
    assert export("every-eval-ever") == 0

    (numbers,) = Path("out/every_eval_ever").rglob("*[0-9a-f].json")
    document = json.loads(numbers.read_text())
    (result,) = document["evaluation_results"]
    interval = result["score_details"]["uncertainty"]["confidence_interval"]
    assert interval["confidence_level"] == 0.95
    assert interval["method"] == "clopper-pearson"
    assert result["score_details"]["details"]["outcome.model_error"] == "1"
    samples = numbers.with_name(f"{numbers.stem}_samples.jsonl")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    assert [row["sample_id"] for row in rows] == ["a", "b"]


def test_exporting_again_replaces_the_same_files(run):
    export("every-eval-ever")
    first = sorted(Path("out/every_eval_ever").rglob("*.json"))

    assert export("every-eval-ever") == 0
    assert sorted(Path("out/every_eval_ever").rglob("*.json")) == first


def test_model_card_has_metadata_and_a_table(run):
    assert export("model-card", "-o", "card.md") == 0

    text = Path("card.md").read_text()
    _, metadata, body = text.split("---\n", 2)
    (entry,) = yaml.safe_load(metadata)["model-index"]
    (metric,) = entry["results"][0]["metrics"]
    assert metric["value"] == 1.0 and metric["args"]["failures"] == "1 model_error"
    assert "clopper-pearson" in body and "2 / 3" in body


def test_eval_results_need_a_dataset_on_the_hub(run, capsys):
    assert export("hf-eval-results") == 2

    assert "--to model-card" in capsys.readouterr().err


def test_eval_results_of_a_shipped_benchmark_name_its_dataset(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    main(
        [
            "run",
            "gsm8k",
            "--data",
            "mini",
            "--model",
            "scripted",
            "-a",
            "answers=4",
            "-o",
            "out",
        ]
    )

    assert export("hf-eval-results") == 0
    (entry,) = yaml.safe_load(Path("out/eval_results.yaml").read_text())
    assert entry["dataset"]["id"] == "openai/gsm8k"
    assert "95 % interval [" in entry["notes"] and "failures:" in entry["notes"]


@pytest.mark.parametrize("kind", ["mlflow", "wandb", "trackio"])
def test_a_tracker_that_is_not_installed_is_one_line(run, capsys, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, kind, None)

    assert export(kind) == 2
    err = capsys.readouterr().err
    assert f"pip install {kind}" in err and err.count("\n") == 1
    assert not Path("out", kind).exists()


def test_every_eval_ever_keeps_each_sample_on_one_line_of_any_reader(run):
    Path("odd.jsonl").write_text(
        '{"id": "a", "question": "q\\u2028r", "answer": "4"}\n'
    )
    main(
        [
            "run",
            "odd.jsonl",
            "--model",
            "m.py:generate",
            "--scorer",
            "exact_match",
            "-o",
            "odd",
        ]
    )

    assert main(["export", "odd", "--to", "every-eval-ever", "-o", "files"]) == 0

    (samples,) = Path("files").rglob("*_samples.jsonl")
    (line,) = samples.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["input"]["raw"] == "q\u2028r"


@pytest.mark.parametrize("kind", ["inspect", "every-eval-ever"])
def test_a_folder_cannot_replace_a_file(run, capsys, kind):
    Path("taken").write_text("mine")

    assert export(kind, "-o", "taken") == 2
    assert "this is a file" in capsys.readouterr().err
    assert Path("taken").read_text() == "mine"


def test_a_format_of_several_files_is_not_written_to_stdout(run, capsys):
    assert export("every-eval-ever", "-o", "-") == 2

    assert "writes more than one file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("hf/org/model-7b", "org/model-7b"),
        ("hf//home/me/model-7b", "local/model-7b"),
        ("openai/gpt-x", "openai/gpt-x"),
        ("smollm2", "local/smollm2"),
        ("folder/my.py:generate", "local/my.py-generate"),
        ("openai/org/gpt-x", "openai/org-gpt-x"),
    ],
)
def test_models_are_named_by_organisation(model, name):
    assert hub_name(model) == name


def test_data_of_the_hub_is_recognised_by_its_reference():
    data = hub_data("mine", ["hub:org/set@main#test"])

    assert data is not None
    assert (data.repository, data.config, data.split) == ("org/set", "main", "test")


@pytest.mark.costly
def test_a_hundred_thousand_samples_are_exported_within_300_mb(tmp_path):
    code = (
        "import assay, sys\n"
        "rows = ({'id': str(n), 'question': f'{n}?', 'answer': '4'} for n in range(100_000))\n"
        "task = assay.Task('many', dataset=list(rows), scorers=('exact_match',))\n"
        "assay.run(task, lambda messages: '4', output='out')\n"
    )
    measured = (
        "import re, sys\nfrom pathlib import Path\nfrom assay.cli.main import main\n"
        "code = main(['export', 'out', '--to', 'inspect', '-o', 'x.eval'])\n"
        # ru_maxrss would include the memory of the process that started this one.
        "status = Path('/proc/self/status').read_text()\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) // 1024)\nsys.exit(code)\n"
    )
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    ended = subprocess.run(
        [sys.executable, "-c", measured],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert int(ended.stdout.split()[-1]) < 300
