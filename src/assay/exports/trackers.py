"""Export the metrics of a run to experiment trackers: MLflow, Weights & Biases and Trackio.

Every tracker writes to a folder of this machine. It sends data only if the user configured an address for it:
`MLFLOW_TRACKING_URI`, `WANDB_MODE=online`, `TRACKIO_SPACE_ID` or `TRACKIO_SERVER_URL`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..core import library
from ..core.errors import plural
from ..store import RunReader
from .exporter import Cell, cells_of, folder_for, model_names

PROJECT = "assay"
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_SILENT": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "GRADIO_ANALYTICS_ENABLED": "False",
    "DO_NOT_TRACK": "1",
}
"""Environment variables that prevent the trackers from sending usage data."""


class Mlflow:
    """Exports one MLflow run for each model, to a database in the output folder or to `MLFLOW_TRACKING_URI`."""

    file_name = "mlflow"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Log the metrics, the settings and `summary.json`."""
        with _environment(QUIET):
            mlflow = library("mlflow", "MLflow", "mlflow")
            address = os.environ.get("MLFLOW_TRACKING_URI")
            if address is None:
                folder = folder_for(path).resolve()
                address = f"sqlite:///{folder / 'mlflow.db'}"
                store = (folder / "artifacts").as_uri()
            else:
                store = None
            mlflow.set_tracking_uri(address)
            client = mlflow.MlflowClient()
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
            if client.get_experiment_by_name(name) is None:
                client.create_experiment(name, artifact_location=store)
            mlflow.set_experiment(name)
            models = _by_model(reader, model)
            for model_name, cells in models.items():
                with mlflow.start_run(run_name=_run_name(reader, model_name)):
                    mlflow.log_params(_settings(reader, model_name, cells))
                    mlflow.log_metrics(_numbers(cells))
                    mlflow.log_artifact(str(reader.layout.summary))
        return plural(len(models), "run")


class Wandb:
    """Exports one W&B run for each model: offline to the output folder, or online with `WANDB_MODE=online`."""

    file_name = "wandb"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Log the metrics as the summary of a W&B run, and the settings as its config."""
        with _environment(QUIET):
            wandb = library("wandb", "Weights & Biases", "wandb")
            is_online = os.environ.get("WANDB_MODE") == "online"
            has_own_run = wandb.run is not None
            models = _by_model(reader, model)
            for model_name, cells in models.items():
                run = wandb.init(
                    mode="online" if is_online else "offline",
                    dir=str(folder_for(path)),
                    project=os.environ.get("WANDB_PROJECT", PROJECT),
                    name=_run_name(reader, model_name),
                    config=_settings(reader, model_name, cells),
                    reinit="finish_previous",
                )
                run.log(_numbers(cells))
                run.finish()
            if not has_own_run:
                wandb.teardown()  # `finish` returns before the file is written.
        return plural(len(models), "run")


class Trackio:
    """Exports one Trackio run for each model, to a database in the output folder, or to the user's Space or server."""

    file_name = "trackio"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Log the metrics as one step of a Trackio run, and the settings as its config."""
        address = {"TRACKIO_DIR": str(path.resolve())}
        with _environment({**QUIET, **address}):
            trackio = library("trackio", "Trackio", "trackio")
            folder_for(path)
            models = _by_model(reader, model)
            for model_name, cells in models.items():
                trackio.init(
                    project=os.environ.get("TRACKIO_PROJECT", PROJECT),
                    name=_run_name(reader, model_name),
                    config=_settings(reader, model_name, cells),
                    embed=False,
                    auto_log_gpu=False,
                    auto_log_cpu=False,
                )
                trackio.log(_numbers(cells))
                trackio.finish()
        return plural(len(models), "run")


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables during the block. Those that the user has set are not changed."""
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _by_model(
    reader: RunReader,
    model: str | None,
) -> dict[str, list[Cell]]:
    cells = cells_of(reader, model)
    names = model_names(result for cell in cells for result in cell.results)
    return {name: [cell for cell in cells if cell.model == name] for name in names}


def _run_name(reader: RunReader, model: str) -> str:
    return f"{reader.layout.folder.resolve().name} {model}"


def _numbers(cells: Sequence[Cell]) -> dict[str, float]:
    """Return the value of each metric, named `task/metric`, and its standard error, interval, counts and failures."""
    numbers: dict[str, float] = {}
    for cell in cells:
        for result in cell.results:
            name = f"{_tracker_name(cell.task)}/{_tracker_name(result.metric)}"
            low, high = result.ci if result.ci is not None else (None, None)
            values: dict[str, float | None] = {
                name: result.value,
                f"{name}/stderr": result.stderr,
                f"{name}/ci_low": low,
                f"{name}/ci_high": high,
                f"{name}/n": result.n,
                f"{name}/n_expected": result.n_expected,
            }
            for outcome, count in result.outcomes.items():
                values[f"{name}/outcome/{outcome}"] = count
            for key, value in values.items():
                if value is not None:
                    numbers[key] = float(value)
    return numbers


def _tracker_name(text: str) -> str:
    """Replace characters that at least one of the trackers does not accept with `-`."""
    return "".join(c if c.isalnum() or c in "_-. " else "-" for c in text)


def _settings(
    reader: RunReader,
    model: str,
    cells: Sequence[Cell],
) -> dict[str, str]:
    """Return the model, and for each task the protocol, the data and the methods of the intervals."""
    manifest = reader.manifest_if_any
    settings = {
        "model": model,
        "run": str(reader.layout.folder),
        "status": str(manifest.get("status")),
        "assay": str(manifest.get("versions", {}).get("assay", "")),
    }
    for cell in cells:
        task = _tracker_name(cell.task)
        settings[f"{task}/protocol"] = str(cell.described.get("protocol") or cell.task)
        settings[f"{task}/data_sha256"] = str(cell.described.get("data_sha256") or "")
        for result in cell.results:
            metric = _tracker_name(result.metric)
            settings[f"{task}/{metric}/interval"] = result.interval
    return settings
