# ruff: noqa: C408, RUF012 - written as its users write
import pandas as pd
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.smp import load

KINDS = {"word": "one word", "number": "a number"}


class Quiz(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"Quiz": ""}
    DATASET_MD5 = {"Quiz": None}

    def __init__(self, dataset="Quiz", skip_noimg=False):
        super().__init__(dataset, skip_noimg)

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        images = [] if pd.isna(line["image"]) else self.dump_image(line)
        text = f"{line['question']} Answer with {KINDS[line['kind']]}."
        return [dict(type="image", value=path) for path in images] + [
            dict(type="text", value=text)
        ]

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        hits = [
            str(row["prediction"]) == str(row["answer"]) for _, row in data.iterrows()
        ]
        return {"accuracy": sum(hits) / len(hits)}
