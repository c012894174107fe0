"""What a dataset class reports of a finished evaluation: failed answers, failed judgements, its primary number."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ....kits.smp.reuse import (
    INFER_FAIL_MSG,
    RUN_STATUS_NAME,
    fetch_aux_files,
    prediction_table,
)
from ....kits.smp.status import is_number, to_number
from ....kits.table_rows import TableRows
from ..smp.file import load

_SCORES = (("overall", 100, 95, 90), ("acc", 80, 80, 70), ("score", 60, 60, 50))
"""A word, and what a name is worth that is the word, ends in `|` and it, or has it somewhere."""
_SPLITS = (
    ("split=test", 4),
    ("split=validation", 3),
    ("split=val", 2),
    ("split=dev", 1),
)
_JUDGED = ("judge", "log", "res", "rating", "comment", "response")
_UNFINISHED = ("_checkpoint.pkl", "_PREV.pkl", "_structs.pkl")


CLASSES: list[Any] = []
"""Dataset classes of user files, in the order they were defined: the newest that knows a name is the one meant."""


class Reporting(TableRows):
    """The class methods by which VLMEvalKit's driver and its scripts ask a dataset class for these."""

    DEFAULT_JUDGE: ClassVar[str | list[str]] = "gpt-4o-mini"
    INFER_FAIL_MARKERS: ClassVar[tuple[str, ...]] = (INFER_FAIL_MSG,)
    JUDGE_FAIL_MARKERS: ClassVar[tuple[str, ...]] = (INFER_FAIL_MSG,)

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if not cls.__module__.startswith("assay."):
            CLASSES.append(cls)

    @classmethod
    def get_judge_file(
        cls, eval_file: str | Path, judge_model: str | None = None
    ) -> Path | None:
        """The file beside the predictions that most likely holds what a judge said; `None` without any."""
        predictions = Path(eval_file).resolve()
        found = [Path(file) for file in fetch_aux_files(str(eval_file))]
        candidates = [
            path
            for path in found
            if path.exists()
            and path.resolve() != predictions
            and path.name != RUN_STATUS_NAME
            and path.suffix != ".lock"
            and not path.name.endswith(_UNFINISHED)
        ]
        return max(
            candidates,
            key=lambda path: judge_file_score(path, judge_model),
            default=None,
        )

    @classmethod
    def report_infer_err(cls, prediction_file: str | Path | None) -> dict[str, int]:
        """How many predictions failed, of how many."""
        is_there = prediction_file is not None and Path(prediction_file).exists()
        frame = prediction_table(str(prediction_file)) if is_there else None
        if frame is None:
            return {"failed": 0, "total": 0}
        texts = [str(text) for text in frame["prediction"]]
        return {
            "failed": sum(
                any(m in text for m in cls.INFER_FAIL_MARKERS) for text in texts
            ),
            "total": len(texts),
        }

    @classmethod
    def report_judge_err(
        cls,
        prediction_file: str | Path | None,
        *,
        total_samples: int | None,
        judge_model: str | None = None,
        error_message: str | None = None,
    ) -> dict[str, int | None]:
        """How many judgements failed, of how many; all of them where the evaluation ended with an error."""
        if total_samples is None or total_samples <= 0:
            return {"failed": 0, "total": total_samples}
        is_there = prediction_file is not None and Path(prediction_file).exists()
        judged = (
            cls.get_judge_file(str(prediction_file), judge_model) if is_there else None
        )
        failed = 0
        if judged is not None:
            try:
                failed = min(
                    failures_in(load(str(judged)), cls.JUDGE_FAIL_MARKERS),
                    total_samples,
                )
            except Exception:  # noqa: BLE001 - a file of the user's that cannot be read holds no failures
                failed = 0
        return {
            "failed": total_samples if error_message and not failed else failed,
            "total": total_samples,
        }

    @classmethod
    def report_primary_metric(
        cls, metrics: Mapping[str, Any] | None
    ) -> dict[str, float | int]:
        """The one number that stands for the evaluation, under its name."""
        key = primary_key(metrics) if isinstance(metrics, Mapping) and metrics else None
        value = metrics.get(key) if metrics and key is not None else None
        return {str(key): to_number(value)} if is_number(value) else {}


def primary_key(metrics: Mapping[str, Any]) -> str | None:
    """The name that sounds most like the overall number; of equals the first in order of the alphabet."""
    return min(
        metrics, key=lambda key: (-_worth(str(key).lower()), str(key)), default=None
    )


def _worth(name: str) -> int:
    worth = 0
    for word, exact, last, anywhere in _SCORES:
        if name == word or name.endswith(f"|{word}") or word in name:
            worth = (
                exact
                if name == word
                else last
                if name.endswith(f"|{word}")
                else anywhere
            )
            break
    return worth + next((more for split, more in _SPLITS if split in name), 0)


def failures_in(value: Any, markers: tuple[str, ...]) -> int:
    """How often a marker of failure occurs in what was read of a file."""
    if value is None:
        return 0
    if hasattr(value, "columns") and hasattr(value, "iterrows"):
        names = [
            name
            for name in value.columns
            if any(tag in str(name).lower() for tag in _JUDGED)
        ]
        chosen = names or [
            name for name in value.columns if value[name].dtype == object
        ]
        return sum(
            any(m in str(cell) for m in markers)
            for name in chosen
            for cell in value[name]
        )
    if isinstance(value, dict):
        return sum(failures_in(inner, markers) for inner in value.values())
    if isinstance(value, (list, tuple, set)):
        return sum(failures_in(inner, markers) for inner in value)
    return int(any(marker in str(value) for marker in markers))


def judge_file_score(path: Path, judge_model: str | None = None) -> tuple[int, str]:
    """How much a file's name sounds like a judge's words, and the name."""
    name, stem, suffix = path.name.lower(), path.stem.lower(), path.suffix.lower()
    score = 100 if judge_model and judge_model.lower() in name else 0
    score += 40 * ("judge" in stem) + 30 * ("result" in stem)
    score += 20 * any(tag in stem for tag in ("response", "rating", "review"))
    score += {".pkl": 12, ".csv": 2}.get(
        suffix, 8 if suffix in (".xlsx", ".xls", ".json", ".jsonl", ".tsv") else 0
    )
    return score - 100 * any(
        tag in stem for tag in ("_score", "_acc", "metrics")
    ), path.name
