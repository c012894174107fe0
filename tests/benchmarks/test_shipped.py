"""What every shipped text benchmark owes its user: a name that resolves, a protocol, a licence, a hint."""

import pytest
from each_row import each

import assay
from assay import registry
from assay.core import DataSource, Suite, Task
from assay.runner.options import RunOptions
from assay.runner.tasks.components import build_scorer
from assay.runner.tasks.locate import find_data
from assay.runner.tasks.resolve import resolve_tasks

NAMES = (
    "quickstart", "quickstart_arithmetic", "quickstart_facts", "quickstart_choices", "quickstart_dialogue",
    "quickstart_format", "gsm8k", "gsm8k_completion", "mmlu_pro", "mmlu_pro_cot", "mmlu_pro_cot_5shot", "bbh",
    "bbh_direct", "lambada", "ifeval", "humaneval", "humaneval_chat",
    "humaneval_plus", "humaneval_generate", "mbpp", "mbpp_chat", "livecodebench",
)  # fmt: skip


@each("name", NAMES)
def test_a_shipped_name_leads_to_the_task_of_that_name(name):
    found = registry.tasks.get(name)

    assert isinstance(found, (Task, Suite)) and found.name == name
    assert registry.tasks.summary(name)


@each("name", NAMES)
def test_every_task_says_how_it_was_measured_and_where_its_data_is(name):
    for task in resolve_tasks(name, RunOptions()):
        assert task.protocol and task.licence and task.description and task.data_hint
        assert isinstance(task.dataset, DataSource)
        assert task.dataset.package or (
            task.dataset.local and (task.dataset.hub or task.dataset.mini)
        )


@each("name", NAMES)
def test_every_scorer_of_a_task_can_be_built(name):
    for task in resolve_tasks(name, RunOptions()):
        assert [build_scorer(entry, task.name) for entry in task.scorers]


def test_protocols_tell_variants_of_a_benchmark_apart():
    tasks = [task for name in NAMES for task in resolve_tasks(name, RunOptions())]

    assert len({task.protocol for task in tasks}) == len({task.name for task in tasks})


FROM_PACKAGES = ("bfcl", "tau2_")
"""Beginnings of the names of benchmarks whose rows and checkers come with a package of their authors."""


@each("name", [n for n in registry.tasks.names() if not n.startswith(FROM_PACKAGES)])
def test_every_shipped_task_has_rows_that_ship_with_it(name):
    for task in resolve_tasks(name, RunOptions()):
        assert find_data(task, "mini").exists()


@pytest.mark.parametrize("name", NAMES)
def test_every_text_benchmark_runs_on_the_rows_that_ship_with_it(name, tmp_path):
    done = assay.run(
        name,
        "scripted",
        data="mini",
        model_args={"answers": "The answer is 15."},
        output=str(tmp_path / "run"),
    )

    assert done.status == "complete"
    assert all(result.n == result.n_expected >= 2 for result in done)
