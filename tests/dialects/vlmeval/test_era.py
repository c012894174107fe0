"""Which revision a call follows: that of the file that calls, never what another file did before."""

import os
import subprocess
import sys

import pytest

from assay.dialects import protocol
from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

REFUSAL = "I can't process this file."
MIXED = """
import os, sys, pandas as pd
from vlmeval.dataset.image_mcq import CustomMCQDataset
from vlmeval.smp import dump

if len(sys.argv) > 1:
    from vlmeval.utils.data_util import TSVDataset
    TSVDataset('SEEDBench_IMG')

data = CustomMCQDataset('my_mcq')
answers = pd.DataFrame(
    {
        'index': [0, 1, 2, 3],
        'question': ['q'] * 4,
        'A': ['x'] * 4,
        'B': ['y'] * 4,
        'answer': ['A', 'A', 'B', 'B'],
        'split': ['test', 'val', 'val', 'val'],
        'prediction': ['A', 'A', 'A', 'B'],
    }
)
dump(answers, 'm_my_mcq.xlsx')
print(data.evaluate('m_my_mcq.xlsx', model='exact_matching').to_dict('records'))
"""


@pytest.fixture(autouse=True)
def upstream():
    protocol.choose("vlmeval", protocol.UPSTREAM)
    yield
    protocol.choose("vlmeval", protocol.OURS)


def read(file, name, source):
    return TOOLKIT.load(
        file(
            name,
            f"{source}\nfrom vlmeval.utils import can_infer\n"
            f"said = can_infer({REFUSAL!r}, {{'A': 'x'}})\n",
        )
    ).module.said


def test_names_of_the_documented_revision_alone_mean_its_rules(file):
    imports = (
        "from vlmeval.utils import TSVDataset\nfrom vlmeval.utils import can_infer\n"
    )
    script = file("old.py", f"{imports}print(can_infer({REFUSAL!r}, {{}}))\n")
    command = [sys.executable, "-m", "assay", "python", "--upstream", script]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "E"


def test_a_file_follows_the_revision_whose_names_it_imports(file):
    newest = "from vlmeval.vlm import BaseModel\nclass M(BaseModel):\n    pass"
    documented = "from vlmeval.utils import TSVDataset\nclass D(TSVDataset):\n    pass"

    said = [
        read(file, "old.py", documented),
        read(file, "new.py", newest),
        read(file, "old_again.py", documented),
        read(file, "both.py", f"{documented}\n{newest}"),
        read(file, "neither.py", "x = 1"),
    ]

    assert said == ["E", "Z", "E", "Z", "Z"]


def test_the_revision_can_be_said_outright(file):
    protocol.choose("vlmeval", protocol.DOCUMENTED)

    assert read(file, "said.py", "x = 1") == "E"


@pytest.mark.parametrize("flags", [[], ["--upstream"]])
def test_an_object_of_the_documented_revision_changes_no_later_result(
    file, table, picture, tmp_path, flags
):
    for name in ("my_mcq", "SEEDBench_IMG"):
        rows = [[n, picture(n), "q", "x", "y", "A"] for n in range(4)]
        table(name, "index image question A B answer", rows)
    script = file("mixed.py", MIXED)
    command = [
        sys.executable,
        "-m",
        "assay",
        "python",
        *flags,
        "--dialect",
        "vlmeval",
        script,
    ]
    printed = []
    for argument in ((), ("first",)):
        done = subprocess.run(
            [*command, *argument],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "LMUData": str(tmp_path / "LMUData")},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
        for made in tmp_path.glob("m_my_mcq_*"):
            made.unlink()

    assert printed[0] == printed[1]
    assert "'split': 'val'" in printed[0]
