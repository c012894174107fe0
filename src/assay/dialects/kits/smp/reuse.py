"""What an earlier run of VLMEvalKit left: folders by the time of the run, prediction files, and which are complete.

These serve scripts that drive a run as upstream's does; assay's own runs are resumed from their journal.
"""

import os
import re
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .files import dump, load, ls

__all__ = [
    "build_eval_id",
    "copy_prediction_file",
    "fetch_aux_files",
    "find_prediction_files",
    "get_infer_aux_file_names",
    "INFER_FAIL_MSG",
    "is_eval_run_id",
    "is_prediction_complete",
    "LEGACY_EVAL_ID_PATTERN",
    "list_eval_run_dirs",
    "NEW_EVAL_ID_PATTERN",
    "prepare_reuse_files",
    "RUN_STATUS_NAME",
    "select_reuse_run",
]

NEW_EVAL_ID_PATTERN = re.compile(r"^T\d{8}-\d{6}$")
LEGACY_EVAL_ID_PATTERN = re.compile(r"^T\d{8}_G([0-9a-fA-F]+)$")
RUN_STATUS_NAME = "status.json"
INFER_FAIL_MSG = "Failed to obtain answer"


def build_eval_id() -> str:
    """The name of a run's folder: `T20260102-030405`."""
    return time.strftime("T%Y%m%d-%H%M%S")


def is_eval_run_id(eval_id: str) -> bool:
    """Whether a folder is named like a run."""
    return bool(
        NEW_EVAL_ID_PATTERN.match(eval_id) or LEGACY_EVAL_ID_PATTERN.match(eval_id)
    )


def list_eval_run_dirs(root_dir: str, current_run_dir: str | None = None) -> list[str]:
    """The folders of other runs, the newest first."""
    if not os.path.isdir(root_dir):
        return []
    here = os.path.abspath(current_run_dir) if current_run_dir is not None else None
    found = [
        os.path.join(root_dir, name)
        for name in os.listdir(root_dir)
        if is_eval_run_id(name)
    ]
    folders = [
        path for path in found if os.path.isdir(path) and os.path.abspath(path) != here
    ]
    return sorted(folders, key=os.path.getmtime, reverse=True)


def find_prediction_files(
    run_dir: str, model_name: str, dataset_name: str
) -> list[str]:
    """The prediction files of a model on a dataset in a folder, in any format."""
    if not os.path.isdir(run_dir):
        return []
    return sorted(path for path in ls(run_dir, f"{model_name}_{dataset_name}.", "file"))


def fetch_aux_files(eval_file: str) -> list[str]:
    """The files beside a prediction file that are named after it, itself among them."""
    folder = os.path.dirname(eval_file)
    run = os.path.basename(folder)
    model = os.path.basename(os.path.dirname(folder)) if is_eval_run_id(run) else run
    dataset = os.path.splitext(os.path.basename(eval_file))[0][len(model) + 1 :]
    return ls(folder, f"{model}_{dataset}", "file")


def is_prediction_complete(
    pred_file: str, dataset_indices: Iterable[Any], retry_failed: bool = True
) -> bool:
    """Whether a prediction file answers every row; a failed answer is none if it is to be tried again."""
    frame = prediction_table(pred_file) if os.path.exists(pred_file) else None
    if frame is None:
        return False
    answered = {
        str(index)
        for index, prediction in zip(frame["index"], frame["prediction"], strict=True)
        if not (retry_failed and INFER_FAIL_MSG in str(prediction))
    }
    return all(str(index) in answered for index in dataset_indices)


def prediction_table(path: str) -> Any:
    """The table of a prediction file; `None` where it is none."""
    import pandas

    data = load(path)
    if isinstance(data, list):
        data = pandas.DataFrame(data)
    elif isinstance(data, dict):
        columns = [value for value in data.values() if isinstance(value, list)]
        if {"columns", "data"} <= set(data):
            data = pandas.DataFrame(data["data"], columns=data["columns"])
        elif columns and len({len(column) for column in columns}) == 1:
            data = pandas.DataFrame(data)
    is_table = hasattr(data, "columns") and {"index", "prediction"} <= set(data.columns)
    return data if is_table else None


def copy_prediction_file(src_file: str, dst_file: str) -> bool:
    """A prediction file elsewhere, in the format its new name says; whether there is one now."""
    os.makedirs(os.path.dirname(dst_file) or ".", exist_ok=True)
    if Path(src_file).suffix.lower() == Path(dst_file).suffix.lower():
        shutil.copy2(src_file, dst_file)
        return True
    frame = prediction_table(src_file)
    if frame is None:
        return False
    dump(frame, dst_file)
    return os.path.exists(dst_file)


def get_infer_aux_file_names(
    model_name: str,
    dataset_name: str,
    dataset: Any,
    result_file_base: str,
    world_size: int = 1,
) -> set[str]:
    """The names of the files in which an unfinished run of upstream's keeps its answers."""
    names = {f"{model_name}_{dataset_name}_checkpoint.pkl"}
    ranks = [f"{rank}{world_size}" for rank in range(world_size)]
    if dataset.MODALITY != "VIDEO":
        return names | {f"{rank}_{dataset_name}.pkl" for rank in ranks}
    nframe = getattr(dataset, "nframe", 0)
    spacing = f"{nframe}frame" if nframe > 0 else f"{dataset.fps}fps"
    start = f"{model_name}_{dataset_name}_{spacing}_{'pack' if getattr(dataset, 'pack', False) else 'nopack'}"
    stem = os.path.splitext(result_file_base)[0]
    return (
        names
        | {f"{start}_checkpoint.pkl", f"{start}_structs.pkl"}
        | {f"{rank}_{stem}.pkl" for rank in ranks}
    )


def select_reuse_run(
    pred_root_meta: str,
    eval_id: str,
    model_name: str,
    dataset_name: str,
    result_file: str,
    infer_aux_file_names: Iterable[str],
) -> dict[str, Any] | None:
    """The newest other run that left something for a model and a dataset; `None` without one."""
    from .status import load_run_status

    for folder in list_eval_run_dirs(
        pred_root_meta, os.path.join(pred_root_meta, eval_id)
    ):
        found = find_prediction_files(folder, model_name, dataset_name)
        exact = [
            path
            for path in found
            if os.path.basename(path) == os.path.basename(result_file)
        ]
        parts = [
            path
            for name in infer_aux_file_names
            if os.path.exists(path := os.path.join(folder, name))
        ]
        if found or parts:
            prediction = next(iter(exact or found), None)
            status = load_run_status(folder)
            return {
                "run_dir": folder,
                "status": status,
                "prediction_file": prediction,
                "infer_aux_files": parts,
            }
    return None


def prepare_reuse_files(
    pred_root_meta: str,
    eval_id: str,
    model_name: str,
    dataset_name: str,
    dataset: Any = None,
    result_file: str | None = None,
    reuse: bool = False,
    reuse_aux: str | bool = "infer",
    retry_failed: bool = True,
    judge_model: str | None = None,
    world_size: int = 1,
) -> dict[str, Any]:
    """Brings the files of the newest other run into a new run's folder; which run it was, and whether it is whole."""
    folder = os.path.join(pred_root_meta, eval_id)
    os.makedirs(folder, exist_ok=True)
    context: dict[str, Any] = {"source_eval_id": None, "prediction_complete": False}
    target = result_file or os.path.join(folder, f"{model_name}_{dataset_name}.xlsx")
    if not reuse or dataset is None:
        return context
    names = get_infer_aux_file_names(
        model_name, dataset_name, dataset, os.path.basename(target), world_size
    )
    source = select_reuse_run(
        pred_root_meta, eval_id, model_name, dataset_name, target, names
    )
    if source is None:
        return context
    context["source_eval_id"] = os.path.basename(source["run_dir"])
    prediction = source["prediction_file"]
    if prediction is not None:
        copy_prediction_file(prediction, target)
    for part in source["infer_aux_files"] if reuse_aux in ("infer", "all") else ():
        shutil.copy2(part, os.path.join(folder, os.path.basename(part)))
    context["prediction_complete"] = is_prediction_complete(
        target, list(dataset.data["index"]), retry_failed
    )
    judged_by = (
        source["status"].get("datasets", {}).get(dataset_name, {}).get("judge_model")
    )
    is_same_judge = judge_model is not None and judged_by == judge_model
    if (
        reuse_aux == "all"
        and context["prediction_complete"]
        and prediction is not None
        and is_same_judge
    ):
        unfinished = {
            name for name in names if name.startswith(f"{model_name}_{dataset_name}_")
        }
        for path in fetch_aux_files(prediction):
            if os.path.basename(path) not in {
                os.path.basename(prediction),
                *unfinished,
            }:
                shutil.copy2(path, os.path.join(folder, os.path.basename(path)))
    return context
