"""Files a user of the testbed would bring, and stand-ins for what needs torch."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from assay.models.scripted import Scripted
from assay.runner.run import run

RETRIEVER = """
from testbed.data import register_dataset_retriever, register_postprocess


@register_dataset_retriever("parity")
def retriever(item, is_last: bool):
    answer = {"role": "assistant"} if is_last else {"role": "assistant", "content": item["label"]}
    return [{"role": "user", "content": item["text"]}, answer]


@register_postprocess("parity")
def postprocess(text):
    return {"yes": 1, "no": 0}.get(text.lower(), -1)
"""

STAND_INS = '''
import numpy as np
from testbed.models.model_base import ModelBase


class Processor:
    """Letters as tokens, filled up on the left."""

    @classmethod
    def from_pretrained(cls, root, **options):
        made = cls()
        made.options = options
        return made

    def __call__(self, text, images=None, padding=True, return_tensors="pt"):
        self.text, self.images = text, images
        rows = [[ord(c) for c in one] for one in ([text] if isinstance(text, str) else text)]
        width = max(map(len, rows))
        return {"input_ids": np.array([[0] * (width - len(row)) + row for row in rows])}

    def batch_decode(self, ids, skip_special_tokens=True):
        return ["".join(chr(c) for c in row if c) for row in ids]


class Net:
    config = None

    @classmethod
    def from_pretrained(cls, root, **options):
        made = cls()
        made.options = options
        return made

    def generate(self, input_ids, **options):
        self.given = options
        times = options.get("num_return_sequences", 1)
        said = np.array([[ord(c) for c in "yes"]] * (len(input_ids) * times))
        return np.concatenate([np.repeat(input_ids, times, axis=0), said], axis=1)


class Mine(ModelBase):
    def __init__(self, model_root="weights/tiny-model", **options):
        super().__init__(model_root, Processor, Net, **options)

    @property
    def default_prompt_template(self):
        return (
            "{% for message in messages %}<|{{ message['role'] }}|>"
            "{% if 'content' in message %}{{ message['content'] }}<|end|>{% endif %}{% endfor %}"
        )
'''


@pytest.fixture
def parity_file(tmp_path):
    """A user's file as the how-to document has it."""
    path = tmp_path / "my_parity.py"
    path.write_text(RETRIEVER)
    return path


@pytest.fixture
def write_rows(tmp_path):
    """Writes rows as JSONL and gives the path."""

    def write(rows, name="rows.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def parity_rows(write_rows):
    """Twenty rows, every other one `yes`."""
    return write_rows(
        [
            {"text": f"is {n} even?", "label": "no" if n % 2 else "yes"}
            for n in range(20)
        ]
    )


@pytest.fixture
def evaluate_on(tmp_path):
    """Runs a reference on a scripted model; gives the result and the records of what was asked."""

    def evaluate(reference, answers="yes", *, model=None, folder="run", **settings):
        output = tmp_path / folder
        result = run(
            str(reference), model or Scripted(answers), output=str(output), **settings
        )
        lines = [
            json.loads(line)
            for line in (output / "records.jsonl").read_text().splitlines()
        ]
        return result, [line for line in lines if line["kind"] == "output"]

    return evaluate


@pytest.fixture
def stand_in_file(tmp_path):
    """A model file whose processor and weights need nothing."""
    path = tmp_path / "my_model.py"
    path.write_text(STAND_INS)
    return path
