"""Recognising and loading: which files are ours, and names that are there only for them."""

import sys
from pathlib import Path

import pytest

import assay
from assay.core import UsageError
from assay.dialects.recognise import dialect_of, imported_names
from assay.dialects.ulmeval.claims import claims

CUT_OUT = """
from .text_base import TextBaseDataset
from ..smp import load, dump
from ..utils import track_progress_rich

class Cut(TextBaseDataset):
    TYPE = 'T2I'
    NUM_GENERATIONS = 2
    DATASET_URL = {'Cut': ''}

    def evaluate(self, eval_file, **judge_kwargs):
        from .utils.judge_util import build_judge
        from ..smp import encode_image_to_base64
        data = load(eval_file)
        return {'images': sum(len(images) for images in data['prediction'])}
"""


def test_a_file_that_imports_ulmeval_is_recognised(place):
    dataset, model = place.colours()

    found, reason = dialect_of(dataset) or ("", "")

    assert found == "ulmeval"
    assert reason.startswith("imports ulmeval")
    assert (dialect_of(model) or ("",))[0] == "ulmeval"


def test_other_files_are_not_claimed(place):
    other = Path(place.write("other.py", "import json\nT2I = 'ulmeval'\n"))

    assert claims(other, imported_names(other)) is None
    assert claims(place.folder / "no such file.py", frozenset()) is None


def test_a_file_cut_out_of_the_package_finds_its_names(place):
    place.colours()
    (place.data / "Cut.tsv").write_text("index\tquestion\n1\tred\n")
    cut = place.write("cut.py", CUT_OUT)

    result = assay.run(
        cut, str(place.folder / "my_model.py:Painter"), output="run", dialect="ulmeval"
    )

    assert {row.metric: row.value for row in result} == {
        "images": 2.0,
        "evaluate.images": 2.0,
    }
    assert claims(Path(cut), imported_names(Path(cut))) is not None


def test_nothing_called_ulmeval_is_left_in_the_process(place):
    dataset, model = place.colours()

    assay.run(dataset, model, output="run")

    assert not [name for name in sys.modules if name.partition(".")[0] == "ulmeval"]
    with pytest.raises(ImportError):
        import ulmeval  # noqa: F401


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "from ulmeval.smp import teleport",
            "the ulmeval dialect has no 'teleport' in 'ulmeval.smp'",
        ),
        (
            "import ulmeval.nowhere",
            "the ulmeval dialect has no module 'ulmeval.nowhere'",
        ),
        ("from ulmeval import Nothing", "the ulmeval dialect has no 'Nothing'"),
    ],
)
def test_an_unknown_name_of_the_toolkit_is_reported(place, line, said):
    file = place.write(
        "asks.py",
        f"try:\n    {line}\nexcept ImportError as error:\n    said = str(error)\n",
    )
    from assay.dialects.ulmeval.ulmeval_toolkit import TOOLKIT

    assert said in TOOLKIT.load(file).module.said


def test_names_of_the_package_itself_are_found(place):
    file = place.write(
        "all_names.py",
        """
        import ulmeval
        import ulmeval.dataset as data
        from ulmeval import TextBaseDataset, load, supported_ULM, BaseModel
        same = ulmeval.dataset.TextBaseDataset is TextBaseDataset is data.TextBaseDataset
        kinds = [data.DATASET_TYPE('nobody'), ulmeval.smp.load is load]
        """,
    )
    from assay.dialects.ulmeval.ulmeval_toolkit import TOOLKIT

    module = TOOLKIT.load(file).module

    assert module.same and module.kinds == ["T2I", True]


def test_a_model_file_with_one_model_needs_no_name(place):
    dataset, model = place.colours()

    result = assay.run(dataset, model.rpartition(":")[0], output="run")

    assert result.status == "complete"


def test_an_unknown_model_in_a_file_is_answered_with_the_nearest(place):
    dataset, model = place.colours()

    with pytest.raises(UsageError, match="did you mean 'Painter'"):
        assay.run(dataset, model.replace("Painter", "Pianter"), output="run")


def test_importing_assay_loads_no_dialect():
    import subprocess

    code = (
        "import sys, assay; print([n for n in sys.modules if 'dialects.ulmeval' in n])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_a_script_runs_with_the_names_of_ulmeval(place, capsys):
    from assay.cli.python import command

    place.colours()
    script = place.write(
        "script.py",
        """
        from my_model import Painter
        from ulmeval.config import supported_ULM
        supported_ULM['Painter-1B'] = Painter
        images = supported_ULM['Painter-1B']().generate(['a blue ball'], num_generations=2)
        print([image.getpixel((0, 0)) for image in images])
        """,
    )

    assert command([script]) == 0
    assert capsys.readouterr().out.strip() == "[(0, 0, 255), (0, 0, 255)]"


def test_a_notebook_session_gets_the_names_and_gives_them_back():
    import subprocess

    cells = (
        "import assay.dialects; assay.dialects.enable('ulmeval')\n"
        "from ulmeval.smp import *\n"
        "from ulmeval.dataset import TextBaseDataset\n"
        "print(listinstr(['a'], 'ab'), TextBaseDataset.__name__, osp.join('a', 'b'))\n"
        "assay.dialects.disable('ulmeval')\n"
        "try:\n    import ulmeval\nexcept ImportError:\n    print('gone')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", cells], capture_output=True, text=True, check=False
    )

    assert done.stdout.split("\n")[:2] == ["True TextBaseDataset a/b", "gone"], (
        done.stderr
    )


def test_a_package_of_that_name_beside_the_file_is_hidden_only_when_asked(place):
    dataset, model = place.colours()
    place.write("ulmeval/__init__.py", "MINE = 1\n")

    with pytest.raises(
        UsageError, match=r"ulmeval is yours and has no module 'ulmeval\.dataset'"
    ):
        assay.run(dataset, model, output="run")
    from assay.cli.ulmeval import command

    assert command(["--data", dataset, "--model", model, "--json"]) == 0
