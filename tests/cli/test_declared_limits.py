"""What a model class declares is kept, and what it lacks is named."""

import json

import pytest
from PIL import Image

MODEL = """
from assay import Abilities

class Eye:
    abilities = Abilities(accepts=frozenset({"text", "image"}), images_per_prompt=LIMIT)

    def generate(self, messages):
        parts = messages[-1]["content"]
        return str(sum(part.get("type") != "text" for part in parts))
"""


@pytest.fixture
def eyes(folder):
    """Write three images, and rows that show one or three of them."""
    for name in ("a.png", "b.png", "c.png"):
        Image.new("RGB", (8, 8), "red").save(folder / name)
    three = {"question": "How many?", "images": ["a.png", "b.png", "c.png"]}
    one = {"question": "How many?", "images": ["a.png"]}
    (folder / "three.jsonl").write_text(json.dumps(three | {"answer": "3"}) + "\n")
    rows = [one | {"answer": "1"}, three | {"answer": "3"}]
    (folder / "mixed.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "one.py").write_text(MODEL.replace("LIMIT", "1"))
    (folder / "any.py").write_text(MODEL.replace("LIMIT", "None"))
    return folder


def test_more_images_than_a_model_takes_are_refused_before_the_run(assay, eyes):
    said = assay("run", "three.jsonl", "--model", "one.py:Eye", "-o", "run")

    assert said.code == 2
    assert "3 images in one prompt, and the model takes 1" in said.err
    assert "; fix: choose a model that takes several images" in said.err
    assert not (eyes / "run").exists()


def test_a_later_row_with_too_many_images_is_not_an_answer(assay, eyes):
    said = assay("run", "mixed.jsonl", "--model", "one.py:Eye", "-o", "run", "--json")

    result = said.json["results"][0]
    assert said.code == 3
    assert result["n"] == 1 and result["outcomes"] == {"scored": 1, "data_error": 1}


def test_a_model_without_a_limit_gets_all_images(assay, eyes):
    said = assay("run", "three.jsonl", "--model", "any.py:Eye", "-o", "run", "--json")

    assert said.code == 0 and said.json["results"][0]["value"] == 1.0


def test_a_class_of_vlmevalkit_without_its_base_says_what_to_derive_from(assay, folder):
    (folder / "mine.py").write_text(
        "class MyVLM:\n    def generate_inner(self, message, dataset=None):\n        return 'A'\n"
    )

    said = assay("run", "sums.jsonl", "--model", "mine.py:MyVLM")

    assert said.code == 2
    assert "does not derive from VLMEvalKit's BaseModel" in said.err
    assert "class MyVLM(BaseModel)" in said.err
