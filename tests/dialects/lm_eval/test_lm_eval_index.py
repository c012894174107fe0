"""Names of lm-eval without its package, and the commands that print and take them."""

import importlib.util
import subprocess
import sys

import pytest

from assay.cli.main import main
from assay.dialects.harness.index_building import index_of_folder
from assay.dialects.harness.task_index import leaf_names
from assay.dialects.lm_eval.claims import LIBRARY

needs_lm_eval = pytest.mark.skipif(
    importlib.util.find_spec("lm_eval") is None, reason="pip install 'assay[lm-eval]'"
)


@pytest.mark.without_lm_eval
def test_index_follows_includes_groups_tags_and_task_lists(here):
    here.write(
        "tasks/_base_yaml",
        "output_type: multiple_choice\ndataset_path: org/set\ntag: [both]\n",
    )
    here.write(
        "tasks/a.yaml",
        "include: _base_yaml\ntask: a\nprocess_docs: !function utils.f\n",
    )
    here.write("tasks/b.yaml", "include: _base_yaml\ntask: b\n")
    here.write(
        "tasks/list.yaml",
        "include: _base_yaml\ntask_list:\n  - {task: c}\n  - {task: d}\n",
    )
    here.write("tasks/group.yaml", "group: g\ntask: [a, {group: inner, task: [c]}]\n")

    index = index_of_folder(here.path / "tasks", LIBRARY)

    assert {name: entry.kind for name, entry in index.items()} == {
        "a": "task",
        "b": "task",
        "c": "task",
        "d": "task",
        "g": "group",
        "both": "tag",
    }
    assert index["a"].output_type == "multiple_choice"
    assert index["a"].functions == ("utils.f",)
    assert index["both"].members == ("a", "b", "c", "d")
    assert leaf_names("both", index) == ["a", "b", "c", "d"]


@pytest.mark.without_lm_eval
def test_broken_file_costs_no_other_its_name(here):
    here.write("tasks/bad.yaml", "task: [unclosed")
    here.write("tasks/good.yaml", "task: good\ndataset_path: x\n")

    assert list(index_of_folder(here.path / "tasks", LIBRARY)) == ["good"]


@pytest.mark.without_lm_eval
def test_index_skips_a_yaml_bomb_and_links_that_lead_back(here):
    levels = ["l0: &l0 [a, a]"]
    for level in range(1, 60):
        levels.append(f"l{level}: &l{level} [*l{level - 1}, *l{level - 1}]")
    here.write("tasks/bomb.yaml", "task: bomb\nmetadata:\n  " + "\n  ".join(levels))
    here.write("tasks/good.yaml", "task: good\ndataset_path: x\n")
    for name in ("again", "more"):
        (here.path / "tasks" / name).symlink_to(here.path / "tasks")

    assert list(index_of_folder(here.path / "tasks", LIBRARY)) == ["good"]


@needs_lm_eval
def test_listing_the_package_does_not_import_it(here, monkeypatch):
    code = (
        "import sys; from assay.cli.main import main; main(['ls', 'lm_eval/hellaswag']);"
        "print('imported', 'lm_eval' in sys.modules)"
    )

    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert "lm_eval/hellaswag " in shown.stdout
    assert "imported False" in shown.stdout


@needs_lm_eval
def test_index_is_read_from_its_file_until_a_task_changes(here, monkeypatch):
    from assay.dialects.harness import index_building, task_index

    here.write("pkg/tasks/a.yaml", "task: a\ndataset_path: x\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(here.path / "cache"))
    folder = here.path / "pkg" / "tasks"
    task_index.kept_index.cache_clear()
    first = task_index.kept_index(LIBRARY, folder)
    task_index.kept_index.cache_clear()
    monkeypatch.setattr(
        index_building, "index_of_files", lambda *_: pytest.fail("read again")
    )
    kept = task_index.kept_index(LIBRARY, folder)
    monkeypatch.undo()

    here.write("pkg/tasks/b.yaml", "task: b\ndataset_path: x\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(here.path / "cache"))
    task_index.kept_index.cache_clear()

    assert dict(kept) == dict(first)
    assert set(task_index.kept_index(LIBRARY, folder)) == {"a", "b"}


@needs_lm_eval
def test_show_prints_what_a_task_is(here, capsys):
    assert main(["show", "lm_eval/hellaswag", "--no_pager"]) == 0

    shown = capsys.readouterr().out
    for words in (
        "family: hellaswag",
        "multiple_choice",
        "acc_norm",
        "Rowan/hellaswag",
    ):
        assert words in shown


@needs_lm_eval
def test_include_path_finds_a_task_by_its_name(here, text_task, capsys):
    (here.path / "own").mkdir()
    (here.path / "text.yaml").rename(here.path / "own" / "any_file.yaml")
    arguments = ["--include_path", "own", "--tasks", "sums", "--data", here.sums()]

    assert main(["run", *arguments, "--model", "scripted", "-o", "out"]) == 0

    assert "lm_eval/sums@0shot" in capsys.readouterr().out


@needs_lm_eval
def test_lm_eval_command_takes_names_without_prefix(here, capsys):
    rows = [
        {
            "sentence": f"The cat {n} saw _ today.",
            "option1": "Tom",
            "option2": "Ann",
            "answer": "1",
        }
        for n in range(4)
    ]
    data = here.rows("w.jsonl", rows)

    code = main(
        [
            "lm-eval",
            "run",
            "--tasks",
            "winogrande",
            "--model",
            "scripted",
            "--data",
            data,
            "-o",
            "out",
        ]
    )

    assert code == 0
    assert "lm_eval/winogrande@0shot" in capsys.readouterr().out


@needs_lm_eval
def test_installed_task_with_a_helper_module_runs(here, capsys):
    rows = [
        {
            "activity_label": "Act",
            "ctx_a": f"He {n}",
            "ctx_b": "then",
            "ctx": "x",
            "endings": list("abcd"),
            "label": "0",
        }
        for n in range(4)
    ]

    code = main(
        [
            "run",
            "lm_eval/hellaswag",
            "--model",
            "scripted",
            "--data",
            here.rows("h.jsonl", rows),
            "-o",
            "out",
        ]
    )

    assert code == 0
    assert "acc_norm" in capsys.readouterr().out
