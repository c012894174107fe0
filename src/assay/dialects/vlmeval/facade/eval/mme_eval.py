"""`vlmeval.eval.mme_eval`: yes and no by the letters of an answer, the judge for the rest, MME's sums."""

import os
from typing import Any

from .....scorers.choice.yes_no import read_substring
from ..chat_api import OpenAIWrapper
from ..dataset.utils.yorn import VERDICTS, MME_rating, YOrN_match_prompt
from ..smp.file import dump, load
from ..utils.mp_util import track_progress_rich

STANDS_IN = True
__all__ = [
    "MME_answer_extraction",
    "MME_auxeval",
    "MME_build_matching_prompt",
    "MME_eval",
    "MME_postproc",
    "MME_rating",
]


def MME_postproc(data: Any) -> Any:
    """`prediction` as Yes, No or Unknown, what the model wrote as `raw_prediction`, and `score`."""
    data["raw_prediction"] = data["prediction"]
    data["prediction"] = [
        MME_answer_extraction(str(text)) for text in data["raw_prediction"]
    ]
    data["score"] = data["answer"] == data["prediction"]
    return data


def MME_answer_extraction(output: str) -> str:
    """Yes or No if only one of them occurs, in words or within them."""
    return VERDICTS[read_substring(output)]


def MME_build_matching_prompt(line: Any) -> str:
    """What the judge is asked."""
    return YOrN_match_prompt(
        {"question": line["question"], "prediction": line["raw_prediction"]}
    )


def MME_auxeval(model: Any, line: Any) -> str:
    """What the judge makes of an answer."""
    return MME_answer_extraction(model.generate(MME_build_matching_prompt(line)))


def MME_eval(
    eval_file: str, model: str = "chatgpt-0613", nproc: int = 4, verbose: bool = False
) -> Any:
    """The sums of MME, with `_auxmatch.xlsx` and `_score.csv` beside the predictions."""
    data = load(eval_file)
    if "raw_prediction" not in data:
        data = MME_postproc(data)
    storage = eval_file.replace(".xlsx", "_auxmatch.xlsx")
    if not os.path.exists(storage):
        verdicts = dict(zip(data["index"], data["prediction"], strict=True))
        open_rows = [
            data.iloc[at]
            for at, replies in enumerate(data["prediction"])
            if replies == "Unknown"
        ]
        if open_rows:
            judge = OpenAIWrapper("gpt-3.5-turbo-0613", verbose=verbose)
            replies = track_progress_rich(
                MME_auxeval, [(judge, row) for row in open_rows], nproc=int(nproc)
            )
            verdicts.update(
                zip((row["index"] for row in open_rows), replies, strict=True)
            )
        data["prediction"] = [verdicts[index] for index in data["index"]]
        dump(data, storage)
    data = load(storage)
    data["score"] = data["answer"] == data["prediction"]
    dump(data, storage)
    score = MME_rating(storage)
    dump(score, storage.replace("auxmatch.xlsx", "score.csv"))
    return score
