"""Specs and tasks: components as plain data."""

import pytest

from assay.core import Fewshot, GenerateOptions, Spec, Task, UsageError


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        ("wer", Spec("wer")),
        (Spec("wer"), Spec("wer")),
        ({"name": "wer", "normalize": "none"}, Spec("wer", {"normalize": "none"})),
        ({"wer": {"normalize": "none"}}, Spec("wer", {"normalize": "none"})),
        ({"wer": None}, Spec("wer")),
    ],
)
def test_the_forms_of_a_spec(given, spec):
    assert Spec.of(given) == spec
    assert Spec.of(spec.to_plain()) == spec


@pytest.mark.parametrize("given", [3, None, [], {}, {"a": 1, "b": 2}, {"a": "b"}])
def test_anything_else_is_an_error_with_its_place(given):
    with pytest.raises(UsageError, match=r"tasks/t\.yaml: expected a name"):
        Spec.of(given, where="tasks/t.yaml")


def test_a_task_takes_plain_values_for_its_parts():
    task = Task(
        "t",
        scorers="wer",
        summarizers=["mean"],
        options={"max_tokens": 4},
        fewshot={"num": 2},
    )  # type: ignore[arg-type]

    assert task.scorers == ("wer",) and task.summarizers == ("mean",)
    assert task.options == GenerateOptions(max_tokens=4) and task.fewshot == Fewshot(2)
    assert task.protocol == "t"
    assert task.but(protocol="t@cot").scorers == ("wer",)


def test_a_function_is_one_scorer():
    def score(sample, output):
        return 1.0

    assert Task("t", scorers=score).scorers == (score,)
    assert Task("t").scorers == ()
