"""`load_dataset` in a script or notebook of the testbed: loading scripts run, and their folders register."""

import pytest

from assay.cli.main import main
from assay.dialects.guest import Guest
from assay.dialects.testbed.claims import NAMES

datasets = pytest.importorskip("datasets")

SCRIPT = """
import datasets


class Config(datasets.BuilderConfig):
    def __init__(self, shout=False, **kwargs):
        self.shout = shout
        super().__init__(**kwargs)


class Foo(datasets.GeneratorBasedBuilder):
    BUILDER_CONFIG_CLASS = Config

    def _info(self):
        return datasets.DatasetInfo(features=datasets.Features({"text": datasets.Value("string")}))

    def _split_generators(self, downloads):
        sizes = {"train": 6, "validation": 4, "test": 0}
        return [datasets.SplitGenerator(name=name, gen_kwargs={"size": size}) for name, size in sizes.items()]

    def _generate_examples(self, size):
        for number in range(size):
            yield number, {"text": f"t{number}".upper() if self.config.shout else f"t{number}"}
"""
START = """
from testbed.data.common import register_dataset_retriever


@register_dataset_retriever(__name__.split(".")[-1])
def retriever(item, is_last):
    return [{"role": "user", "content": item["text"]}, {"role": "assistant"}]
"""


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "testbed" / "data" / "foo_calls"
    folder.mkdir(parents=True)
    (folder / "foo_calls.py").write_text(SCRIPT)
    (folder / "__init__.py").write_text(START)
    (tmp_path / "examples").mkdir()
    return tmp_path


@pytest.fixture
def load(tree):
    return Guest("testbed", NAMES, tree / "examples").module("datasets").load_dataset


def texts(rows):
    return [row["text"] for row in rows]


def test_a_split_of_a_loading_script_is_a_dataset_with_its_features(tree, load):
    rows = load(
        str(tree / "testbed" / "data" / "foo_calls"),
        split="validation",
        trust_remote_code=True,
    )

    assert isinstance(rows, datasets.Dataset)
    assert texts(rows) == ["t0", "t1", "t2", "t3"] and rows.features[
        "text"
    ] == datasets.Value("string")


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("val", ["t0", "t1", "t2", "t3"]),
        ("train[:2]", ["t0", "t1"]),
        ("validation[50%:]", ["t2", "t3"]),
        ("train[4:]+validation[:1]", ["t4", "t5", "t0"]),
    ],
)
def test_parts_of_splits_are_named_as_the_library_names_them(
    tree, load, split, expected
):
    assert (
        texts(load(str(tree / "testbed" / "data" / "foo_calls"), split=split))
        == expected
    )


def test_without_a_split_every_one_that_has_rows_comes(tree, load):
    with pytest.warns(UserWarning, match="'test'.*has no rows"):
        made = load(
            str(tree / "testbed" / "data" / "foo_calls" / "foo_calls.py"), shout=True
        )

    assert (
        list(made) == ["train", "validation"] and made["validation"][0]["text"] == "T0"
    )


def test_a_split_that_is_not_there_is_named_with_those_that_are(tree, load):
    with pytest.raises(
        Exception, match=r"unknown split 'dev'.*train, validation, test"
    ):
        load(str(tree / "testbed" / "data" / "foo_calls"), split="dev")


def test_rows_can_be_streamed(tree, load):
    rows = load(
        str(tree / "testbed" / "data" / "foo_calls"), split="train", streaming=True
    )

    assert isinstance(rows, datasets.IterableDataset) and len(list(rows)) == 6


def test_what_is_no_loading_script_is_the_librarys(tree, load):
    (tree / "rows.jsonl").write_text('{"text": "x"}\n')

    assert texts(
        load(
            "json",
            data_files=str(tree / "rows.jsonl"),
            split="train",
            trust_remote_code=True,
        )
    ) == ["x"]


def test_the_tutorials_loop_runs_from_its_folder(tree, monkeypatch, capfd):
    (tree / "examples" / "loop.py").write_text(
        "import os\nfrom datasets import load_dataset\nfrom testbed.data import prepare_dataloader, prepare_input\n"
        'rows = load_dataset(os.path.join("..", "testbed", "data", "foo_calls"), split="validation")\n'
        "for batch in prepare_dataloader(rows, batch_size=4, num_shots=1):\n"
        '    print(len(prepare_input("foo_calls", batch)))\n'
    )
    monkeypatch.chdir(tree / "examples")

    assert main(["python", "loop.py"]) == 0
    assert capfd.readouterr().out == "4\n"


def test_outside_a_guest_the_library_is_as_it_was(tree, load):
    assert datasets.load_dataset is not load
