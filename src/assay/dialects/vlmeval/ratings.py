"""Ratings of yes-or-no benchmarks in VLMEvalKit's formats: MME's sums, HallusionBench's shares, POPE's F1."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
    rows: Iterable[tuple[str, str, Any]], *, strict: bool = False
) -> dict[str, float]:
    """MME's sums and its categories in the order they appear; rows are category, image and whether it is right.

    A category scores 100 acc + 100 acc+, where acc+ is the share of images with both questions right. Upstream cannot
    do without any of the fourteen categories, nor with an image that has a single question: `strict` neither.
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


def _mme_score(images: Iterable[Sequence[float]], strict: bool) -> float:
    questions = list(images)
    values = [value for pair in questions for value in pair]
    pairs = questions if strict else [pair for pair in questions if len(pair) > 1]
    both = [pair[0] * pair[1] for pair in pairs]
    return sum(values) / len(values) * 100 + (
        sum(both) / len(both) * 100 if both else 0.0
    )


def hallusion_rating(frame: Any) -> Any:
    """aAcc of questions, fAcc of figures, qAcc of questions over figures: overall, by category, by l2-category."""
    import pandas

    places = [str(index).split("_")[3:6] for index in frame["index"]]
    above = frame["l2-category"] if "l2-category" in frame else [""] * len(frame)
    rows = [
        (bool(score), f"{group}_{cell[0]}_{cell[1]}", f"{group}_{cell[0]}_{cell[2]}")
        for score, group, cell in zip(frame["score"], above, places, strict=True)
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
    shares = [sum(right for right, _, _ in rows) / len(rows) * 100]
    for place in (1, 2):
        groups: dict[Any, list[bool]] = {}
        for row in rows:
            groups.setdefault(row[place], []).append(row[0])
        shares.append(
            sum(all(verdicts) for verdicts in groups.values()) / len(groups) * 100
        )
    return shares


def yes_f1(answers: Iterable[Any], read: Iterable[Any]) -> tuple[float, float, float]:
    """F1, precision and recall of yes."""
    pairs = [
        (answer == "Yes", verdict == "Yes")
        for answer, verdict in zip(answers, read, strict=True)
    ]
    hit = sum(answer and verdict for answer, verdict in pairs)
    verdict = sum(verdict for _, verdict in pairs)
    true = sum(answer for answer, _ in pairs)
    precision, recall = hit / verdict if verdict else 0.0, hit / true if true else 0.0
    return (
        2 * (precision * recall) / (precision + recall) if precision + recall else 0.0,
        precision,
        recall,
    )


def pope_rating(frame: Any) -> Any:
    """F1 of yes (as `Overall`), acc, precision and recall of 100: overall and by category; a row may be of several."""
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
    """Precision, recall and acc of 100, and F1 of 1."""
    f1, precision, recall = yes_f1(frame["answer"], frame["extracted"])
    return {
        "precision": precision * 100,
        "recall": recall * 100,
        "acc": _mean(frame["score"]),
        "f1_score": f1,
    }


def amber_rating(frame: Any) -> dict[str, float]:
    """Acc of attributes, existence and relations, and the mean of these."""
    groups: dict[str, list[Any]] = {}
    for category, score in zip(frame["category"], frame["score"], strict=True):
        groups.setdefault(AMBER_KINDS.get(category, category), []).append(score)
    scores = {name: _mean(values) for name, values in groups.items()}
    return {**scores, "Avg ACC": sum(scores.values()) / len(scores)}


def default_rating(frame: Any) -> dict[str, float]:
    """Acc of 100: overall, by category and by l2-category."""
    rates = {"Overall": _mean(frame["score"])}
    for column in ("category", "l2-category"):
        if column in frame:
            for value in sorted({cell for cell in frame[column] if cell == cell}):
                rates[value] = _mean(frame[frame[column] == value]["score"])
    return rates


def _mean(scores: Iterable[Any]) -> float:
    values = [float(score) for score in scores]
    return sum(values) / len(values) * 100


def one_row(numbers: Mapping[str, Any]) -> Any:
    """Numbers by name as a data frame of one row."""
    import pandas

    return pandas.DataFrame({name: [value] for name, value in numbers.items()})
