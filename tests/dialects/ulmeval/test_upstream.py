"""ULMEvalKit's own seeding as a protocol, and pickles of other runs while scoring again."""

import json

from assay.cli.main import main
from assay.runner.run import run, score

RANDOM_MODEL = """
import random
from PIL import Image
from ulmeval.ulm.base import BaseModel

class Roller(BaseModel):
    def generate_inner(self, message, dataset=None):
        return Image.new('L', (1, 1), random.randrange(256))
"""
READS_A_PICKLE = """
from ulmeval.dataset.text_base import TextBaseDataset
from ulmeval.smp import load

class Old(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'Old': ''}
    DATASET_MD5 = {'Old': None}

    def build_prompt(self, line):
        return [dict(type='text', value='x')]

    def evaluate(self, eval_file, **judge_kwargs):
        return {'old': load('old.pkl')['score']}
"""


def drawn(folder):
    """The pixel of each prompt."""
    from assay.store import RunReader

    reader = RunReader(folder)
    images = [
        record.output["candidates"][0]["parts"][0]["sha256"]
        for record in reader.outputs()
    ]
    return [reader.blobs[name].data() for name in images]


def test_upstream_starts_every_prompt_with_the_same_seed(place):
    dataset, _ = place.colours()
    model = place.write("roller.py", RANDOM_MODEL) + ":Roller"

    ours = run(dataset, model, output="ours")
    theirs = run(f"{dataset}@upstream", model, output="theirs")

    assert len(set(drawn("theirs"))) == 1 and len(set(drawn("ours"))) > 1
    assert {row.protocol for row in theirs.results} == {"ColourBench@upstream"}
    assert {row.protocol for row in ours.results} == {"ColourBench"}


def test_upstreams_seed_is_that_of_the_environment(place, monkeypatch):
    import io
    import random

    from PIL import Image

    dataset, _ = place.colours()
    monkeypatch.setenv("SEED", "7")

    run(
        f"{dataset}@upstream",
        place.write("roller.py", RANDOM_MODEL) + ":Roller",
        output="theirs",
        limit=1,
    )

    [pixel] = drawn("theirs")
    assert Image.open(io.BytesIO(pixel)).getpixel((0, 0)) == random.Random(7).randrange(
        256
    )


def test_upstream_starts_every_prompt_with_the_seed_of_the_run_itself(place):
    import io
    import random

    from PIL import Image

    dataset, _ = place.colours()

    run(
        f"{dataset}@upstream",
        place.write("roller.py", RANDOM_MODEL) + ":Roller",
        output="theirs",
        seed=7,
    )

    pixels = {
        Image.open(io.BytesIO(pixel)).getpixel((0, 0)) for pixel in drawn("theirs")
    }
    assert pixels == {random.Random(7).randrange(256)}


def test_an_upstream_run_is_scored_again(place):
    dataset, model = place.colours()
    first = run(f"{dataset}@upstream", model, output="out")

    again = score("out")

    assert [(r.metric, r.value) for r in again.results] == [
        (r.metric, r.value) for r in first.results
    ]


def test_scoring_again_reads_a_pickle_of_another_run_only_after_consent(place, capsys):
    import pickle

    (place.data / "Old.tsv").write_text("index\tprompt\n1\tx\n")
    (place.folder / "old.pkl").write_bytes(pickle.dumps({"score": 0.25}))
    dataset, model = place.write("old.py", READS_A_PICKLE), place.colours()[1]
    run(f"{dataset}:Old", model, output="out")

    without = main(["score", "out", "--json"])
    refused = json.loads(capsys.readouterr().out)
    consented = main(["score", "out", "--json", "--trust_pickle"])
    allowed = json.loads(capsys.readouterr().out)

    assert (without, consented) == (3, 0)
    assert not [row for row in refused["results"] if row["metric"] == "evaluate.old"]
    assert any("pickle" in note for note in refused["notes"])
    assert [
        row["value"] for row in allowed["results"] if row["metric"] == "evaluate.old"
    ] == [0.25]
