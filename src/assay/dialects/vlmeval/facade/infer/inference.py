"""`vlmeval.infer.inference`: a model over a dataset, answers by index in a file; what the rules can read of them."""

import os
from typing import Any

from ...era import note_documented
from ...reports import prefetch_table
from ..config import supported_VLM
from ..eval.multiple_choice import build_choices, can_infer
from ..smp.file import dump, load
from ..utils.data_util import TSVDataset

STANDS_IN = True
__all__ = ["infer_data", "prefetch_acc"]

SEVERAL_IMAGES = ("CORE_MM",)
ROWS_BETWEEN_SAVES = 20

note_documented()


def infer_data(
    model_name: Any, dataset_name: str, out_file: str, verbose: bool = False
) -> Any:
    """Asks for what `out_file` does not hold yet; returns the model, `None` where nothing was left to ask."""
    answers: dict[Any, Any] = load(out_file) if os.path.exists(out_file) else {}
    dataset = TSVDataset(dataset_name)
    rows = [
        row
        for place in range(len(dataset))
        if (row := dataset.data.iloc[place])["index"] not in answers
    ]
    if not rows:
        return None
    model = supported_VLM[model_name]() if isinstance(model_name, str) else model_name
    for number, row in enumerate(rows, 1):
        has_prompt = hasattr(model, "build_prompt")
        prompt = (
            model.build_prompt(row, dataset=dataset_name)
            if has_prompt
            else dataset.build_prompt(row)
        )
        if dataset_name in SEVERAL_IMAGES:
            answer = model.multi_generate(
                prompt=prompt["text"], image_paths=prompt["image"], dataset=dataset_name
            )
        else:
            answer = model.generate(
                prompt=prompt["text"], image_path=prompt["image"], dataset=dataset_name
            )
        if verbose:
            print(answer, flush=True)
        answers[row["index"]] = answer
        if number % ROWS_BETWEEN_SAVES == 0:
            dump(answers, out_file)
    dump(answers, out_file)
    return model


def prefetch_acc(result_file: str) -> Any:
    """How many answers the rules can read, and how many of those are right, by category."""
    data = load(result_file)
    rows = [data.iloc[place] for place in range(len(data))]
    return prefetch_table(
        [
            (r["category"], can_infer(r["prediction"], build_choices(r)), r["answer"])
            for r in rows
        ]
    )
