"""Registries: names that lead nowhere are reported before anything runs, with file, line and what is near."""

import warnings

import pytest

from assay.core import PlanError, UnknownName, UsageError
from assay.dialects.recognise import dialect_of
from assay.dialects.televal.listing import lines, listing
from assay.dialects.televal.tree import read_tree


@pytest.mark.parametrize(
    ("kind", "name", "argument", "wrong", "near"),
    [
        ("infer_task", "task", "dataset", "dtaa", "data"),
        ("infer_task", "task", "template", "aks", "ask"),
        ("infer_task", "task", "model", "ecko", "echo"),
        ("infer_task", "task", "eval_task", "jugde", "judge"),
        ("eval_task", "judge", "evaluator", "contians", "contains"),
        ("eval_task", "judge", "summarizer", "agv", "avg"),
    ],
)
def test_a_dangling_name_is_reported_with_file_line_and_the_nearest(
    project, kind, name, argument, wrong, near
):
    project.change(kind, name, **{argument: wrong})
    file = project.registry / kind / f"{name}.yaml"
    line = next(
        n for n, text in enumerate(file.read_text().splitlines(), 1) if wrong in text
    )

    with pytest.raises(UnknownName) as caught:
        project.run("task")

    assert str(caught.value).startswith(f"{file}:{line}: unknown ")
    assert f"did you mean {near!r}?" in str(caught.value)
    assert not (project.root / "out").exists()


def test_all_dangling_names_are_reported_at_once(project):
    project.change("infer_task", "task", dataset="dtaa", template="aks")

    with pytest.raises(PlanError) as caught:
        project.run("task")

    assert len(caught.value.faults) == 2


def test_a_dangling_name_of_another_task_is_ignored(project, recwarn):
    project.entry(
        "infer_task",
        "other",
        "src.config.InferTaskCfg",
        {**project.args["infer_task"], "dataset": "gone"},
    )

    result = project.run("task")

    assert result.results[0].value == 0.5
    assert [
        str(warning.message) for warning in recwarn if "gone" in str(warning.message)
    ] == []
    assert "unknown dataset 'gone'" in "\n".join(lines(project.registry))


def test_a_missing_class_is_reported_without_running_user_code(project):
    project.write(
        "src/models/echo.py",
        "raise SystemExit('the file was run')\n\nclass Echoes:\n    pass\n",
    )

    with pytest.raises(
        UsageError,
        match=r"echo.yaml:\d+: unknown class 'src.models.echo.Echo'; fix: did you mean 'Echoes'",
    ):
        project.run("task")


def test_a_missing_module_is_reported_with_the_nearest(project):
    project.entry("evaluator", "contains", "src.evaluator.contians.Contains", {})

    with pytest.raises(
        UsageError,
        match=r"no module 'src.evaluator.contians'; fix: did you mean 'src.evaluator.contains'",
    ):
        project.run("task")


def test_an_argument_that_an_infer_task_does_not_have_names_its_line(project):
    project.change("infer_task", "task", revers_spkr=True)

    with pytest.raises(
        UsageError,
        match=r"task.yaml:\d+: infer_task 'task' has no option 'revers_spkr'; fix: did you mean 'reverse_spkr'",
    ):
        project.run("task")


def test_a_name_that_is_defined_twice_says_where(project):
    project.write(
        "registry/model/more.yaml", (project.registry / "model/echo.yaml").read_text()
    )

    with pytest.raises(
        UsageError, match=r"model 'echo' is defined twice; fix: also at .*echo.yaml:1"
    ):
        project.run("task")


def test_a_name_given_twice_in_one_file_is_not_silently_dropped(project):
    project.write(
        "registry/summarizer/avg.yaml", "avg:\n  class: a.B\navg:\n  class: a.C\n"
    )

    with pytest.raises(UsageError, match=r"avg.yaml:3: 'avg' is given twice"):
        project.run("task")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "avg:\n  clas: a.B\n",
            "avg.yaml:2: summarizer 'avg' has no 'clas'; fix: did you mean 'class'",
        ),
        ("avg: [\n", "avg.yaml:2: not valid YAML"),
        ("key:\n  class: a.B\n", "avg.yaml:1: 'key' is reserved"),
        ("- a\n", "avg.yaml:1: not a mapping"),
        (
            "avg:\n  class: a.B\n  args: 3\n",
            "avg.yaml:3: `args` of summarizer 'avg' is not a mapping",
        ),
        ("avg:\n  class: [1]\n", "avg.yaml:2: `class` of summarizer 'avg' is"),
        (
            "avg:\n  class: AvgInfo\n",
            "avg.yaml:2: 'AvgInfo' is not a dotted class path",
        ),
    ],
)
def test_an_invalid_registry_file_is_an_error_with_its_line(project, text, message):
    project.write("registry/summarizer/avg.yaml", text)

    with pytest.raises(UsageError) as caught:
        project.run("task")

    assert message in str(caught.value)


def test_an_entry_without_a_class_is_configuration_and_no_fault(project):
    project.write(
        "registry/model/judge.yaml", "judge_model:\n  args:\n    path: somewhere\n"
    )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert project.run("task").results[0].value == 0.5


def test_a_class_named_by_its_package_alone_is_found_in_the_file_that_defines_it(
    project,
):
    project.entry("model", "echo", "src.models.Echo", {"path": "w"})

    assert project.run("task").results[0].value == 0.5


def test_a_package_that_exports_the_class_wins_over_searching(project):
    project.write(
        "src/models/__init__.py", "from .echo import Echo as your_model_class\n"
    )
    project.entry("model", "echo", "src.models.your_model_class", {"path": "w"})

    assert project.run("task").results[0].value == 0.5


def test_a_users_class_in_a_file_of_our_name_is_found_there(project):
    project.write(
        "src/summarizer/summarizer.py",
        "from src.summarizer.summarizer import AvgInfo\n\nclass Mine(AvgInfo):\n    def statistic(self, scores, **kw):\n        return {'best': max(scores)}\n",  # noqa: E501
    )
    project.entry("summarizer", "avg", "src.summarizer.summarizer.Mine", {})

    result = project.run("task")

    assert result.results[0].details["statistic"] == {"best": 1}


def test_a_callable_other_than_a_class_is_not_called(project):
    project.entry("summarizer", "avg", "os.system", {"command": "touch called"})

    with pytest.raises(UsageError, match=r"avg.yaml:\d+: os.system is not a class"):
        project.run("task")


def test_a_judge_that_runs_here_names_a_model_of_the_registry(project):
    args = {
        "llm_name": "qwen",
        "template": "ask",
        "judge_task": "aed",
        "generate_params": {},
    }
    project.entry("evaluator", "contains", "src.evaluator.llm.LLMOfflineScorer", args)

    with pytest.raises(
        UnknownName, match="unknown model 'qwen'; fix: the registry has echo"
    ):
        project.run("task")


def test_a_registry_is_recognised_without_naming_its_dialect(project):
    assert project.run("task", dialect=None).results[0].value == 0.5


def test_one_yaml_file_of_a_registry_selects_its_own_tasks(project):
    project.entry(
        "infer_task", "other", "src.config.InferTaskCfg", project.args["infer_task"]
    )
    from assay.runner.run import run

    result = run(
        str(project.registry / "infer_task/other.yaml"),
        output=str(project.root / "out"),
    )

    assert [row.task for row in result.results] == ["other"]


def test_a_registry_is_recognised_by_its_folders(project):
    assert dialect_of(str(project.registry), "televal") == (
        "televal",
        "asked for by --dialect",
    )
    from assay.dialects.televal.claims import claims

    assert claims(
        project.registry, frozenset()
    ) == "a TELEVAL registry of " + ", ".join(
        [
            "infer_task",
            "eval_task",
            "dataset",
            "template",
            "model",
            "evaluator",
            "summarizer",
        ]
    )
    assert claims(project.root, frozenset()) is not None
    assert (
        claims(project.registry / "infer_task/task.yaml", frozenset())
        == "a YAML file of a TELEVAL registry"
    )
    assert (
        claims(project.root / "x.py", frozenset({"src.models.base"}))
        == "imports src.models.base, a TELEVAL module"
    )
    assert claims(project.root / "data", frozenset()) is None
    assert claims(project.root / "x.py", frozenset({"src.somewhere"})) is None


def test_a_registry_lists_every_kind_and_name(project):
    project.change("infer_task", "task", dataset="gone")

    found = listing(project.registry)

    assert {
        kind: [entry["name"] for entry in entries] for kind, entries in found.items()
    } == {
        "infer_task": ["task"],
        "eval_task": ["judge"],
        "dataset": ["data"],
        "template": ["ask"],
        "model": ["echo"],
        "evaluator": ["contains"],
        "summarizer": ["avg"],
    }
    assert found["model"][0]["class"] == "src.models.echo.Echo"
    assert found["model"][0]["where"] == "model/echo.yaml:1"
    assert "unknown dataset 'gone'" in found["infer_task"][0]["fault"]
    assert "evaluator (1)" in lines(project.registry)


def test_a_key_in_a_yaml_file_works_is_warned_of_and_never_recorded(project):
    project.write(
        "src/evaluator/contains.py",
        "class Contains:\n    def __init__(self, key):\n        self.key = key\n\n"
        "    def evaluate(self, preds, refs, infos):\n        raise ValueError(f'refused {self.key}')\n",
    )
    project.entry(
        "evaluator",
        "contains",
        "src.evaluator.contains.Contains",
        {"key": "sk-12345-very-secret"},
    )

    with pytest.warns(
        UserWarning, match=r"contains.yaml:1: evaluator 'contains' holds a key"
    ):
        result = project.run("task")

    assert "refused [redacted]" in result.notes[0]
    written = "".join(
        file.read_text(errors="replace")
        for file in (project.root / "out").rglob("*")
        if file.is_file()
    )
    assert "very-secret" not in written


def test_a_key_comes_from_the_environment(project, monkeypatch):
    project.change("model", "echo", log="${env:ASSAY_TEST_KEY}")
    project.model(
        "    def __init__(self, path='', log=None):\n        self.log = log\n\n"
        "    def generate_once(self, audio, **kwargs):\n        return {'pred': self.log[:2]}\n"
    )
    monkeypatch.setenv("ASSAY_TEST_KEY", "no")

    assert project.run("task").results[0].value == 0.5


def test_a_key_that_the_environment_lacks_is_named(project, monkeypatch):
    monkeypatch.delenv("ASSAY_TEST_KEY", raising=False)
    project.change("model", "echo", log="${env:ASSAY_TEST_KEY}")

    with pytest.raises(
        UsageError, match="the environment variable ASSAY_TEST_KEY is not set"
    ):
        project.run("task")


def test_a_tree_is_read_from_the_folder_around_it_and_from_one_of_its_files(project):
    assert read_tree(project.root).folder == project.registry.resolve()
    assert read_tree(project.registry / "model/echo.yaml").names("model") == ["echo"]


def test_entries_may_share_arguments_by_an_anchor_that_is_not_an_entry(project):
    (project.registry / "infer_task" / "task.yaml").write_text(
        "shared: &shared\n  dataset: data\n  template: ask\n  model: gone\n  eval_task: judge\n"
        "task:\n  class: src.config.InferTaskCfg\n  args:\n    <<: *shared\n    model: echo\n"
    )

    result = project.run("task")

    assert result.status == "complete" and read_tree(project.registry).names(
        "infer_task"
    ) == ["task"]


def test_an_unshared_entry_without_class_is_an_error(project):
    (project.registry / "infer_task" / "odd.yaml").write_text("odd:\n  dataset: data\n")

    with pytest.raises(
        UsageError, match=r"odd.yaml:2: infer_task 'odd' has no 'dataset'"
    ):
        read_tree(project.registry)
