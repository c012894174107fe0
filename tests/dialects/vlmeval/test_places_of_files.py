"""Files in a checkout, files written like those of one, and modules outside: names mean what they meant there."""

import pytest

from assay.core import UsageError

DATASET = """
    from ..smp import *
    from .image_base import ImageBaseDataset
    from .utils import build_judge, track_progress_rich
    {more}

    class Mine(ImageBaseDataset):
        TYPE = 'VQA'
        DATASET_URL = {{'toyv': ''}}

        def evaluate(self, eval_file, **judge_kwargs):
            data = load(eval_file)
            hits = track_progress_rich(lambda p, a: p == a, list(zip(data['prediction'], data['answer'])), nproc=2)
            return {{'acc': {value}, 'splits': splitlen('a/b')}}
"""
MODEL = """
    from .base import BaseModel

    class M(BaseModel):
        def generate_inner(self, message, dataset=None):
            return 'cat'
"""
API = """
    from .base import BaseAPI

    class Remote(BaseAPI):
        def generate_inner(self, message, **kwargs):
            return 0, 'cat', 'fine'
"""


@pytest.fixture
def toy(table, picture):
    rows = [[1, picture(1), "What?", "cat"], [2, picture(2), "And?", "dog"]]
    return table("toyv", "index image question answer", rows)


def numbers(result):
    return {r.metric: r.value for r in result.results}


def test_lone_files_with_relative_imports_are_recognised_and_run(toy, file, run):
    dataset = file("mine.py", DATASET.format(more="", value="float(np.mean(hits))"))
    model = file("model.py", MODEL)

    found = numbers(run(dataset, f"{model}:M"))

    assert found["evaluate.acc"] == 0.5 and found["evaluate.splits"] == 2


def test_a_lone_api_is_placed_beside_the_apis(toy, file, run):
    dataset = file("mine.py", DATASET.format(more="", value="float(np.mean(hits))"))

    assert (
        numbers(run(dataset, f"{file('remote.py', API)}:Remote"))["evaluate.acc"] == 0.5
    )


def test_a_file_in_a_checkout_takes_the_rest_from_there_and_no_init_is_run(
    toy, file, run, tmp_path
):
    for name, text in {
        "vlmeval/__init__.py": "raise RuntimeError('not run')\n",
        "vlmeval/dataset/__init__.py": "from .image_base import ImageBaseDataset\nraise RuntimeError('not run')\n",
        "vlmeval/dataset/utils/__init__.py": "raise RuntimeError('not run')\n",
        "vlmeval/dataset/utils/own.py": "from vlmeval.smp import listinstr\nWORTH = 7 * listinstr(['a'], 'a')\n",
        "vlmeval/smp/__init__.py": "def load(path): raise RuntimeError('ours is first')\ndef later(): return 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    more = "from .utils.own import WORTH\n    from vlmeval.smp import later"
    dataset = file(
        "vlmeval/dataset/mine.py", DATASET.format(more=more, value="WORTH + later()")
    )

    assert numbers(run(dataset, f"{file('model.py', MODEL)}:M"))["evaluate.acc"] == 8


def test_a_module_on_the_path_that_imports_vlmeval_is_recognised_too(
    toy, file, run, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    file(
        "elsewhere/kit_helpers.py",
        "from vlmeval.smp import toliststr\ncount = lambda s: len(toliststr(s))\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    (tmp_path / "runs").mkdir()
    dataset = file(
        "runs/mine.py",
        DATASET.format(
            more="from kit_helpers import count", value="count(\"['a', 'b']\")"
        ),
    )

    assert numbers(run(dataset, f"{file('model.py', MODEL)}:M"))["evaluate.acc"] == 2


def test_an_unknown_name_is_reported_with_the_importing_file(toy, file, run):
    dataset = file(
        "mine.py", DATASET.format(more="from ..smp import no_such_helper", value="1")
    )

    with pytest.raises(UsageError) as caught:
        run(dataset, f"{file('model.py', MODEL)}:M")

    assert "the vlmeval dialect has no 'no_such_helper' in 'vlmeval.smp'" in str(
        caught.value
    )
    assert "(imported by mine.py)" in str(caught.value)


def test_the_registries_of_the_package_know_the_classes_of_a_file(toy, file, run):
    # The list of names is read in `evaluate`: at import time the class is not defined yet.
    more = "import vlmeval.dataset as names\n    from vlmeval.dataset import build_dataset, DATASET_TYPE"
    value = "len(build_dataset('toyv')) + (DATASET_TYPE('toyv') == 'VQA') + ('toyv' in names.SUPPORTED_DATASETS)"
    dataset = file("mine.py", DATASET.format(more=more, value=value))

    assert numbers(run(dataset, f"{file('model.py', MODEL)}:M"))["evaluate.acc"] == 4
