"""Numbers of a guest's `evaluate`: none is lost, and an empty cell of a table is none."""

import math

import pandas
import pytest

from assay.dialects.kits.kit_numbers import as_numbers


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_passed_on_to_its_row(odd):
    found = as_numbers({"accuracy": odd, "parts": {"one": odd}, "rows": 3})

    parts = found.pop("parts")
    assert found == pytest.approx({"accuracy": odd, "rows": 3.0}, nan_ok=True)
    assert parts == pytest.approx({"one": odd}, nan_ok=True)


def test_an_empty_cell_of_a_table_is_not_a_number():
    rows = [
        {"name": "a", "score": 0.5, "other": math.nan},
        {"name": "b", "score": 1.0, "other": 2.0},
    ]
    frame = pandas.DataFrame(rows)

    assert as_numbers(frame) == {"a": {"score": 0.5}, "b": {"score": 1.0, "other": 2.0}}


@pytest.mark.parametrize("text", ["nan", "inf", "none"])
def test_a_text_that_is_not_a_number_is_left_out(text):
    assert as_numbers({"note": text, "score": "0.5"}) == {"score": 0.5}


STALE = """
from ulmeval.dataset.text_base import TextBaseDataset
from ulmeval.smp import *

class Toy(TextBaseDataset):
    DATASET_URL = {'toy': ''}
    DATASET_MD5 = {'toy': None}

    def evaluate(self, eval_file, **kw):
        storage = eval_file.replace('.pkl', '_score.csv')
        if not osp.exists(storage):
            pixels = [image.getpixel((0, 0))[0] > 127 for row in load(eval_file)['prediction'] for image in row]
            dump(pd.DataFrame([dict(red=float(np.mean(pixels)))]), storage)
        return {'red': float(load(storage)['red'][0])}
"""
DRAWS = """
from PIL import Image
from ulmeval.ulm.base import BaseModel

class P(BaseModel):
    def generate_inner(self, message, dataset=None):
        return Image.new('RGB', (8, 8), 'COLOUR')
"""


@pytest.mark.parametrize("how", ["run", "command"])
def test_new_images_are_evaluated_despite_files_of_an_earlier_evaluation(place, how):
    from assay.dialects.ulmeval.ulmeval_command import run_pairs
    from assay.dialects.ulmeval.ulmeval_pairs import Settings
    from assay.runner.events import Silent
    from assay.runner.run import run

    (place.data / "toy.tsv").write_text("index\tprompt\n1\ta ball\n2\ta tree\n")
    dataset = place.write("uds.py", STALE)

    def red(colour: str, fresh: bool = False) -> float:
        model = place.write("um.py", DRAWS.replace("COLOUR", colour)) + ":P"
        if how == "run":
            result = run(dataset, model=model, output="rf", fresh=fresh)
        else:
            (result,) = run_pairs(
                Settings(data=(dataset,), model=(model,), fresh=fresh), Silent
            )
        return {r.metric: r.value for r in result.results}["evaluate.red"]

    assert red("blue") == 0.0
    assert red("red", fresh=True) == 1.0
    assert red("blue") == 0.0
