"""`ulmeval.dataset.geneval`: objects, their numbers, colours and places, found by a detector and by CLIP."""

from typing import Any, ClassVar

from ..smp.file import dump, load
from ..utils import track_progress_rich
from .shipped import ShippedPrompts, gathered, own_part, table_url
from .utils import build_judge

STANDS_IN = True
__all__ = ["GenEval"]


class GenEval(ShippedPrompts):
    """GenEval: four images for each prompt, each right or wrong."""

    NUM_GENERATIONS = 4
    DATASET_URL: ClassVar[dict[str, str]] = {"GenEval": table_url("GenEval")}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {
        "GenEval": "2c3a418e2b5a53a2d411b050aad834b4"
    }

    meta_only = True

    def build_prompt(self, line: Any) -> Any:
        """The question, as a list of one string."""
        return [self._assay_line(line)["question"]]

    @classmethod
    def evaluate(cls, eval_file: str, **judge_kwargs: Any) -> Any:
        """Accuracy by tag, in words, and the mean of the tags; `_eval.pkl` and `_score.csv` beside the predictions."""
        import pandas

        from .utils import geneval

        nproc = judge_kwargs.pop("nproc", 4)
        data = load(eval_file)
        data = data.assign(prediction=[list(images) for images in data["prediction"]])
        data = own_part(data.explode("prediction").reset_index(drop=True))
        detector = build_judge(**{"model": "mask2former", **judge_kwargs})
        clip = build_judge(**{"model": "openclip-vit-l-14", **judge_kwargs})
        jobs = [(detector, clip, data.iloc[place]) for place in range(len(data))]
        found = track_progress_rich(
            geneval.GenEval_auxeval_score,
            jobs,
            nproc=nproc,
            keys=list(range(len(jobs))),
        )
        data = data.assign(
            **{
                name: [verdict[name] for verdict in found]
                for name in ("correct", "reason", "details")
            }
        )
        parts = gathered(data, eval_file, "_eval")
        if not parts:
            return None
        whole = pandas.concat(parts).sort_values(by="index")
        storage = eval_file.replace(".pkl", "_eval.pkl")
        dump(whole, storage)
        score = geneval.GenEval_acc(storage)
        dump(score, eval_file.replace(".pkl", "_score.csv"))
        return score
