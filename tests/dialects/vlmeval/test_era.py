"""Which revision a process is of: by the names it uses."""

import subprocess
import sys

import pytest

from assay.dialects import protocol
from assay.dialects.vlmeval import era
from assay.dialects.vlmeval.loading import load_guest

REFUSAL = "I can't process this file."


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    monkeypatch.setattr(era, "_used", set())
    protocol.choose("vlmeval", protocol.UPSTREAM)
    yield
    protocol.choose("vlmeval", protocol.OURS)


def read(file, name, source):
    return load_guest(
        file(name, f"{source}\n    from vlmeval.utils import can_infer\n")
    ).can_infer(REFUSAL, {"A": "x"})


def test_names_of_the_documented_revision_alone_mean_its_rules(file):
    imports = (
        "from vlmeval.eval import MME_rating\nfrom vlmeval.utils import can_infer\n"
    )
    script = file("old.py", f"{imports}print(can_infer({REFUSAL!r}, {{}}))\n")
    command = [sys.executable, "-m", "assay", "python", "--upstream", script]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "E"


def test_a_class_of_the_newest_revision_means_the_newest(file):
    era.note_documented()
    source = (
        "    from vlmeval.vlm import BaseModel\n    class M(BaseModel):\n        pass"
    )

    assert read(file, "new.py", source) == "Z"


def test_a_class_upon_tsvdataset_is_of_the_documented_revision(file):
    era.note_documented()
    source = "    from vlmeval.utils import TSVDataset\n    class D(TSVDataset):\n        pass"

    assert read(file, "dataset.py", source) == "E"


def test_the_revision_can_be_said_outright(file):
    protocol.choose("vlmeval", protocol.DOCUMENTED)

    assert read(file, "said.py", "    x = 1") == "E"
