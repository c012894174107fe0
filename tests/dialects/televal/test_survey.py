"""The survey of a TELEVAL checkout: every entry is built, every infer task runs to a number, and faults are named."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tools.guest_worlds.outcome import State
from tools.guest_worlds.televal import is_checkout, survey


def test_a_survey_runs_the_tasks_of_a_checkout_where_they_lie(project):
    project.write("src/task.py", "")
    project.entry(
        "dataset",
        "sounds",
        "src.dataset.BatchLoader",
        {"file": "Org/data/sounds-zh", "ref_col": "answer"},
    )
    spoken = [{"role": "user", "content": {"audio": "{{audio}}"}}]
    project.entry(
        "template", "hear", "src.prompt.template.DataTemplate", {"template": spoken}
    )
    heard = {**project.args["infer_task"], "dataset": "sounds", "template": "hear"}
    project.entry("infer_task", "heard", "src.config.InferTaskCfg", heard)
    project.entry(
        "infer_task", "broken", "src.config.InferTaskCfg", {**heard, "dataset": "gone"}
    )
    project.entry("model", "heavy", "src.models.heavy.Heavy", {})
    project.write(
        "src/models/heavy.py", "import a_library_nobody_has\n\nclass Heavy: ...\n"
    )
    before = sorted(
        path for path in project.root.rglob("*") if "__pycache__" not in path.parts
    )

    found = {(outcome.kind, outcome.name): outcome for outcome in survey(project.root)}

    assert is_checkout(project.root)
    assert found["infer_task", "heard"].state is State.RUNS
    assert found["infer_task", "broken"].state is State.FAILS
    assert "unknown dataset 'gone'" in found["infer_task", "broken"].detail
    assert (found["model", "heavy"].state, found["model", "heavy"].detail) == (
        State.PACKAGE,
        "a_library_nobody_has",
    )
    assert found["evaluator", "contains"].state is State.LOADS
    assert before == sorted(
        path for path in project.root.rglob("*") if "__pycache__" not in path.parts
    )
