"""The evaluation that classes of multiple choice inherit: verdicts, accuracy, and the files beside the predictions."""

from typing import Any

from ....kits.smp.result_files import get_intermediate_file_path
from ...frames import with_lower_names
from ..smp.file import dump, load
from .utils.judge_util import build_judge
from .utils.multiple_choice import (
    mcq_circular_eval,
    mcq_vanilla_eval,
    report_acc,
    report_acc_MMSci,
    report_acc_MMT,
    report_acc_MMVP,
)

STANDS_IN = True
CIRCULAR = ("mmbench", "ccbench", "circular", "mmcr")
JUDGE_FILES = {"chatgpt-0125": "openai", "gpt-4-0125": "gpt4"}
NO_JUDGE = "exact_matching"


def evaluate_choice(
    dataset: Any, eval_file: str, judge_kwargs: dict[str, Any], *, rotates: bool = True
) -> Any:
    """Accuracy by split and category; `_<judge>_result` and `_acc.csv` are written beside the predictions."""
    name = dataset.dataset_name
    nproc = judge_kwargs.pop("nproc", 4)
    judge_name = judge_kwargs.get("model", NO_JUDGE)
    judge = None if judge_name == NO_JUDGE else build_judge(**judge_kwargs)
    label = JUDGE_FILES.get(judge_name, judge_name)
    data = load(eval_file)
    is_circular = rotates and any(part in name.lower() for part in CIRCULAR)
    if is_circular:
        data["index"] = [int(index) for index in data["index"]]
        dump(data, eval_file)
        data = load(eval_file)
    data = data.sort_values(by="index")
    data["prediction"] = [str(text) for text in data["prediction"]]
    data = with_lower_names(data)
    unknown = set(data["index"]) - set(dataset.data["index"])
    if unknown:
        raise AssertionError(
            f"the prediction file has rows that {name} has not: {sorted(map(str, unknown))[:3]}"
        )
    result_file = get_intermediate_file_path(eval_file, f"_{label}_result", "pkl")
    verdicts = (mcq_circular_eval if is_circular else mcq_vanilla_eval)(
        judge, data, dataset.data, nproc, result_file, name
    )
    record = get_intermediate_file_path(eval_file, f"_{label}_result")
    dump(verdicts, record)
    accuracy = _report(name)(load(record))
    dump(accuracy, get_intermediate_file_path(eval_file, "_acc", "csv"))
    return accuracy


def _report(name: str) -> Any:
    if "MMT" in name:
        return report_acc_MMT
    if "MMSci" in name:
        return report_acc_MMSci
    return report_acc_MMVP if name == "MMVP" else report_acc
