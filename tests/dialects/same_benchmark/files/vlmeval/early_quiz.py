# ruff: noqa: C408 - written as its users write
from vlmeval.utils import TSVDataset

KINDS = {"word": "one word", "number": "a number"}


class Quiz(TSVDataset):
    def build_prompt(self, line, dataset=None):
        if isinstance(line, int):
            line = self.data.iloc[line]
        prompt = f"{line['question']} Answer with {KINDS[line['kind']]}."
        return dict(image=self.dump_image(line)[0], text=prompt)
