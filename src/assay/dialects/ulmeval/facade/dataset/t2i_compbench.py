"""`ulmeval.dataset.t2i_compbench`: attributes, places and relations of composed prompts."""

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from .....core import UsageError
from .shipped import ShippedPrompts, table_url

STANDS_IN = True
__all__ = ["T2ICompBench"]

_MD5 = {
    "T2ICompBench_VAL": "b46fb37aa7d973f661cd7b43aa2e58b8",
    "T2ICompBench_Color_VAL": "e718d1a73cc793a72f287c91e34e17d7",
    "T2ICompBench_Shape_VAL": "93669f86365e0565985036e6e8c6b9fe",
    "T2ICompBench_Texture_VAL": "b9c7821e7091f6f7229e2276ea2da0a2",
    "T2ICompBench_Spatial_VAL": "6e301c6d32bf0465ef89a53353a3c711",
    "T2ICompBench_non_Spatial_VAL": "8cb88471b72347196e448de9f36ae760",
    "T2ICompBench_Complex_VAL": "dbe4bee11bc00258daf5d9666127b557",
}


class T2ICompBench(ShippedPrompts):
    """T2I-CompBench: ten images for each prompt."""

    NUM_GENERATIONS = 10
    DATASET_URL: ClassVar[dict[str, str]] = {name: table_url(name) for name in _MD5}
    DATASET_MD5: ClassVar[dict[str, str | None]] = dict(_MD5)

    def save_temp_images(self, data: Any, save_dir: str) -> None:
        """The images as files, named after the prompt and their number."""
        for _, row in data.iterrows():
            images = (
                row["prediction"]
                if isinstance(row["prediction"], list)
                else [row["prediction"]]
            )
            for number, image in enumerate(images):
                image.save(
                    os.path.join(save_dir, f"{row['question']}_{number:0>6}.jpg")
                )

    def remove_temp_images(self, save_dir: str) -> None:
        """Removes them, and folders that are empty then."""
        for name in os.listdir(save_dir):
            os.remove(os.path.join(save_dir, name))
        os.removedirs(save_dir)

    def get_tasks_for_rank(
        self, tasks: Sequence[Any], rank: int = 0, world_size: int = 1
    ) -> Sequence[Any]:
        """The tasks of one process; where they cannot be shared out evenly, the first has them all."""
        if world_size == 1:
            return tasks
        if len(tasks) % world_size:
            return tasks if rank == 0 else []
        each = len(tasks) // world_size
        return tasks[rank * each : (rank + 1) * each]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Not without upstream's files: BLIP-VQA, CLIP and UniDet are its own copies of those projects."""
        raise UsageError(
            "T2ICompBench is evaluated by BLIP-VQA, CLIP and UniDet as they lie in a checkout of ULMEvalKit",
            fix="run a file in the checkout, or assay's own: assay run t2i_compbench (a worker), t2i_compbench_parts",
        )
