"""Ratings of yes-or-no benchmarks in VLMEvalKit's formats: MME's sums, HallusionBench's shares, POPE's F1.

The functions of `vlmeval.dataset.utils.yorn` read answers, by words or by a judge, and rate a file.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from ...scorers.choice.yes_no import read_words
from ..kits.smp.file import load
from ..shapes import Fields
from .rules import chosen_rules

STANDS_IN = True
"""Upstream's own file is used instead of this module if it exists."""

PERCEPTION = (
    "OCR",
    "artwork",
    "celebrity",
    "color",
    "count",
    "existence",
    "landmark",
    "position",
    "posters",
    "scene",
)
REASONING = (
    "code_reasoning",
    "commonsense_reasoning",
    "numerical_calculation",
    "text_translation",
)
AMBER_KINDS = {
    "discriminative-attribute-state": "Attribute",
    "discriminative-attribute-number": "Attribute",
    "discriminative-attribute-action": "Attribute",
    "discriminative-hallucination": "Existence",
    "discriminative-relation": "Relation",
    "relation": "Relation",
}


def mme_rating(
    rows: Iterable[tuple[str, str, Any]],
    *,
    strict: bool = False,
) -> dict[str, float]:
    """Return MME's sums and its categories in order of appearance; rows are category, image and whether it is right.

    A category scores 100 acc + 100 acc+, where acc+ is the share of images with both questions right. With
    `strict`, as in upstream, all fourteen categories and both questions of each image are required.
    """
    images: dict[str, dict[str, list[float]]] = {}
    for category, image, right in rows:
        images.setdefault(category, {}).setdefault(image, []).append(float(right))
    scores = {
        category: _mme_score(pairs.values(), strict)
        for category, pairs in images.items()
    }
    sums = {
        name: sum(
            scores[category] for category in categories if strict or category in scores
        )
        for name, categories in (("perception", PERCEPTION), ("reasoning", REASONING))
        if strict or any(category in scores for category in categories)
    }
    return {**sums, **scores}


def _mme_score(
    images: Iterable[Sequence[float]],
    strict: bool,
) -> float:
    """Return 100 acc + 100 acc+ of one category, given the verdicts of each image."""
    verdicts: list[float] = []
    both_right: list[float] = []
    for pair in images:
        verdicts.extend(pair)
        if strict or len(pair) > 1:
            both_right.append(pair[0] * pair[1])
    accuracy = sum(verdicts) / len(verdicts) * 100
    if not both_right:
        return accuracy
    return accuracy + sum(both_right) / len(both_right) * 100


def hallusion_rating(frame: Any) -> Any:
    """Return aAcc of questions, fAcc of figures and qAcc over figures: overall, by category and by l2-category."""
    import pandas

    index_parts = [str(index).split("_")[3:6] for index in frame["index"]]
    if "l2-category" in frame:
        above = frame["l2-category"]
    else:
        above = [""] * len(frame)
    rows = [
        (bool(score), f"{group}_{cell[0]}_{cell[1]}", f"{group}_{cell[0]}_{cell[2]}")
        for score, group, cell in zip(frame["score"], above, index_parts, strict=True)
    ]
    table = [["Overall", *_shares(rows)]]
    for column in ("category", "l2-category"):
        if column in frame:
            for value in dict.fromkeys(frame[column]):
                chosen = [
                    row
                    for row, cell in zip(rows, frame[column], strict=True)
                    if cell == value
                ]
                table.append([value, *_shares(chosen)])
    return pandas.DataFrame(table, columns=["split", "aAcc", "fAcc", "qAcc"])


def _shares(rows: Sequence[tuple[bool, str, str]]) -> list[float]:
    """Return the percentages of right rows, and of figures and questions whose rows are all right."""
    figures: dict[str, bool] = {}
    questions: dict[str, bool] = {}
    for is_right, figure, question in rows:
        figures[figure] = figures.get(figure, True) and is_right
        questions[question] = questions.get(question, True) and is_right
    return [
        _mean(is_right for is_right, _, _ in rows),
        _mean(figures.values()),
        _mean(questions.values()),
    ]


def yes_f1(
    answers: Iterable[Any],
    read: Iterable[Any],
) -> tuple[float, float, float]:
    """Return F1, precision and recall of yes."""
    hits = predicted_count = actual_count = 0
    for answer, verdict in zip(answers, read, strict=True):
        is_yes = answer == "Yes"
        reads_yes = verdict == "Yes"
        actual_count += is_yes
        predicted_count += reads_yes
        hits += is_yes and reads_yes
    precision = hits / predicted_count if predicted_count else 0.0
    recall = hits / actual_count if actual_count else 0.0
    if hits == 0:
        return 0.0, precision, recall
    f1 = 2 * (precision * recall) / (precision + recall)
    return f1, precision, recall


def pope_rating(frame: Any) -> Any:
    """Return F1 of yes (as `Overall`), acc, precision and recall in percent, overall and by category.

    A row may have several categories.
    """
    import pandas

    every = [
        str(cell).split(",") if cell == cell else [None] for cell in frame["category"]
    ]
    columns = (frame["answer"], frame["extracted"], frame["score"])
    rows = [
        (category, answer, verdict, score)
        for categories, answer, verdict, score in zip(every, *columns, strict=True)
        for category in categories
    ]
    groups = [("Overall", rows)]
    for category in dict.fromkeys(row[0] for row in rows if row[0] is not None):
        groups.append((category, [row for row in rows if row[0] == category]))
    table = []
    for name, group in groups:
        f1, precision, recall = yes_f1(
            (row[1] for row in group), (row[2] for row in group)
        )
        accuracy = sum(bool(row[3]) for row in group) / len(group) * 100
        table.append([name, f1 * 100, accuracy, precision * 100, recall * 100])
    return pandas.DataFrame(
        table, columns=["split", "Overall", "acc", "precision", "recall"]
    )


def vsr_rating(frame: Any) -> dict[str, float]:
    """Return precision, recall and acc in percent, and F1 between 0 and 1."""
    f1, precision, recall = yes_f1(frame["answer"], frame["extracted"])
    return {
        "precision": precision * 100,
        "recall": recall * 100,
        "acc": _mean(frame["score"]),
        "f1_score": f1,
    }


def amber_rating(frame: Any) -> dict[str, float]:
    """Return the accuracy of attributes, existence and relations, and their mean."""
    groups: dict[str, list[Any]] = {}
    for category, score in zip(frame["category"], frame["score"], strict=True):
        groups.setdefault(AMBER_KINDS.get(category, category), []).append(score)
    scores = {name: _mean(values) for name, values in groups.items()}
    return {**scores, "Avg ACC": sum(scores.values()) / len(scores)}


def category_rating(frame: Any) -> dict[str, float]:
    """Return accuracy in percent: overall, by category and by l2-category."""
    rates = {"Overall": _mean(frame["score"])}
    for column in ("category", "l2-category"):
        if column not in frame:
            continue
        # NaN is the only value that differs from itself.
        values = {cell for cell in frame[column] if cell == cell}
        for value in sorted(values):
            has_value = frame[column] == value
            rates[value] = _mean(frame[has_value]["score"])
    return rates


def _mean(scores: Iterable[Any]) -> float:
    values = [float(score) for score in scores]
    return sum(values) / len(values) * 100


def one_row(numbers: Fields) -> Any:
    """Return named numbers as a data frame with one row."""
    import pandas

    return pandas.DataFrame({name: [value] for name, value in numbers.items()})


TRIES = 5
VERDICTS = {"yes": "Yes", "no": "No", None: "Unknown"}


def YOrN_Extraction(output: str) -> str:
    """Return Yes or No if exactly one of the two is among the words."""
    return VERDICTS[read_words(output)]


def YOrN_match_prompt(line: Fields) -> str:
    """Return the judge's prompt, in assay's wording."""
    return (
        "Somebody answered a yes-or-no question in free words. Does the answer mean yes or no? Reply with one word: "
        f"Yes, No, or Unknown.\n\nQuestion: {line['question']}?\nAnswer: {line['prediction']}\nVerdict: "
    )


def YOrN_auxeval(model: Any, line: Fields) -> str:
    """Return the judge's reading of an answer. The judge is asked up to five times."""
    prompt = YOrN_match_prompt(line)
    for attempt in range(TRIES):
        verdict = YOrN_Extraction(model.generate(prompt, temperature=0.5 * attempt))
        if verdict != "Unknown":
            return verdict
    return "Unknown"


def MME_rating(data_file: str) -> Any:
    """Return acc and acc+ of each category added up, and their sums over perception and reasoning."""
    data = load(data_file)
    rows = zip(data["category"], data["image_path"], data["score"], strict=True)
    return one_row(mme_rating(rows, strict=chosen_rules().requires_all_of_mme))


def _of_file(rate: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Turn a function that rates a data frame into one that rates a file and returns a frame, as in upstream."""

    @wraps(rate)
    def rating(data_file: str) -> Any:
        numbers = rate(load(data_file))
        if isinstance(numbers, dict):
            return one_row(numbers)
        return numbers

    return rating


Hallusion_rating, POPE_rating = (
    _of_file(hallusion_rating),
    _of_file(pope_rating),
)
AMBER_rating, VSR_rating = _of_file(amber_rating), _of_file(vsr_rating)
default_rating = _of_file(category_rating)
