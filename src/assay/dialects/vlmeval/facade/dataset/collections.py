"""Several datasets as one: `ConcatDataset`, whose rows know where they come from, judged each by its own class."""

from typing import Any, ClassVar

from ....kits.table_rows import TableRows
from ..smp.file import dump, get_intermediate_file_path, load, localize_df
from ..smp.misc import toliststr

__all__ = ["ConcatDataset"]


class ConcatDataset(TableRows):
    """A set of datasets under one name; subclasses say which in `DATASET_SETS`."""

    DATASET_SETS: ClassVar[dict[str, list[str]]] = {
        "MMMB": [f"MMMB_{code}" for code in ("ar", "cn", "en", "pt", "ru", "tr")],
        "MTL_MMBench_DEV": [
            f"MMBench_dev_{code}" for code in ("ar", "cn", "en", "pt", "ru", "tr")
        ],
        "ScreenSpot": ["ScreenSpot_Mobile", "ScreenSpot_Desktop", "ScreenSpot_Web"],
        "ScreenSpot_v2": [
            "ScreenSpot_v2_Mobile",
            "ScreenSpot_v2_Desktop",
            "ScreenSpot_v2_Web",
        ],
        "ScreenSpot_Pro": [
            f"ScreenSpot_Pro_{part}"
            for part in ("Development", "Creative", "CAD", "Scientific", "Office", "OS")
        ],
        "M4Bench": [
            "State_Invariance",
            "State_Comparison",
            "Spatial_Perception",
            "Instance_Comparison",
            "Detailed_Difference",
        ],
    }

    def __init__(self, dataset: str) -> None:
        import pandas

        from . import build_dataset

        self.dataset_name = dataset
        self.datasets = self.DATASET_SETS[dataset]
        self.dataset_map = {name: build_dataset(name) for name in self.datasets}
        missing = [name for name, found in self.dataset_map.items() if found is None]
        if missing:
            raise ValueError(f"{dataset} needs the dataset {missing[0]!r}")
        self.TYPE, self.MODALITY = (
            self._assay_of_all("TYPE"),
            self._assay_of_all("MODALITY"),
        )
        parts = []
        for name, found in self.dataset_map.items():
            data = found.data
            data["SUB_DATASET"] = [name] * len(data)
            parts.append(localize_df(data, name) if "image" in data else data)
        joined = pandas.concat(parts)
        joined["original_index"] = joined.pop("index")
        joined["index"] = range(len(joined))
        self.data = joined

    def _assay_of_all(self, attribute: str) -> str:
        values = {str(getattr(found, attribute)) for found in self.dataset_map.values()}
        if len(values) > 1:
            raise ValueError(
                f"{self.dataset_name} joins datasets of several kinds: {', '.join(sorted(values))}"
            )
        return values.pop()

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names of the sets."""
        return list(cls.DATASET_SETS)

    def build_prompt(self, line: Any) -> Any:
        """The prompt that the row's own dataset makes."""
        line = self._assay_line(line)
        dataset = self.dataset_map[line["SUB_DATASET"]]
        rows = dataset.data
        return dataset.build_prompt(
            rows[rows["index"] == line["original_index"]].iloc[0]
        )

    def dump_image(self, line: Any) -> list[str]:
        """The images of a row, which are files by now."""
        return toliststr(line["image_path"])

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """What each dataset makes of its own predictions: one table, or one dictionary under `dataset:name`."""
        import pandas

        whole, tables, numbers = load(eval_file), [], {}
        for name in self.datasets:
            part = whole[whole["SUB_DATASET"] == name].drop(
                columns=["index", "SUB_DATASET"]
            )
            file = eval_file.replace(self.dataset_name, name)
            dump(part.rename(columns={"original_index": "index"}), file)
            found = self.dataset_map[name].evaluate(file, **judge_kwargs)
            if isinstance(found, dict):
                numbers.update({f"{name}:{key}": value for key, value in found.items()})
            else:
                found["DATASET"] = [name] * len(found)
                tables.append(found)
        result: Any = pandas.concat(tables) if tables else numbers
        dump(
            result,
            get_intermediate_file_path(
                eval_file, *(("_acc", "csv") if tables else ("_score", "json"))
            ),
        )
        return result
