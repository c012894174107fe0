"""`vlmeval.dataset.utils.yorn`: yes or no read off answers, by words or by a judge, and the ratings made of it."""

from collections.abc import Mapping
from typing import Any

from ......scorers.choice.yes_no import read_words
from ....era import upstreams_rule
from ....ratings import (
    amber_rating,
    hallusion_rating,
    mme_rating,
    one_row,
    pope_rating,
    vsr_rating,
)
from ....ratings import (
    default_rating as overall_rating,
)
from ...smp.file import load

STANDS_IN = True
__all__ = ["AMBER_rating", "Hallusion_rating", "MME_rating", "POPE_rating", "VSR_rating", "YOrN_Extraction",
           "YOrN_auxeval", "YOrN_match_prompt", "default_rating"]  # fmt: skip

TRIES = 5


def YOrN_Extraction(output: str) -> str:
    """Yes or No if exactly one of the two is among the words."""
    return {"yes": "Yes", "no": "No"}.get(read_words(output) or "", "Unknown")


def YOrN_match_prompt(line: Mapping[str, Any]) -> str:
    """What the judge is asked, in our words."""
    return (
        "Somebody answered a yes-or-no question in free words. Does the answer mean yes or no? Reply with one word: "
        f"Yes, No, or Unknown.\n\nQuestion: {line['question']}?\nAnswer: {line['prediction']}\nVerdict: "
    )


def YOrN_auxeval(model: Any, line: Mapping[str, Any]) -> str:
    """What the judge makes of an answer, asked up to five times."""
    prompt = YOrN_match_prompt(line)
    for place in range(TRIES):
        said = YOrN_Extraction(model.generate(prompt, temperature=0.5 * place))
        if said != "Unknown":
            return said
    return "Unknown"


def MME_rating(data_file: str) -> Any:
    """Acc and acc+ of each category added up, and their sums over perception and reasoning."""
    data = load(data_file)
    rows = zip(data["category"], data["image_path"], data["score"], strict=True)
    return one_row(mme_rating(rows, strict=upstreams_rule()))


def Hallusion_rating(data_file: str) -> Any:
    """aAcc, fAcc and qAcc: overall, by category, by l2-category."""
    return hallusion_rating(load(data_file))


def POPE_rating(data_file: str) -> Any:
    """F1, acc, precision and recall: overall and by category."""
    return pope_rating(load(data_file))


def AMBER_rating(data_file: str) -> Any:
    """Acc of attributes, existence and relations, and their mean."""
    return one_row(amber_rating(load(data_file)))


def VSR_rating(data_file: str) -> Any:
    """Precision, recall, acc and F1."""
    return one_row(vsr_rating(load(data_file)))


def default_rating(data_file: str) -> Any:
    """Acc: overall, by category and by l2-category."""
    return one_row(overall_rating(load(data_file)))
