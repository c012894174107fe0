"""A notebook written for VLMEvalKit: its cells in order, in one namespace, in a process of its own."""

import json
import os
import subprocess
import sys

KERNEL = """
import json, sys

scope = sys.modules["__main__"].__dict__
for number, cell in enumerate(json.load(open(sys.argv[1]))["cells"]):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), scope)
"""
CELLS = [
    "import assay.dialects\nassay.dialects.enable('vlmeval')",
    "from vlmeval.smp import *\nfrom vlmeval.dataset import ImageBaseDataset, build_dataset\n"
    "from vlmeval.vlm import BaseModel",
    "class Echo(BaseModel):\n    def generate_inner(self, message, dataset=None):\n"
    "        return ' '.join(entry['type'] for entry in message)",
    "dataset = build_dataset('Mine')\nprompt = dataset.build_prompt(0)\nanswer = Echo().generate(prompt)",
    "image = decode_base64_to_image(encode_image_file_to_base64(prompt[0]['value']))",
    "assay.dialects.disable('vlmeval')\ntry:\n    import vlmeval\n    left = 'still there'\n"
    "except ImportError as error:\n    left = str(error)",
    "print(json.dumps({'name': type(dataset).__name__, 'answer': answer, 'size': image.size, 'left': left}))",
]


def test_a_notebook_gets_the_names_and_gives_them_back(table, picture, tmp_path):
    table(
        "Mine",
        "index image question A B answer",
        [[0, picture(5), "What?", "cat", "dog", "A"]],
    )
    notebook = tmp_path / "explore.ipynb"
    notebook.write_text(
        json.dumps(
            {"cells": [{"cell_type": "code", "source": [cell]} for cell in CELLS]}
        )
    )

    command = [sys.executable, "-c", KERNEL, str(notebook)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["name"] == "CustomMCQDataset"
    assert (made["answer"], made["size"]) == ("image text", [8, 8])
    assert made["left"] == "No module named 'vlmeval'"
