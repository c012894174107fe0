"""Inside a VLMEvalKit checkout, the names of its datasets and models are known, and missing packages are named."""

import os
import subprocess
import sys
from textwrap import dedent

import pytest

from assay.core import UnknownName, UsageError
from assay.dialects.vlmeval.vlmeval_command import evaluate
from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

CONFIG = """
    import os
    from functools import partial
    import vlmeval.vlm as vlm
    import vlmeval.api as api

    ROOT = None
    group = {
        "my-vlm": partial(vlm.MyVLM, says='B', root=ROOT, pixels=4 * 28 * 28),
        "heavy": partial(vlm.Heavy, path='x'),
        "other": vlm.MyVLM,
    }
    supported_VLM = {}
    for part in (group,):
        supported_VLM.update(part)
    supported_VLM["late"] = partial(vlm.MyVLM, says=os.environ.get('SAYS', 'A'))
"""
MODEL = """
    from .base import BaseModel


    class MyVLM(BaseModel):
        def __init__(self, says='A', root='unset', pixels=0):
            assert root is None or root == 'unset'
            self.says = says

        def generate_inner(self, message, dataset=None):
            return self.says
"""
DATASET = """
    from ..smp import *
    from .image_base import ImageBaseDataset


    class Colours(ImageBaseDataset):
        TYPE = 'VQA'
        DATASET_URL = {'Colours': ''}

        def evaluate(self, eval_file, **judge_kwargs):
            data = load(eval_file)
            right = [a == p for a, p in zip(data['answer'], data['prediction'])]
            return {'hits': float(np.mean(right))}
"""
RUN = """
    import sys
    from vlmeval.config import supported_VLM
    from vlmeval.dataset import build_dataset
    from vlmeval.smp import *

    logger = get_logger('RUN')
    setup_logger()
    try:
        dataset = build_dataset('Colours')
        model = supported_VLM[sys.argv[1]]()
        logger.info(f'{type(dataset).__name__} {model.generate("which?")}')
    except Exception as error:
        logger.error(f'failed: {error}')
"""


@pytest.fixture
def checkout(tmp_path, table, picture, monkeypatch):
    files = {
        "config.py": CONFIG,
        "vlm/__init__.py": "from .my_vlm import MyVLM\nfrom .heavy import Heavy\n",
        "vlm/my_vlm.py": MODEL,
        "vlm/heavy.py": "import no_such_torch, no_such_vision.ops\nfrom .base import BaseModel\n"
        "class Heavy(BaseModel): ...\n",
        "api/__init__.py": "",
        "dataset/__init__.py": "from .colours import Colours\nfrom .needs import Needs\n",
        "dataset/colours.py": DATASET,
        "dataset/needs.py": "import no_such_metric, cv2_missing\nclass Needs:\n    DATASET_URL = {'NeedsIt': ''}\n",
    }
    root = tmp_path / "VLMEvalKit"
    for path, text in files.items():
        file = root / "vlmeval" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    (root / "run.py").write_text(dedent(RUN))
    rows = [[n, picture(n), "which?", "AB"[n % 2]] for n in range(4)]
    table("Colours", "index image question answer", rows)
    monkeypatch.chdir(root)
    return root


def run(*arguments):
    (result,) = evaluate([*arguments, "--work-dir", "out"])
    return result


@pytest.mark.parametrize("model", ["my-vlm", "other", "late"])
def test_datasets_and_models_of_the_checkout_are_known_by_name(checkout, model):
    result = run("--data", "Colours", "--model", model)

    assert result.value("evaluate.hits") == 0.5
    assert (checkout / f"out/{model}/{model}_Colours.xlsx").exists()


def test_the_class_of_the_checkout_judges_and_a_plain_table_stays_one(
    checkout, table, picture
):
    table(
        "plain",
        "index image question A B answer",
        [[0, picture(1), "?", "x", "y", "B"]],
    )

    assert run("--data", "plain", "--model", "my-vlm").value("exact_matching") == 1.0


def test_a_folder_below_the_checkout_counts_as_inside(checkout, monkeypatch):
    monkeypatch.chdir(checkout / "vlmeval")

    assert run("--data", "Colours", "--model", "my-vlm").status == "complete"


def test_every_missing_package_is_named(checkout):
    with pytest.raises(UsageError, match=r"heavy needs .*: no_such_torch, no_such_vis"):
        run("--data", "Colours", "--model", "heavy")
    with pytest.raises(UsageError, match=r"NeedsIt needs .*: no_such_metric, cv2_mis"):
        run("--data", "NeedsIt", "--model", "my-vlm")


def test_unknown_names_are_answered_with_near_ones(checkout):
    with pytest.raises(UnknownName, match="did you mean 'my-vlm'"):
        run("--data", "Colours", "--model", "my-vml")
    with pytest.raises(UnknownName, match="vlmeval/dataset has it"):
        run("--data", "Colors", "--model", "my-vlm")


def test_outside_a_checkout_its_names_are_not_known(checkout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UnknownName):
        run("--data", "Colours", "--model", "my-vlm")


def test_names_of_an_installed_vlmevalkit_are_known(checkout, tmp_path, monkeypatch):
    (checkout / "vlmeval/__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(checkout))
    monkeypatch.chdir(tmp_path)

    assert run("--data", "Colours", "--model", "my-vlm").status == "complete"


@pytest.mark.parametrize(
    ("model", "said"),
    [("my-vlm", "INFO - vlmeval.RUN: Colours B"), ("heavy", "no_such_torch, no_such_vision"),
     ("nobody", "ERROR - vlmeval.RUN: failed: 'nobody'")],
)  # fmt: skip
def test_a_script_of_the_checkout_shows_its_output_and_its_errors(
    checkout, model, said
):
    done = subprocess.run(
        [sys.executable, "-m", "assay", "python", "run.py", model],
        capture_output=True,
        text=True,
        env={**os.environ},
        check=True,
    )

    assert said in done.stdout


REPORTS = """
    from ..smp import *


    class ImageBaseDataset:
        @classmethod
        def report_infer_err(cls, prediction_file):
            return {'class': cls.__name__, 'markers': cls.INFER_FAIL_MARKERS, 'file': prediction_file}
"""


def test_reports_are_those_of_the_checkout(checkout):
    (checkout / "vlmeval/dataset/image_base.py").write_text(dedent(REPORTS))
    colours = TOOLKIT.load(checkout / "vlmeval/dataset/colours.py").member("Colours")

    report = colours.report_infer_err("out/predictions.xlsx")

    assert report == {
        "class": "Colours",
        "markers": ("Failed to obtain answer",),
        "file": "out/predictions.xlsx",
    }


def test_without_a_checkout_a_class_has_no_reports(file):
    source = (
        "from vlmeval.dataset import ImageBaseDataset\nclass D(ImageBaseDataset): ..."
    )
    alone = TOOLKIT.load(file("alone.py", source)).member("D")

    assert not hasattr(alone, "report_infer_err")
