"""Loading scripts `<name>/<name>.py`, run without the `datasets` library's leave, and the metrics beside them."""

import io
import json
import zipfile

import pytest

from assay.core import DataError, UnknownName, UsageError
from assay.dialects.recognise import dialect_of
from assay.dialects.testbed.script import Downloads
from assay.dialects.testbed.testbed_planning import tasks
from assay.runner.options import RunOptions
from assay.scorers.vision.vqa import vqa_accuracy

datasets = pytest.importorskip("datasets", reason="datasets is not installed")

START = """
from testbed.data.common import register_dataset_retriever, register_postprocess
from ..common import most_common_from_dict
from .words import ASK


@register_dataset_retriever(__name__.split(".")[-1])
def retriever(item, is_last: bool):
    turns = [
        {"role": "image", "content": [{"type": "image"}]},
        {"role": "question", "content": [{"type": "text", "text": ASK + item["question"]}]},
        {"role": "answer"} if is_last else {"role": "answer", "content": item["answer"]},
    ]
    assert item["image"].size == (4, 4)
    return turns, item["image"]


@register_postprocess(__name__.split(".")[-1])
def postprocess(text):
    return text
"""

SCRIPT = """
import json
from pathlib import Path

import datasets
from testbed.data.common import most_common_from_dict, split_generators

FILES = {
    "questions": {"train": "train.json", "val": "val.json", "test": "test.json", "empty": "empty.json"},
    "images": {"train": "img", "val": "img", "test": "img", "empty": "img"},
}


class FooConfig(datasets.BuilderConfig):
    def __init__(self, images_dir=None, verbose=True, answer_selector=None, **kwargs):
        self.images_dir = images_dir if images_dir is not None else self.data_dir
        self.verbose = verbose
        self.answer_selector = answer_selector if answer_selector is not None else most_common_from_dict
        super().__init__(**kwargs)


class Foo(datasets.GeneratorBasedBuilder):
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = FooConfig

    def _info(self):
        return datasets.DatasetInfo(
            features=datasets.Features(
                {
                    "question_id": datasets.Value("int64"),
                    "question": datasets.Value("string"),
                    "answer": datasets.Value("string"),
                    "kind": datasets.ClassLabel(names=["colour", "shape"]),
                    "answers": [{"answer": datasets.Value("string")}],
                    "image": datasets.Image(),
                }
            )
        )

    def _split_generators(self, dl_manager):
        def place(kind, split):
            folder = self.config.images_dir if kind == "images" else self.config.data_dir
            return Path(folder).resolve() / FILES[kind][split]

        return split_generators(place, FILES, False)

    def _generate_examples(self, split, questions_path, images_path):
        for row in json.load(open(questions_path)):
            row["image"] = str(images_path / f"{row['question_id']}.png")
            row["answer"] = self.config.answer_selector(row["answers"])
            row["kind"] = "shape"
            yield row["question_id"], row
"""

METRIC = """
import datasets
import evaluate


class {name}(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        columns = {{"predictions": text, "references": datasets.Sequence(text), "kinds": datasets.Value("int64")}}
        return evaluate.MetricInfo(description="", citation="", features=datasets.Features(columns))

    def _compute(self, predictions, references, kinds):
        right = [p in r for p, r in zip(predictions, references)]
        return {{"overall": 100 * sum(right) / len(right), "perKind": {{"shape": float(sum(kinds))}}, "note": "text"}}
"""


@pytest.fixture
def tree(tmp_path):
    """A user's `testbed/` tree with one dataset, and its raw data elsewhere."""
    from PIL import Image as pillow

    folder = tmp_path / "tree" / "testbed" / "data" / "foo"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(START)
    (folder / "words.py").write_text('ASK = "Look: "\n')
    (folder / "foo.py").write_text(SCRIPT)
    raw = tmp_path / "raw"
    (raw / "img").mkdir(parents=True)
    for split, count in (("train", 6), ("val", 3), ("empty", 0)):
        answers = [{"answer": "red"}, {"answer": "red"}, {"answer": "blue"}]
        rows = [
            {"question_id": n, "question": f"{split} {n}?", "answers": answers}
            for n in range(count)
        ]
        (raw / f"{split}.json").write_text(json.dumps(rows))
    for n in range(6):
        pillow.new("RGB", (4, 4), (n * 20, 0, 0)).save(raw / "img" / f"{n}.png")
    return folder


@pytest.fixture
def raw(tmp_path, tree):
    return tmp_path / "raw"


def test_item_6_a_loading_script_runs_by_its_folder_with_shots_from_train(
    tree, raw, evaluate_on
):
    result, asked = evaluate_on(tree, "red", data=str(raw), num_fewshot=2)

    assert [
        turn.get("content") for turn in asked[0]["prompt"] if turn["role"] == "question"
    ][-1] == "Look: val 0?"
    assert all("train" in record["prompt"][1]["content"] for record in asked)
    assert (result.results[0].task, result.results[0].value, result.results[0].n) == (
        "foo",
        1.0,
        3,
    )


def test_item_6_the_folder_is_recognised_without_running_it(tree):
    name, reason = dialect_of(str(tree))

    assert name == "testbed"
    assert (
        reason
        == "is a dataset folder of the testbed: foo/foo.py or __init__.py with a retriever"
    )
    assert dialect_of(str(tree / "foo.py")) is not None
    assert (
        dialect_of(str(tree.parents[2]))[1]
        == "is a tree of dataset folders: tree/testbed/data"
    )


def test_a_whole_tree_and_the_script_itself_stand_for_the_dataset_too(tree, raw):
    for reference in (tree, tree / "foo.py", tree.parents[1], tree.parents[2]):
        assert [
            task.name for task in tasks(str(reference), RunOptions(data=str(raw)))
        ] == ["foo"]


def test_the_folder_of_images_defaults_to_the_data_folder_and_can_be_named(
    tmp_path, tree, raw, evaluate_on
):
    (raw / "img").rename(tmp_path / "img")

    _, asked = evaluate_on(
        tree, "red", data=f"{raw}?images_dir={tmp_path}", split="train"
    )

    assert [record["id"] for record in asked] == ["0", "1", "2", "3", "4", "5"]


def test_features_shape_the_rows(tree, raw, evaluate_on):
    task = tasks(str(tree), RunOptions())[0]

    row = next(iter(task.dataset.reading_from(str(raw)).examples("train")))

    assert row["kind"] == 1
    assert row["image"]["path"].endswith("0.png")


def test_an_unknown_split_is_answered_with_those_there_are(tree, raw, evaluate_on):
    with pytest.raises(
        UnknownName,
        match=r"unknown split 'validaton'.*did you mean 'validation'.*it has train",
    ):
        evaluate_on(tree, data=str(raw), split="validaton")


def test_an_empty_split_is_passed_over(tree, raw, evaluate_on):
    for split in ("val", "train"):
        (raw / f"{split}.json").write_text("[]")
    with pytest.raises(DataError, match=r"none of its splits .* has rows"):
        evaluate_on(tree, data=str(raw))


def test_a_script_without_its_data_says_how_to_give_it(tree, evaluate_on):
    with pytest.raises(
        DataError,
        match=r"foo\.py: cannot say its splits: TypeError.*fix: --data FOLDER",
    ):
        evaluate_on(tree)


def test_a_script_that_fails_midway_loses_that_row_and_says_where(
    tree, raw, evaluate_on
):
    rows = json.loads((raw / "val.json").read_text())
    del rows[2]["answers"]
    (raw / "val.json").write_text(json.dumps(rows))

    result, asked = evaluate_on(tree, "red", data=str(raw))

    assert len(asked) == 2
    assert any(
        "failed in split 'validation': KeyError: 'answers' (foo.py:" in note
        for note in result.notes
    )


def test_a_script_without_a_retriever_is_refused(tree, raw):
    (tree / "__init__.py").write_text("")

    with pytest.raises(UsageError, match="no retriever is registered for 'foo'"):
        tasks(str(tree), RunOptions(data=str(raw)))


@pytest.mark.parametrize("spelling", ["testbed/evaluate", "testbed/evaluate/metrics"])
def test_item_7_a_metric_in_either_folder_is_usable_by_name(
    tree, raw, evaluate_on, spelling
):
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    home = tree.parents[2] / spelling / "share"
    home.mkdir(parents=True)
    (home / "share.py").write_text(METRIC.format(name="Share"))

    result, _ = evaluate_on(
        tree, ["red", "green", "blue"], data=str(raw), scorers=("share",)
    )

    found = {r.metric: (r.value, r.interval) for r in result.results}
    assert found["share.overall"] == (
        pytest.approx(200 / 3),
        "none: a set-level metric",
    )
    assert found["share.perKind.shape"][0] == 3.0


def test_a_users_metric_takes_precedence_over_a_scorer_of_the_same_name(
    tree, raw, evaluate_on
):
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    home = tree.parents[2] / "testbed" / "evaluate" / "vqa_accuracy"
    home.mkdir(parents=True)
    (home / "vqa_accuracy.py").write_text(METRIC.format(name="VqaAccuracy"))

    result, _ = evaluate_on(
        tree, ["red", "green", "blue"], data=str(raw), scorers=("vqa_accuracy",)
    )

    assert {r.metric for r in result.results} >= {
        "vqa_accuracy.overall",
        "vqa_accuracy.perKind.shape",
    }


def test_item_7_a_missing_metric_is_an_unknown_scorer(tree, raw, evaluate_on):
    with pytest.raises(UnknownName, match="unknown scorer 'shaer'"):
        evaluate_on(tree, "red", data=str(raw), scorers=("shaer",))


def test_item_7_vqa_accuracy_reproduces_the_published_example():
    predictions = ["yes", "2", "blue"]
    references = [["yes", "yeah", "yep"], ["2", "two"], ["blue", "bluish"]]

    scores = [
        vqa_accuracy(said, given)
        for said, given in zip(predictions, references, strict=True)
    ]

    assert round(100 * sum(scores) / 3, 2) == 24.07


def test_downloads_keep_local_paths_and_unpack_archives(tmp_path):
    (tmp_path / "rows.txt").write_text("rows")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("inner/x.txt", "x")
    manager = Downloads(tmp_path, cache=tmp_path / "cache")

    made = manager.download_and_extract({"rows": "rows.txt", "all": ["a.zip"]})

    assert made["rows"] == str(tmp_path / "rows.txt")
    assert [f.rpartition("/")[2] for f in manager.iter_files(made["all"])] == ["x.txt"]
    assert [
        (n, io.BytesIO(s.read()).getvalue())
        for n, s in manager.iter_archive(tmp_path / "a.zip")
    ] == [("inner/x.txt", b"x")]


def test_downloads_refuse_private_addresses(tmp_path):
    with pytest.raises(UsageError, match=r"private address 127\.0\.0\.1"):
        Downloads(tmp_path, cache=tmp_path).download("https://127.0.0.1/data.zip")
