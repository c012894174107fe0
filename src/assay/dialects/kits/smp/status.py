"""`status.json` of a run's folder, as VLMEvalKit's own driver keeps it: where each dataset stands, and its numbers."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from .files import NumpyEncoder
from .reuse import (
    INFER_FAIL_MSG,
    RUN_STATUS_NAME,
    find_prediction_files,
    prediction_table,
)

__all__ = [
    "collect_run_benchmark_report",
    "flatten_summary_metrics",
    "is_number",
    "load_run_status",
    "to_number",
    "upsert_dataset_status",
    "upsert_run_status",
]

ORDER = {"pending": 0, "infer": 1, "eval": 2, "done": 3}
_KEPT = "keep what is there"


def load_run_status(run_dir: str | Path) -> dict[str, Any]:
    """What the file says; empty without one, or if it is damaged."""
    try:
        data = json.loads((Path(run_dir) / RUN_STATUS_NAME).read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def upsert_run_status(run_dir: str | Path, **fields: Any) -> dict[str, Any]:
    """Sets fields of the run as a whole."""
    status = _opened(run_dir, fields.get("model_name"))
    status.update({key: value for key, value in fields.items() if key != "datasets"})
    return _written(run_dir, status)


def upsert_dataset_status(
    run_dir: str | Path,
    model_name: str,
    dataset_name: str,
    status: str | None = None,
    metrics_source: Any = _KEPT,
    dataset_obj: Any = None,
    **fields: Any,
) -> dict[str, Any]:
    """Sets what is known of one dataset; a status never goes back, and numbers end an earlier failure."""
    if status is not None and status not in ORDER:
        raise ValueError(
            f"unknown status {status!r}: expected one of {', '.join(ORDER)}"
        )
    whole = _opened(run_dir, model_name)
    entry: dict[str, Any] = whole["datasets"].setdefault(dataset_name, {})
    if status is not None and ORDER[status] < ORDER.get(entry.get("status", ""), -1):
        return whole
    changed: dict[str, Any] = {
        **fields,
        **({"status": status} if status is not None else {}),
    }
    if fields.get("prediction_file"):
        path = Path(fields["prediction_file"])
        inside = path.is_absolute() and path.is_relative_to(run_dir)
        changed["prediction_file"] = str(path.relative_to(run_dir) if inside else path)
    if not (isinstance(metrics_source, str) and metrics_source == _KEPT):
        numbers = flatten_summary_metrics(metrics_source)
        primary = list(_primary(dataset_obj, numbers))
        changed |= {
            "metrics": numbers,
            "primary_metric": primary[0] if len(primary) == 1 else primary or None,
        }
        if metrics_source is not None:
            changed = {"skip_reason": None, "error_message": None, **changed}
    for key, value in changed.items():
        if value is None or value == {}:
            entry.pop(key, None)
        else:
            entry[key] = value
    entry["updated_at"] = _now()
    return _written(run_dir, whole)


def flatten_summary_metrics(metrics_source: Any) -> dict[str, Any]:
    """What `evaluate` returned as numbers under names joined by `|`."""
    found: dict[str, Any] = {}
    if metrics_source is not None:
        _flatten(metrics_source, "", found)
    return found


def _flatten(value: Any, prefix: str, found: dict[str, Any]) -> None:
    if hasattr(value, "columns") and hasattr(value, "iterrows"):
        _flatten_table(value, prefix, found)
    elif isinstance(value, dict):
        for key, inner in value.items():
            _flatten(inner, _joined(prefix, str(key).strip() or "value"), found)
    elif isinstance(value, (list, tuple)):
        is_one_number = len(value) == 1 and _number(value[0]) is not None
        for place, inner in enumerate(value):
            _flatten(
                inner, prefix if is_one_number else _joined(prefix, str(place)), found
            )
    elif (number := _number(value)) is not None:
        key = prefix or "value"
        found[f"{key}#dup" if key in found else key] = number


def _flatten_table(table: Any, prefix: str, found: dict[str, Any]) -> None:
    """The numbers of each row under its texts, as `split=dev|Overall`."""
    import pandas

    numeric = [
        name
        for name in table.columns
        if pandas.to_numeric(table[name], errors="coerce").notna().any()
    ]
    for label, row in table.iterrows():
        texts = [
            name
            for name in table.columns
            if name not in numeric and row[name] == row[name]
        ]
        cells = [
            (str(name).strip() or "value", str(row[name]).strip()) for name in texts
        ]
        words = "|".join(f"{name}={text}" for name, text in cells if text)
        for name in numeric:
            if (number := _number(row[name])) is not None:
                key = _joined(_joined(prefix, words), str(name).strip() or "value")
                found[f"{key}#{label}" if key in found else key] = number


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}|{name}" if prefix and name else prefix or name


def is_number(value: Any) -> bool:
    """Whether a value is a number, or a text that is one."""
    return _number(value) is not None


def to_number(value: Any) -> Any:
    """The number of a value; what is none comes back as it is."""
    number = _number(value)
    return value if number is None else number


def _number(value: Any) -> int | float | None:
    """A number, or a text that is one; neither a truth value nor NaN."""
    plain = (
        value.item()
        if hasattr(value, "item") and getattr(value, "size", 1) == 1
        else value
    )
    if isinstance(plain, str):
        try:
            plain = int(plain) if plain.isdigit() else float(plain)
        except ValueError:
            return None
    is_number = isinstance(plain, (int, float)) and not isinstance(plain, bool)
    return plain if is_number and plain == plain else None


def collect_run_benchmark_report(run_dir: str | Path) -> list[dict[str, Any]]:
    """One row for each dataset of a run: failed answers, failed judgements, the primary number."""
    whole = load_run_status(run_dir)
    model = whole.get("model_name") or Path(run_dir).parent.name
    rows = []
    for name, entry in sorted(whole.get("datasets", {}).items()):
        failed, total = _failures(run_dir, model, name, entry.get("prediction_file"))
        numbers = _primary(None, entry.get("metrics") or {})
        value = next(iter(numbers.values())) if len(numbers) == 1 else numbers or None
        rows.append(
            {
                "benchmark": name,
                "infer_failed": failed,
                "infer_total": total,
                "judge_failed": None,
                "judge_total": None,
                "primary_metric": entry.get("primary_metric"),
                "primary_metric_value": value,
                "skip_reason": entry.get("skip_reason"),
                "eval_error": entry.get("error_message"),
            }
        )
    return rows


def _failures(
    run_dir: str | Path, model: str, dataset: str, named: str | None
) -> tuple[int, int]:
    path = os.path.join(run_dir, named) if named else ""
    found = (
        [path]
        if named and os.path.exists(path)
        else find_prediction_files(str(run_dir), model, dataset)
    )
    frame = prediction_table(found[0]) if found else None
    if frame is None:
        return 0, 0
    return sum(INFER_FAIL_MSG in str(text) for text in frame["prediction"]), len(frame)


def _primary(dataset: Any, numbers: dict[str, Any]) -> dict[str, Any]:
    """The numbers a dataset's class calls primary; else the overall one, else the first."""
    report = getattr(dataset, "report_primary_metric", None)
    if callable(report):
        return dict(report(numbers))
    overall = {
        key: value
        for key, value in numbers.items()
        if key.split("|")[-1].lower() == "overall"
    }
    return dict(list((overall or numbers).items())[:1])


def _opened(run_dir: str | Path, model_name: str | None) -> dict[str, Any]:
    Path(run_dir).mkdir(parents=True, exist_ok=True)
    first = {
        "schema_version": "1.0",
        "eval_id": Path(run_dir).name,
        "created_at": _now(),
        "datasets": {},
    }
    named = {} if model_name is None else {"model_name": model_name}
    return {**first, **load_run_status(run_dir), **named}


def _written(run_dir: str | Path, status: dict[str, Any]) -> dict[str, Any]:
    status["updated_at"] = _now()
    part = Path(run_dir) / f"{RUN_STATUS_NAME}.new"
    part.write_text(
        json.dumps(status, indent=2, ensure_ascii=False, cls=NumpyEncoder), "utf-8"
    )
    os.replace(part, Path(run_dir) / RUN_STATUS_NAME)
    return status


def _now() -> str:
    return datetime.now().astimezone().isoformat()
