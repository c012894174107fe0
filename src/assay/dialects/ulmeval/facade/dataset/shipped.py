"""What the benchmarks that ULMEvalKit ships have in common: their place on the web, and rows joined with answers."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....kits.many_calls import track_progress_rich
from ..smp.file import load

FAIL_MSG = "Failed to obtain answer via API."
_HOME = "https://huggingface.co/datasets/CaraJ/ULMEvalKit/resolve/main"


def table_url(name: str) -> str:
    """Where the table of a benchmark lies."""
    return f"{_HOME}/{name}.tsv"


def joined(data: Any, eval_file: str) -> Any:
    """The predictions with what only the dataset's own table knows of their rows."""
    import pandas

    answers, meta = load(eval_file), data.copy()
    if meta["index"].dtype != answers["index"].dtype:
        answers["index"] = answers["index"].astype(str)
        meta["index"] = meta["index"].astype(str)
    known = (set(meta.columns) & set(answers.columns)) - {"index"}
    return pandas.merge(answers, meta.drop(columns=list(known)), on="index", how="inner")


def asked(
    generate: Callable[..., Any], prompts: Mapping[Any, Any], kept: str, nproc: int
) -> dict[Any, Any]:
    """The judge's replies by key; those that an earlier evaluation kept are not asked for again."""
    replies: dict[Any, Any] = load(kept) if os.path.exists(kept) else {}
    replies = {key: reply for key, reply in replies.items() if FAIL_MSG not in reply}
    left = {key: prompt for key, prompt in prompts.items() if key not in replies}
    if left:
        jobs = [{"message": prompt} for prompt in left.values()]
        track_progress_rich(generate, jobs, nproc=nproc, keys=list(left), save=kept)
        replies = {**replies, **load(kept)}
    return replies


def judge_settings(judge_kwargs: dict[str, Any]) -> tuple[str, int, dict[str, Any]]:
    """The judge's name, how many are asked at once, and what the judge is built with."""
    if judge_kwargs.get("model") is None:
        raise ValueError("no judge is named: give --judge MODEL, or model=… to `evaluate`")
    own = {name: value for name, value in judge_kwargs.items() if name not in ("nproc", "verbose", "retry")}
    return str(own["model"]), int(judge_kwargs.get("nproc", 4)), {**own, "temperature": 0.0}


def rank_and_size() -> tuple[int, int]:
    """Which process of how many this is."""
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def own_part(rows: Any, rank: int, size: int) -> Any:
    """The rows of one process: as many in a row as the others have."""
    each = (len(rows) + size - 1) // size
    return rows.iloc[rank * each : min((rank + 1) * each, len(rows))]


def only_image(prediction: Any) -> Any:
    """The first of a row's images, or the image itself."""
    return prediction[0] if isinstance(prediction, list) else prediction


def each_image(rows: Any) -> list[Any]:
    """A row for each image, `prediction` being that image."""
    single = []
    for place in range(len(rows)):
        row = rows.iloc[place]
        for image in row["prediction"]:
            own = row.copy()
            own["prediction"] = image
            single.append(own)
    return single


def rounded_mean(values: Sequence[float], digits: int = 3) -> float:
    """The mean of some numbers, rounded."""
    return round(sum(values) / len(values), digits)
