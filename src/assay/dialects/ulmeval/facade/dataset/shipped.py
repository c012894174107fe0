"""What the benchmarks that ULMEvalKit ships have in common: their place on the web, and rows joined with answers."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....kits.many_calls import track_progress_rich
from ..smp.file import dump, load
from ..smp.misc import get_rank_and_world_size
from .text_base import TextBaseDataset
from .utils import judge_util

FAIL_MSG = "Failed to obtain answer via API."
Ask = Callable[..., dict[Any, Any]]
_HOME = "https://huggingface.co/datasets/CaraJ/ULMEvalKit/resolve/main"


def table_url(name: str) -> str:
    """Where the table of a benchmark lies."""
    return f"{_HOME}/{name}.tsv"


class ShippedPrompts(TextBaseDataset):
    """A benchmark of text that ships: built without a name, it is the first of those it has."""

    _assay_text_index = False
    """Whether rows are known by texts, even where every index is a whole number."""

    def __init__(self, dataset: str = "", skip_noimg: bool = True) -> None:
        super().__init__(dataset or next(iter(self.DATASET_URL)))
        if self._assay_text_index:
            self.data = self.data.assign(
                index=[str(index) for index in self.data["index"]]
            )


def joined(data: Any, eval_file: str) -> Any:
    """The predictions with what only the dataset's own table knows of their rows."""
    import pandas

    answers, meta = load(eval_file), data.copy()
    if meta["index"].dtype != answers["index"].dtype:
        answers["index"] = answers["index"].astype(str)
        meta["index"] = meta["index"].astype(str)
    columns = (set(meta.columns) & set(answers.columns)) - {"index"}
    return pandas.merge(
        answers, meta.drop(columns=list(columns)), on="index", how="inner"
    )


def asked(
    generate: Callable[..., Any],
    prompts: Mapping[Any, Any],
    reply_file: str,
    nproc: int,
) -> dict[Any, Any]:
    """The judge's replies by key; those that an earlier evaluation kept are not asked for again."""
    replies: dict[Any, Any] = load(reply_file) if os.path.exists(reply_file) else {}
    replies = {key: reply for key, reply in replies.items() if FAIL_MSG not in reply}
    left = {key: prompt for key, prompt in prompts.items() if key not in replies}
    if left:
        jobs = [{"message": prompt} for prompt in left.values()]
        track_progress_rich(
            generate, jobs, nproc=nproc, keys=list(left), save=reply_file
        )
        replies = {**replies, **load(reply_file)}
    return replies


def rated(
    data: Any,
    eval_file: str,
    judge_kwargs: dict[str, Any],
    rate: Callable[[Any, Ask], Any],
) -> Any:
    """The numbers in the judge's file of ratings, which `rate(rows, ask)` makes first where it is not there."""
    judge, nproc, settings = judge_settings(judge_kwargs)
    target = eval_file.replace(".pkl", f"_{judge}_rating.json")
    if os.path.exists(target):
        return load(target)
    model = judge_util.build_judge(**settings)

    def ask(prompts: Mapping[Any, Any], suffix: str = "_tmp") -> dict[Any, Any]:
        return asked(
            model.generate,
            prompts,
            eval_file.replace(".pkl", f"_{judge}{suffix}.pkl"),
            nproc,
        )

    result = rate(joined(data, eval_file), ask)
    dump(result, target)
    return result


class JudgedPrompts(ShippedPrompts):
    """Prompts whose images a judge rates, one for each; the replies are kept beside the predictions."""

    NUM_GENERATIONS = 1
    _assay_text_index = True

    def prepare_score_prompt(self, item: Any) -> list[dict[str, str]]:
        """What the judge is asked about one image."""
        raise NotImplementedError

    def summarized(self, rows: Any, replies: Mapping[str, str]) -> Any:
        """The numbers of all rows from the judge's replies."""
        raise NotImplementedError

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """The numbers in the judge's file of ratings, which is made first where it is not there."""
        return rated(self.data, eval_file, judge_kwargs, self._assay_rated)

    def _assay_rated(self, rows: Any, ask: Ask) -> Any:
        prompts = {
            rows.iloc[at]["index"]: self.prepare_score_prompt(rows.iloc[at])
            for at in range(len(rows))
        }
        return self.summarized(rows, ask(prompts))


def judge_settings(judge_kwargs: dict[str, Any]) -> tuple[str, int, dict[str, Any]]:
    """The judge's name, how many are asked at once, and what the judge is built with."""
    if judge_kwargs.get("model") is None:
        raise ValueError(
            "no judge is named: give --judge MODEL, or model=… to `evaluate`"
        )
    settings = {
        name: value
        for name, value in judge_kwargs.items()
        if name not in ("nproc", "verbose", "retry")
    }
    return (
        str(settings["model"]),
        int(judge_kwargs.get("nproc", 4)),
        {**settings, "temperature": 0.0},
    )


def own_part(rows: Any) -> Any:
    """The rows of this process: as many in a row as the others have."""
    rank, size = get_rank_and_world_size()
    each = (len(rows) + size - 1) // size
    return rows.iloc[rank * each : min((rank + 1) * each, len(rows))]


def gathered(part: Any, eval_file: str, suffix: str) -> list[Any]:
    """Writes down what this process found; what all found for the first of them, nothing for the others."""
    rank, size = get_rank_and_world_size()
    dump(part, eval_file.replace(".pkl", f"{suffix}_{rank}.pkl"))
    if rank != 0:
        return []
    files = [
        eval_file.replace(".pkl", f"{suffix}_{number}.pkl") for number in range(size)
    ]
    parts = [load(file) for file in files]
    for file in files:
        os.remove(file)
    return parts


def only_image(prediction: Any) -> Any:
    """The first of a row's images, or the image itself."""
    return prediction[0] if isinstance(prediction, list) else prediction


def each_image(rows: Any) -> list[Any]:
    """A row for each image, `prediction` being that image."""
    single = []
    for _, row in rows.iterrows():
        for image in row["prediction"]:
            copy = row.copy()
            copy["prediction"] = image
            single.append(copy)
    return single


def rounded_mean(values: Sequence[float], digits: int = 3) -> float:
    """The mean of some numbers, rounded."""
    return round(sum(values) / len(values), digits)
