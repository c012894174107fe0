"""Tables of scores in VLMEvalKit's formats: accuracy by split and category, MM-Vet by capability, yes-or-no ratings.

The ratings are MME's sums, HallusionBench's percentages and POPE's F1. The functions of `vlmeval.dataset.utils.yorn`
read yes or no from answers, by words or by a judge, and compute the rating of a file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from ...scorers.choice.yes_no import read_words
from ...summarizers.benchmark_tables import CAPABILITIES
from ..kits.smp.file import load
from ..shapes import Fields
from .rules import chosen_rules

if TYPE_CHECKING:
    from pandas import DataFrame

STANDS_IN = True
"""Marks this module as a fallback: VLMEvalKit's own file takes precedence if it exists."""

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
    """Return MME's sums over perception and reasoning, then the score of each category.

    A row has a category, the image, and whether the answer is correct. A category
    scores 100 acc + 100 acc+, where acc+ is the fraction of images with both questions
    correct. With `strict`, as in VLMEvalKit, all fourteen categories and both questions
    of each image are required.
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
    """Return the MME score of one category, 100 acc + 100 acc+. `images` has 1 or 0 for each question of an image."""
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


def hallusion_rating(frame: "DataFrame") -> "DataFrame":
    """Return HallusionBench's aAcc, fAcc and qAcc: overall, by category and by l2-category.

    They are the percentages of correct answers, of figures with all answers correct,
    and of questions that are correct for all figures. An index ends in set, figure and
    question: `…_0_3_1`.
    """
    import pandas

    rows = frame.assign(right=frame["score"].astype(bool))
    parts = rows["index"].astype(str).str.split("_")
    set_of_row = parts.str[3]
    if "l2-category" in frame:
        set_of_row = frame["l2-category"].astype(str) + "_" + set_of_row
    rows["figure"] = set_of_row + "_" + parts.str[4]
    rows["question"] = set_of_row + "_" + parts.str[5]
    table = [["Overall", *_shares(rows)]]
    for column in ("category", "l2-category"):
        if column in frame:
            for value in frame[column].unique():
                table.append([value, *_shares(rows[rows[column] == value])])
    return pandas.DataFrame(table, columns=["split", "aAcc", "fAcc", "qAcc"])


def _shares(rows: "DataFrame") -> list[float]:
    """Return three percentages: of correct rows, of figures and of questions for which all rows are correct."""
    return [
        _mean(rows["right"]),
        _mean(rows.groupby("figure")["right"].all()),
        _mean(rows.groupby("question")["right"].all()),
    ]


def yes_f1(rows: "DataFrame") -> tuple[float, float, float]:
    """Return the F1, precision and recall of the answer "yes"."""
    is_yes = rows["answer"] == "Yes"
    reads_yes = rows["extracted"] == "Yes"
    hits = int((is_yes & reads_yes).sum())
    if hits == 0:
        return 0.0, 0.0, 0.0
    precision = hits / int(reads_yes.sum())
    recall = hits / int(is_yes.sum())
    f1 = 2 * (precision * recall) / (precision + recall)
    return f1, precision, recall


def pope_rating(frame: "DataFrame") -> "DataFrame":
    """Return POPE's rating in percent, overall and by category: F1 of yes (as `Overall`), accuracy, precision, recall.

    A row may have several categories.
    """
    import pandas

    categories = frame["category"].str.split(",")
    rows = frame.assign(category=categories).explode("category")
    groups = [("Overall", rows)]
    for category in rows["category"].dropna().unique():
        groups.append((category, rows[rows["category"] == category]))
    table = []
    for name, group in groups:
        f1, precision, recall = yes_f1(group)
        accuracy = _mean(group["score"])
        table.append([name, f1 * 100, accuracy, precision * 100, recall * 100])
    return pandas.DataFrame(
        table, columns=["split", "Overall", "acc", "precision", "recall"]
    )


def vsr_rating(frame: "DataFrame") -> dict[str, float]:
    """Return VSR's rating: precision, recall and accuracy of yes in percent, and F1 between 0 and 1."""
    f1, precision, recall = yes_f1(frame)
    return {
        "precision": precision * 100,
        "recall": recall * 100,
        "acc": _mean(frame["score"]),
        "f1_score": f1,
    }


def amber_rating(frame: "DataFrame") -> dict[str, float]:
    """Return AMBER's rating: the accuracy for attributes, existence and relations, and their mean."""
    kinds = frame["category"].replace(AMBER_KINDS)
    scores = {
        kind: _mean(rows) for kind, rows in frame["score"].groupby(kinds, sort=False)
    }
    return {**scores, "Avg ACC": sum(scores.values()) / len(scores)}


def category_rating(frame: "DataFrame") -> dict[str, float]:
    """Return the accuracy in percent: overall, by category and by l2-category."""
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


def one_row(numbers: Fields) -> "DataFrame":
    """Return a data frame with one row, and a column for each named number."""
    import pandas

    return pandas.DataFrame({name: [value] for name, value in numbers.items()})


TRIES = 5
VERDICTS = {"yes": "Yes", "no": "No", None: "Unknown"}


def YOrN_Extraction(output: str) -> str:
    """Return `Yes` or `No` if exactly one of them is a word of the output, or else `Unknown`."""
    return VERDICTS[read_words(output)]


def YOrN_match_prompt(line: Fields) -> str:
    """Return the prompt, in assay's wording, that asks a judge whether an answer means yes or no."""
    return (
        "Somebody answered a yes-or-no question in free words. Does the answer mean yes or no? Reply with one word: "
        f"Yes, No, or Unknown.\n\nQuestion: {line['question']}?\nAnswer: {line['prediction']}\nVerdict: "
    )


def YOrN_auxeval(model: Any, line: Fields) -> str:
    """Return `Yes` or `No` as a judge reads it from an answer, in up to five attempts, or else `Unknown`."""
    prompt = YOrN_match_prompt(line)
    for attempt in range(TRIES):
        verdict = YOrN_Extraction(model.generate(prompt, temperature=0.5 * attempt))
        if verdict != "Unknown":
            return verdict
    return "Unknown"


def MME_rating(data_file: str) -> "DataFrame":
    """Return MME's rating of a file in one row: the sums over perception and reasoning, and the score of each category.

    A score is 100 acc + 100 acc+.
    """
    data = load(data_file)
    rows = zip(data["category"], data["image_path"], data["score"], strict=True)
    return one_row(mme_rating(rows, strict=chosen_rules().requires_all_of_mme))


def _of_file(rate: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Convert a function that rates a data frame to one that rates a file, and returns a data frame."""

    @wraps(rate)
    def rating(data_file: str) -> "DataFrame":
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


ABBREVIATIONS = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}
OVERALL = "Overall"


def accuracy_table(frame: "DataFrame", *, documented: bool) -> "DataFrame":
    """Return a table of accuracy: `split`, `Overall`, then a column for each l2-category and each category.

    `hit` in `frame` is 1 for a correct row. If there are splits, the documented revision has the rows
    `full`, `dev` and `test`, and the newest has one row for each split. Without splits,
    the only row is `dev` in the documented revision and `none` in the newest.
    """
    import pandas

    parts: list[tuple[Any, Any]]
    if "split" not in frame:
        parts = [("dev" if documented else "none", None)]
    elif documented:
        parts = [("full", None), ("dev", "dev"), ("test", "test")]
    else:
        parts = [(split, split) for split in sorted(set(frame["split"]), key=str)]
    columns: dict[str, list[Any]] = {
        "split": [name for name, _ in parts],
        OVERALL: _means(frame, parts),
    }
    for column in ("l2-category", "category"):
        if column in frame:
            for value in sorted(
                {cell for cell in frame[column] if cell == cell}, key=str
            ):
                columns[ABBREVIATIONS.get(value, value)] = _means(
                    frame[frame[column] == value], parts
                )
    return pandas.DataFrame(columns)


def _means(
    frame: "DataFrame",
    parts: Sequence[tuple[Any, Any]],
) -> list[float]:
    return [
        float(
            (frame if split is None else frame[frame["split"] == split])["hit"].mean()
        )
        for _, split in parts
    ]


def prefetch_table(rows: Sequence[tuple[Any, Any, Any]]) -> "DataFrame":
    """Count the answers in which the rules find a letter, and the correct ones, by category.

    Each entry of `rows` has the category, the letter found, and the correct letter.
    """
    import pandas

    matches = [
        (category, bool(read), read == answer) for category, read, answer in rows
    ]
    table = pandas.DataFrame(matches, columns=["Category", "match", "right"])
    table["hit"] = table["match"] & table["right"]
    groups = [(OVERALL, table), *table.groupby("Category", sort=False)]
    cells = []
    for name, group in groups:
        total, match, hit = (
            len(group),
            int(group["match"].sum()),
            int(group["hit"].sum()),
        )
        if match:
            share = hit / match * 100
        else:
            share = 0
        cells.append([name, total, match, hit, match / total * 100, share])
    return pandas.DataFrame(
        cells, columns=["Category", "tot", "match", "hit", "match_rate", "acc"]
    )


def capability_tables(
    graded: Sequence[tuple[str, Any]],
    *,
    counts_twice: bool = False,
) -> tuple[Any, Any]:
    """Return MM-Vet's mean grades in percent: by capability, by combination (`ocr_math`), and overall.

    `graded` has the capabilities and the grade of each answer. A capability without
    items is left out, where VLMEvalKit would divide by zero. An item with a single
    capability counts once in each table. VLMEvalKit counts it twice, because it keeps
    one count for a capability and a combination of the same name. `counts_twice` does
    the same.
    """
    of_capabilities: dict[str, list[float]] = {name: [] for name in CAPABILITIES}
    if counts_twice:
        of_combinations = of_capabilities
    else:
        of_combinations = {}
    everything: list[float] = []
    combinations: dict[str, list[float]] = {}
    for category, grade in graded:
        combination = category.replace(",", "_")
        everything.append(float(grade))
        for name in CAPABILITIES:
            if name in category:
                of_capabilities[name].append(float(grade))
        combinations[combination] = of_combinations.setdefault(combination, [])
        combinations[combination].append(float(grade))
    by_capability = {name: of_capabilities[name] for name in CAPABILITIES}
    return (
        _mean_table({**by_capability, OVERALL: everything}),
        _mean_table({**combinations, OVERALL: everything}),
    )


def _mean_table(groups: Mapping[str, Sequence[float]]) -> "DataFrame":
    import pandas

    cells = [
        [name, len(values), sum(values) / len(values) * 100]
        for name, values in groups.items()
        if values
    ]
    return pandas.DataFrame(cells, columns=["Category", "tot", "acc"])
