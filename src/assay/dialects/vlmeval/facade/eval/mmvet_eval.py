"""`vlmeval.eval.mmvet_eval`: the judge's grade of each answer, means by capability and by combination."""

import os

from ..chat_api import OpenAIWrapper
from ..dataset.utils.mmvet import MMVet_acc, MMVet_auxeval, build_mmvet_gpt4_prompt
from ..smp.file import dump, load
from ..utils.mp_util import track_progress_rich

STANDS_IN = True
__all__ = ["MMVet_acc", "MMVet_auxeval", "MMVet_eval", "build_mmvet_gpt4_prompt"]

VERSIONS = {
    "gpt-4-turbo": "gpt-4-1106-preview",
    "gpt-4-0613": "gpt-4-0613",
    "chatgpt-1106": "gpt-3.5-turbo-1106",
    "chatgpt-0613": "gpt-3.5-turbo-0613",
}


def MMVet_eval(
    eval_file: str, model: str = "gpt-4-turbo", nproc: int = 4, verbose: bool = False
) -> None:
    """Writes the graded predictions and two tables of means beside them."""
    storage = eval_file.replace(".xlsx", f"_{model}.xlsx")
    if not os.path.exists(storage):
        data = load(eval_file)
        judge = OpenAIWrapper(VERSIONS[model], verbose=verbose, max_tokens=3)
        rows = [data.iloc[at] for at in range(len(data))]
        graded = track_progress_rich(
            MMVet_auxeval, [(judge, row) for row in rows], nproc=int(nproc)
        )
        by_index = dict(zip((row["index"] for row in rows), graded, strict=True))
        data["score"] = [by_index[index]["score"] for index in data["index"]]
        data["log"] = [by_index[index]["log"] for index in data["index"]]
        dump(data, storage)
    for table, suffix in zip(
        MMVet_acc(storage), ("_score.csv", "_score_fine.csv"), strict=True
    ):
        dump(table, storage.replace(".xlsx", suffix))
