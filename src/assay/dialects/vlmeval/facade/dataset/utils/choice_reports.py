"""Accuracy tables of single benchmarks: MMT-Bench, MMSci, MMVP, TopViewRS, MME-RealWorld."""

from collections.abc import Mapping
from typing import Any

from ....ratings import one_row
from ....reports import ABBREVIATIONS
from ...smp.file import load

__all__ = [
    "MMT_abbrs",
    "get_dimension_rating",
    "report_acc_MMSci",
    "report_acc_MMT",
    "report_acc_MMVP",
    "report_topviewrs_acc",
]

MMT_abbrs = {
    "visual_recognition": "VR",
    "localization": "Loc",
    "ocr": "OCR",
    "counting": "Count",
    "hallucination": "HLN",
    "image_retrieval": "IR",
    "threed": "3D",
    "visual_captioning": "VC",
    "visual_grounding": "VG",
    "doc_understanding": "DU",
    "action_recognition": "AR",
    "pixel_level_perception": "PLP",
    "image-to-image_translation": "I2IT",
    "relation_reasoning": "RR",
    "intelligence_quotient_test": "IQT",
    "emotion": "Emo",
    "visual_illusion": "VI",
    "meme_understanding": "MemU",
    "visual_prompt_understanding": "VPU",
    "anomaly_detection": "AND",
    "keypoint_detection": "KD",
    "visual_commonsense_reasoning": "VCR",
    "image_evaluation_judgement": "IEJ",
    "multiple_image_analysis": "MIA",
    "cross_image_matching": "CIM",
    "temporal_understanding": "TU",
    "visual_code": "VP",
    "medical_understanding": "MedU",
    "autonomous_driving": "AUD",
    "discipline_knowledge_reasoning": "DKR",
    "embodied_ai": "EA",
    "gui_navigation": "GN",
}
SETTINGS = ("Fig2Cap", "SubFig2Cap", "SubCap2Fig")
DIMENSIONS = ("Reasoning", "Perception")
SUBTASKS = (
    "Monitoring",
    "Autonomous_Driving",
    "OCR with Complex Context",
    "Diagram and Table",
    "Remote Sensing",
)


def report_acc_MMT(df: Any) -> Any:
    """Accuracy by split and of all: of subtasks, and of abilities as the mean over their subtasks."""
    import pandas

    if "split" not in df:
        df["split"] = ["none"] * len(df)
    splits = sorted(set(df["split"]), key=str)
    columns: dict[str, list[Any]] = {
        "split": [*splits, "ALL"],
        "Overall": _by_split(df, splits, "hit"),
    }
    columns.update({name: [] for name in MMT_abbrs.values()})
    subtasks: dict[Any, list[Any]] = {}
    if "category" in df:
        subtasks = {
            name: _by_split(df[df["category"] == name], splits, "hit")
            for name in sorted(set(df["category"]))
        }
        columns.update(subtasks)
    if "l2-category" in df:
        for ability in sorted(set(df["l2-category"])):
            rates = [
                subtasks[name]
                for name in df[df["l2-category"] == ability]["category"].unique()
            ]
            columns[MMT_abbrs.get(ability, ability)] = [
                sum(cells) / len(rates) for cells in zip(*rates, strict=True)
            ]
    return pandas.DataFrame({name: cells for name, cells in columns.items() if cells})


def _by_split(frame: Any, splits: list[Any], column: str) -> list[float]:
    return [
        *(float(frame[frame["split"] == split][column].mean()) for split in splits),
        float(frame[column].mean()),
    ]


def report_acc_MMSci(df: Any) -> Any:
    """Accuracy by subject, by category and overall, of each setting and their mean."""
    import pandas

    chosen = df[df["setting"].isin(SETTINGS)]
    parts = []
    for column, lead in (("subject", ""), ("category", "CATEGORY_")):
        table = chosen.groupby([column, "setting"])["hit"].mean().unstack(fill_value=0)
        table["Avg"] = table.mean(axis=1)
        parts.append(
            table.reset_index()
            .rename(columns={column: "subject"})
            .assign(subject=lambda row, lead=lead: lead + row["subject"])
        )
    overall = chosen.groupby(["setting"])["hit"].mean().to_frame().T
    overall["Avg"] = overall.mean(axis=1)
    overall["subject"] = "Overall"
    return pandas.concat([*parts, overall], ignore_index=True)[
        ["subject", *SETTINGS, "Avg"]
    ]


def report_acc_MMVP(df: Any) -> Any:
    """The share of rows that are right, and of pairs of rows that both are."""
    hits = list(df["hit"])
    if len(hits) % 2 or any(
        df["question"][at] != df["question"][at + 1] for at in range(0, len(hits), 2)
    ):
        raise ValueError("MMVP counts pairs of rows with one question")
    both = [bool(hits[at] and hits[at + 1]) for at in range(0, len(hits), 2)]
    return one_row(
        {"Average": sum(map(bool, hits)) / len(hits), "Overall": sum(both) / len(both)}
    )


def report_topviewrs_acc(df: Any) -> Any:
    """Accuracy by split, l2-category and category, and the partial matches beside it."""
    import pandas

    if "split" not in df:
        df["split"] = ["none"] * len(df)
    splits = sorted(set(df["split"]), key=str)
    columns: dict[str, list[Any]] = {"split": splits}
    groups = [("Overall", df)]
    for column in ("l2-category", "category"):
        if column in df:
            groups += [
                (ABBREVIATIONS.get(value, value), df[df[column] == value])
                for value in sorted(set(df[column]))
            ]
    for name, rows in groups:
        columns[name] = _by_split(rows, splits, "hit")[:-1]
        if "partial_match" in df:
            columns[f"{name}_PM"] = _by_split(rows, splits, "partial_match")[:-1]
    return pandas.DataFrame(columns)


def get_dimension_rating(data_path: str) -> dict[str, Any]:
    """MME-RealWorld's accuracy by task, subtask and category, with averages; rows below 0 are left out."""
    counts: dict[str, dict[str, dict[str, list[float]]]] = {
        task: {subtask: {} for subtask in SUBTASKS} for task in DIMENSIONS
    }
    data = load(data_path)
    for _, row in data.iterrows():
        task, subtask = row["category"].split("/")[:2]
        category = row["l2-category"].lower()
        if "attribute" in category:
            category = f"{category.split('/')[0]}/attribute"
        if row["score"] >= 0:
            counts[task][subtask].setdefault(category, []).append(row["score"])
    ratings: dict[str, Any] = {"Overall": {}}
    every: list[float] = []
    for task, subtasks in counts.items():
        scores = {
            name: [s for group in groups.values() for s in group]
            for name, groups in subtasks.items()
        }
        group = [score for values in scores.values() for score in values]
        every += group
        ratings[task] = {
            **{name: _averaged(subtasks[name], scores[name]) for name in subtasks},
            "Avg": _mean(group),
        }
    ratings["Overall"] = sum(every) / len(every)
    return ratings


def _averaged(
    groups: Mapping[str, list[float]], scores: list[float]
) -> dict[str, float]:
    return {
        **{name: sum(group) / len(group) for name, group in groups.items()},
        "Avg": _mean(scores),
    }


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores) if scores else 0
