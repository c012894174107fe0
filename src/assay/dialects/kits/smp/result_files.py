"""Names of prediction and evaluation files, as VLMEvalKit's environment variables choose their formats."""

import os

from ....core import UsageError

__all__ = [
    "get_eval_file_format",
    "get_eval_file_path",
    "get_file_extension",
    "get_intermediate_file_path",
    "get_pred_file_format",
    "get_pred_file_path",
]

FORMATS = ("xlsx", "tsv", "json")
EVALUATION_FORMATS = ("csv", "json")
_PICKLED = ("_tmp", "_response", "_processed")
_PLAIN = ("_rating", "_config", "_meta")
_TABLES = ("_acc", "_fine", "_metrics")


def get_pred_file_format() -> str:
    """The suffix of prediction files: `$PRED_FORMAT`, by default xlsx."""
    return _chosen("PRED_FORMAT", FORMATS)


def get_eval_file_format() -> str:
    """The suffix of accuracy and score tables: `$EVAL_FORMAT`, by default csv."""
    return _chosen("EVAL_FORMAT", EVALUATION_FORMATS)


def _chosen(variable: str, formats: tuple[str, ...]) -> str:
    chosen = os.environ.get(variable, "").lower() or formats[0]
    if chosen not in formats:
        raise UsageError(
            f"{variable} is {chosen!r}", fix=f"one of {', '.join(formats)}"
        )
    return chosen


def get_pred_file_path(
    work_dir: str, model_name: str, dataset_name: str, use_env_format: bool = True
) -> str:
    """Where the predictions of a model on a dataset lie."""
    suffix = get_pred_file_format() if use_env_format else "xlsx"
    return os.path.join(work_dir, f"{model_name}_{dataset_name}.{suffix}")


def get_eval_file_path(
    eval_file: str, judge_model: str, use_env_format: bool = True
) -> str:
    """Where what a judge said of predictions lies, beside them."""
    return f"{_stem(eval_file)}_{judge_model}.{get_eval_file_format() if use_env_format else 'xlsx'}"


def get_file_extension(file_path: str) -> str:
    """What stands after the last dot."""
    return file_path.split(".")[-1]


def get_intermediate_file_path(
    eval_file: str, suffix: str, target_format: str | None = None
) -> str:
    """A file beside the predictions: `x_acc.csv` of `x.xlsx` and `_acc`; without a format, the suffix decides."""
    if target_format is None:
        if suffix.endswith(_PICKLED):
            target_format = "pkl"
        elif suffix.endswith(_PLAIN):
            target_format = "json"
        else:
            target_format = (
                get_eval_file_format()
                if suffix.endswith(_TABLES)
                else get_pred_file_format()
            )
    return f"{_stem(eval_file)}{suffix}.{target_format}"


def _stem(path: str) -> str:
    return path.rpartition(".")[0] or path
