"""Judges of several images per prompt: each verdict stays with its image, through a stop and a second run."""

from pathlib import Path

import assay
from assay.store import RunReader

DATASET = """
from ulmeval.dataset.text_base import TextBaseDataset
from ulmeval.dataset.utils import build_judge
from ulmeval.utils import track_progress_rich
from ulmeval.smp import *

class Tones(TextBaseDataset):
    NUM_GENERATIONS = 3
    DATASET_URL = {'Tones': ''}

    def evaluate(self, eval_file, **judge_kwargs):
        judge = judge_kwargs['model']
        nproc = judge_kwargs.pop('nproc', 4)
        judge_kwargs.pop('verbose', None)
        judge_kwargs['retry'] = 1
        model = build_judge(**judge_kwargs)
        data = load(eval_file)
        tasks, keys = [], []
        for _, row in data.iterrows():
            for i, image in enumerate(row['prediction']):
                url = 'data:image/png;base64,' + encode_image_to_base64(image)
                question = dict(type='text', value=f"tone of {row['index']}")
                tasks.append(dict(message=[question, dict(type='image', value=url)]))
                keys.append(f"{row['index']}_{i}")
        tmp_file = eval_file.replace('.pkl', '_tmp.pkl')
        track_progress_rich(model.generate, tasks, nproc=nproc, save=tmp_file, keys=keys)
        verdicts = load(tmp_file)
        if any('Failed' in v for v in verdicts.values()):
            raise RuntimeError('the judge went away')
        return {k: float(v) for k, v in sorted(verdicts.items())}
"""
MODEL = """
from PIL import Image
from ulmeval.ulm.base import BaseModel

class Grey(BaseModel):
    def batch_generate_inner(self, message, dataset, num_generations):
        base = 10 * int(message[0]['value'])
        return [Image.new('L', (4, 4), base + n) for n in range(num_generations)]
"""
JUDGE = """
import io
import os
from PIL import Image

def judge(messages):
    text, image = messages[-1]['content']
    tone = Image.open(io.BytesIO(image['image'].data())).convert('L').getpixel((0, 0))
    with open('judge.log', 'a') as log:
        log.write(f"{text['text']} {tone}\\n")
    if os.path.exists('gone') and tone >= 20:
        raise RuntimeError('gone')
    return str(tone)
"""
EXPECTED = {
    f"evaluate.{row}_{i}": float(10 * row + i) for row in (1, 2) for i in range(3)
}


def files(place) -> tuple[str, str, str]:
    (place.data / "Tones.tsv").write_text("index\tquestion\n1\t1\n2\t2\n")
    names = (("tones.py", DATASET), ("grey.py", MODEL), ("judge.py", JUDGE))
    dataset, model, judge = (place.write(name, text) for name, text in names)
    return dataset, f"{model}:Grey", f"{judge}:judge"


def judged() -> list[str]:
    return sorted(Path("judge.log").read_text().split("\n")[:-1])


def numbers(result) -> dict[str, float]:
    return {
        row.metric: row.value for row in result if row.metric.startswith("evaluate.")
    }


def test_every_verdict_belongs_to_the_image_it_was_given_for(place):
    dataset, model, judge = files(place)

    result = assay.run(dataset, model, output="run", judges={"judge": judge})

    assert numbers(result) == EXPECTED
    assert judged() == [
        f"tone of {row} {10 * row + i}" for row in (1, 2) for i in range(3)
    ]


def test_the_judge_sees_the_image_as_an_image(place):
    dataset, model, judge = files(place)

    assay.run(dataset, model, output="run", judges={"judge": judge})

    asked = [
        record for record in RunReader("run").outputs() if record.task == "Tones#judge"
    ]
    assert len(asked) == 6
    assert all(
        [part["type"] for part in record.prompt[-1]["content"]] == ["text", "image"]
        for record in asked
    )


def test_a_judge_is_asked_again_only_for_what_it_did_not_answer(place):
    dataset, model, judge = files(place)
    Path("gone").touch()
    stopped = assay.run(dataset, model, output="run", judges={"judge": judge})
    Path("gone").unlink()

    result = assay.score("run")

    assert stopped.status == "partial"
    assert any("the judge went away" in note for note in stopped.notes)
    assert numbers(result) == EXPECTED
    once = [f"tone of 1 {10 + i}" for i in range(3)]
    twice = sorted([f"tone of 2 {20 + i}" for i in range(3)] * 2)
    assert judged() == once + twice


def test_scoring_again_asks_the_judge_nothing(place):
    dataset, model, judge = files(place)
    assay.run(dataset, model, output="run", judges={"judge": judge})
    before = judged()

    again = assay.score("run")

    assert numbers(again) == EXPECTED
    assert judged() == before


def test_an_unreadable_answer_can_be_asked_for_again(place):
    from assay.dialects.ulmeval.drawing_datasets import build_judge

    judge = place.write(
        "counting.py",
        """
        def judge(messages, seed=None):
            return f"seed {seed}"
        """,
    )
    model = build_judge(model=f"{judge}:judge", retry=1, verbose=False)

    assert [model.generate("how many?") for _ in range(3)] == [
        "seed None",
        "seed 1",
        "seed 2",
    ]


def test_evaluate_without_a_named_judge_says_how_to_name_one(place):
    dataset, model, _ = files(place)
    text = (
        Path(dataset)
        .read_text()
        .replace("judge = judge_kwargs['model']", "judge = None")
    )
    dataset = place.write("tones.py", text)

    result = assay.run(dataset, model, output="run")

    assert any("--judge MODEL" in note for note in result.notes)


def test_a_detector_comes_from_a_checkout_and_is_named_without_one(place):
    import pytest

    from assay.core import UsageError
    from assay.dialects.ulmeval.ulmeval_toolkit import TOOLKIT

    script = "from ulmeval.dataset.utils import build_judge\n"
    alone = place.write("alone.py", script)
    folder = place.folder / "ULMEvalKit/ulmeval/dataset/utils"
    folder.mkdir(parents=True)
    (folder / "mmdet_model.py").write_text(
        "class MMDetModel:\n    def __init__(self, weights, **options):\n        self.weights = weights\n"
    )
    (folder / "mine.py").write_text("from .judge_util import build_judge\n")

    judge = TOOLKIT.load(folder / "mine.py").module.build_judge(model="mask2former")

    assert judge.weights.startswith("mask2former_swin-s")
    with pytest.raises(UsageError, match=r"mask2former.*checkout of ULMEvalKit"):
        TOOLKIT.load(alone).module.build_judge(model="mask2former")
