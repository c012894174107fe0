"""Simulated users: a model that talks with the model under test."""

import pytest

import assay
from assay.core import UsageError

TASK = """
dataset = [{"dish": "soup"}]
template = [{"role": "system", "content": "You are a waiter."}]
user = "You want {{ dish }}."

def score(sample, output):
    said = [entry.output.text for entry in output.rounds]
    return len(said) == 2 and sample["dish"] in said[0]
"""
MODELS = """
def user(messages):
    assert "You want soup." in messages[0]["content"]
    said = [m["content"] for m in messages if m["role"] == "assistant"]
    return ["One soup, please.", "And bread.", "###STOP###"][len(said)]

def waiter(messages):
    assert messages[0]["content"] == "You are a waiter."
    return "You said: " + messages[-1]["content"]

def broken(messages):
    raise RuntimeError("no user today")
"""


def run(folder, user="user", **options):
    (folder / "order.py").write_text(TASK, encoding="utf-8")
    (folder / "models.py").write_text(MODELS, encoding="utf-8")
    return assay.run(
        str(folder / "order.py"),
        model=f"{folder}/models.py:waiter",
        judges={"user": f"{folder}/models.py:{user}"} if user else {},
        output_path=str(folder / "run"),
        **options,
    )


def test_user_begins_answers_and_ends_the_conversation(tmp_path):
    done = run(tmp_path)

    [result] = done.results
    assert (result.value, result.outcomes) == (1.0, {"scored": 1})
    assert not any("was not asked" in note for note in done.notes)


def test_conversation_is_not_asked_again(tmp_path):
    run(tmp_path)

    again = run(tmp_path)

    assert again.results[0].value == 1.0


def test_task_with_a_user_names_the_missing_model(tmp_path):
    with pytest.raises(UsageError, match="--judge user=MODEL"):
        run(tmp_path, user=None)


def test_failure_of_the_user_is_not_the_models_fault(tmp_path):
    done = run(tmp_path, user="broken")

    assert done.results[0].outcomes == {"judge_error": 1}


def test_persona_that_is_not_jinja_is_refused_before_work(tmp_path):
    task = TASK.replace("{{ dish }}", "{{ dish")
    file = tmp_path / "order.py"
    file.write_text(task, encoding="utf-8")

    with pytest.raises(UsageError, match="not valid Jinja"):
        assay.run(str(file), model="scripted", judges={"user": "scripted"})
