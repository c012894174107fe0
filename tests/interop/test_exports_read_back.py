"""Exports read back by the tools they are for. `make interop` installs these tools and runs the tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from assay.cli.main import main


def export(kind: str, *more: str) -> None:
    assert main(["export", "out", "--to", kind, *more]) == 0


def program(name: str) -> str:
    """Return a program of this environment."""
    path = Path(sys.executable).with_name(name)
    if not path.is_file():
        pytest.skip(f"{name} is not installed: make interop")
    return str(path)


def test_inspect_reads_the_log(run):
    log_module = pytest.importorskip("inspect_ai.log", reason="pip install inspect_ai")
    export("inspect", "-o", "x.eval")

    log = log_module.read_eval_log("x.eval")

    (score,) = log.results.scores
    assert log.status == "success" and log.eval.model == "assay/m.py:generate"
    assert score.metrics["mean"].value == 1.0 and score.metrics["ci_low"].value > 0
    first, second, failed = log.samples
    assert first.output.completion == "4"
    assert first.scores["exact_match"].value == 1.0
    assert second.input[0].content[0].type == "image"
    assert "no answer for this" in failed.error.message
    summaries = log_module.read_eval_log_sample_summaries("x.eval")
    assert [summary.id for summary in summaries] == ["a", "b", "c"]
    samples = log_module.read_eval_log_samples("x.eval", all_samples_required=False)
    assert len(list(samples)) == 3


def test_inspect_makes_data_frames_of_the_log(run):
    analysis = pytest.importorskip(
        "inspect_ai.analysis", reason="pip install inspect_ai"
    )
    export("inspect")

    assert len(analysis.samples_df("out/inspect")) == 3
    assert len(analysis.evals_df("out/inspect")) == 1


def test_inspect_bundles_the_log_for_its_viewer(run):
    export("inspect")

    words = [program("inspect"), "view", "bundle", "--log-dir", "out/inspect"]
    subprocess.run([*words, "--output-dir", "site"], check=True, capture_output=True)

    assert Path("site/index.html").is_file()


def test_every_eval_ever_validates_the_files(run):
    tool = program("every_eval_ever")
    export("every-eval-ever")
    folder = Path("out/every_eval_ever")
    files = [
        str(path.relative_to(folder))
        for path in folder.rglob("*.json*")
        if not path.name.startswith(".")
    ]

    ended = subprocess.run(
        [tool, "validate", *files], cwd=folder, capture_output=True, text=True
    )

    assert ended.returncode == 0 and "2 passed" in ended.stdout, ended.stdout


def test_every_eval_ever_converts_the_lm_eval_file(run):
    tool = program("every_eval_ever")
    export("lm-eval-json")
    words = ["convert", "lm_eval", "--log_path", "out/results.json"]
    words += ["--output_dir", "converted", "--source_organization_name", "me"]

    ended = subprocess.run([tool, *words], capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    (file,) = Path("converted").rglob("*.json")
    (result,) = json.loads(file.read_text())["evaluation_results"]
    assert result["score_details"]["score"] == 1.0


@pytest.mark.xfail(
    strict=True,
    reason="its converter knows no provider but those of its own list; --to every-eval-ever needs none",
)
def test_every_eval_ever_converts_the_inspect_log(run):
    tool = program("every_eval_ever")
    pytest.importorskip("inspect_ai", reason="pip install inspect_ai")
    export("inspect", "-o", "x.eval")
    words = ["convert", "inspect", "--log_path", "x.eval", "--output_dir", "converted"]

    ended = subprocess.run(
        [tool, *words, "--source_organization_name", "me"],
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_hub_library_reads_the_model_card(run):
    hub = pytest.importorskip("huggingface_hub", reason="pip install huggingface_hub")
    export("model-card", "-o", "card.md")

    card = hub.ModelCard.load("card.md")

    (result,) = card.data.eval_results
    assert result.metric_type == "exact_match" and result.metric_value == 1.0
    assert result.metric_args["n"] == 2


def test_the_hub_library_reads_eval_results(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="pip install huggingface_hub")
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
    export("hf-eval-results")

    plain = yaml.safe_load(Path("out/eval_results.yaml").read_text())
    (entry,) = hub.parse_eval_result_entries(plain)

    assert entry.dataset_id == "openai/gsm8k" and "n " in entry.notes


def test_mlflow_reads_the_run(run, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="pip install mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    export("mlflow")

    client = mlflow.MlflowClient(f"sqlite:///{run.resolve()}/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("assay")
    (logged,) = client.search_runs([experiment.experiment_id])

    metrics = logged.data.metrics
    name = next(n for n in metrics if n.endswith("exact_match"))
    assert metrics[name] == 1.0 and metrics[f"{name}/n"] == 2
    assert 0 < metrics[f"{name}/ci_low"] < metrics[f"{name}/ci_high"]
    assert metrics[f"{name}/outcome/model_error"] == 1
    assert logged.data.params["model"] == "m.py:generate"
    assert logged.data.params[f"{name}/interval"] == "clopper-pearson"


def test_trackio_reads_the_run(run, monkeypatch):
    pytest.importorskip("trackio", reason="pip install trackio")
    for name in ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL", "TRACKIO_DIR"):
        monkeypatch.delenv(name, raising=False)
    words = [sys.executable, "-m", "assay", "export", "out", "--to", "trackio"]
    subprocess.run(words, check=True, capture_output=True)
    code = (
        "import json\nfrom trackio.sqlite_storage import SQLiteStorage\n"
        "(run,) = SQLiteStorage.get_runs('assay')\n"
        "print(json.dumps(SQLiteStorage.get_logs('assay', run)))\n"
    )
    monkeypatch.setenv("TRACKIO_DIR", str(run / "trackio"))

    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    (step,) = json.loads(printed.stdout.splitlines()[-1])
    name = next(n for n in step if n.endswith("exact_match"))
    assert step[name] == 1.0 and step[f"{name}/n"] == 2


def test_wandb_reads_the_run(run, monkeypatch):
    pytest.importorskip("wandb", reason="pip install wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    export("wandb")

    (file,) = Path("out/wandb").rglob("*.wandb")
    history = dict(read_wandb_history(file))

    name = next(n for n in history if n.endswith("exact_match"))
    assert history[name] == 1.0 and history[f"{name}/n"] == 2


def read_wandb_history(file: Path):
    """Yield the logged numbers of an offline run, read with W&B's own record types.

    The file is a header of 7 bytes and blocks of 32 KiB, each a sequence of checksum (4 bytes), length (2), type (1)
    and data.
    """
    from wandb.proto import wandb_internal_pb2

    data = file.read_bytes()
    position = 7
    whole = b""
    while position + 7 <= len(data):
        if 32768 - position % 32768 < 7:
            position += 32768 - position % 32768
            continue
        length = int.from_bytes(data[position + 4 : position + 6], "little")
        kind = data[position + 6]
        whole += data[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            record = wandb_internal_pb2.Record.FromString(whole)
            whole = b""
            for item in record.history.item:
                name = item.key or "/".join(item.nested_key)
                yield name, json.loads(item.value_json)


@pytest.mark.parametrize("kind", ["mlflow", "wandb", "trackio"])
def test_an_export_opens_no_connection_to_another_machine(run, kind):
    pytest.importorskip(kind, reason=f"pip install {kind}")
    code = (
        "import socket, sys\n"
        "def refuse(self, address, connect=socket.socket.connect):\n"
        "    if isinstance(address, tuple) and not str(address[0]).startswith(('127.', '::1', 'localhost')):\n"
        "        print('connection to', address, file=sys.stderr); sys.exit(9)\n"
        "    return connect(self, address)\n"
        "socket.socket.connect = refuse\n"
        "from assay.cli.main import main\n"
        f"sys.exit(main(['export', 'out', '--to', '{kind}']))\n"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert ended.returncode == 0 and "connection to" not in ended.stderr, ended.stderr


def test_inspect_scores_the_log_again(run):
    pytest.importorskip("inspect_ai", reason="pip install inspect_ai")
    export("inspect", "-o", "x.eval")
    words = [program("inspect"), "score", "x.eval", "--scorer", "inspect_ai/match"]
    more = ["--action", "append", "--overwrite", "--display", "none"]

    ended = subprocess.run([*words, *more], capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    from inspect_ai.log import read_eval_log

    names = [score.name for score in read_eval_log("x.eval").results.scores]
    assert names == ["exact_match", "match"]
