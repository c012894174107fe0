"""Names of lmms-eval without its package, and which files are its tasks."""

import pytest

from assay.dialects.harness.index_building import index_of_folder
from assay.dialects.harness.task_yaml import merged_yaml
from assay.dialects.lmms_eval.claims import LIBRARY
from assay.dialects.recognise import dialect_of

pytestmark = pytest.mark.without_lmms_eval


def test_group_of_a_task_file_is_a_tag_and_a_list_of_tasks_is_a_group(here):
    here.write("t/a.yaml", "task: a\ngroup: both\ndataset_path: x\n")
    here.write("t/b.yaml", "task: b\ntag: both\ndataset_path: x\n")
    here.write("t/all.yaml", "group: all\ntask: [a, {group: inner, task: [b]}]\n")

    index = index_of_folder(here.path / "t", LIBRARY)

    kinds = {name: entry.kind for name, entry in index.items()}
    assert kinds == {"a": "task", "b": "task", "all": "group", "both": "tag"}
    assert index["both"].members == ("a", "b")


def test_included_file_is_relative_to_the_file_that_names_it(here):
    here.write("base.yaml", "dataset_path: of_the_working_folder\n")
    here.write("t/base.yaml", "dataset_path: beside\n")
    file = here.write("t/a.yaml", "include: base.yaml\ntask: a\n")

    assert merged_yaml(file, LIBRARY)["dataset_path"] == "beside"


def test_first_of_several_included_files_wins(here):
    here.write("one.yaml", "dataset_path: one\ntest_split: test\n")
    here.write("two.yaml", "dataset_path: two\nfewshot_split: dev\n")
    file = here.write("a.yaml", "include: [one.yaml, two.yaml]\ntask: a\n")

    config = merged_yaml(file, LIBRARY)

    assert config["dataset_path"] == "one"
    assert config["fewshot_split"] == "dev"


def test_file_is_of_lmms_eval_if_it_or_what_it_includes_has_its_keys(here):
    here.write("base.yaml", "doc_to_visual: !function utils.f\ndataset_path: x\n")
    seeing = here.write("seeing.yaml", "include: base.yaml\ntask: seeing\n")
    reading = here.write("reading.yaml", "task: reading\ndataset_path: x\n")

    assert dialect_of(seeing) == (
        "lmms_eval",
        "it has the key 'doc_to_visual' of lmms-eval",
    )
    assert dialect_of(reading)[0] == "lm_eval"
    assert dialect_of("lmms_eval/mme")[0] == "lmms_eval"
