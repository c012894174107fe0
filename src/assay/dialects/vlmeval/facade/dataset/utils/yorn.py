"""`vlmeval.dataset.utils.yorn`: yes or no read off answers, by words or by a judge, and the ratings made of it."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from ......scorers.choice.yes_no import read_words
from .... import ratings
from ....era import upstreams_rule
from ....ratings import mme_rating, one_row
from ...smp.file import load

STANDS_IN = True
__all__ = [
    "AMBER_rating",
    "Hallusion_rating",
    "MME_rating",
    "POPE_rating",
    "VSR_rating",
    "YOrN_Extraction",
    "YOrN_auxeval",
    "YOrN_match_prompt",
    "default_rating",
]

TRIES = 5
VERDICTS = {"yes": "Yes", "no": "No", None: "Unknown"}


def YOrN_Extraction(output: str) -> str:
    """Yes or No if exactly one of the two is among the words."""
    return VERDICTS[read_words(output)]


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
        verdict = YOrN_Extraction(model.generate(prompt, temperature=0.5 * place))
        if verdict != "Unknown":
            return verdict
    return "Unknown"


def MME_rating(data_file: str) -> Any:
    """Acc and acc+ of each category added up, and their sums over perception and reasoning."""
    data = load(data_file)
    rows = zip(data["category"], data["image_path"], data["score"], strict=True)
    return one_row(mme_rating(rows, strict=upstreams_rule()))


def _of_file(rate: Callable[[Any], Any]) -> Callable[[str], Any]:
    """A rating of a data frame as upstream has it: of the file that holds the frame, as another frame."""

    @wraps(rate)
    def rating(data_file: str) -> Any:
        numbers = rate(load(data_file))
        return one_row(numbers) if isinstance(numbers, dict) else numbers

    return rating


Hallusion_rating, POPE_rating = (
    _of_file(ratings.hallusion_rating),
    _of_file(ratings.pope_rating),
)
AMBER_rating, VSR_rating = _of_file(ratings.amber_rating), _of_file(ratings.vsr_rating)
default_rating = _of_file(ratings.default_rating)
