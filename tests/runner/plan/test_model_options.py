"""Options of models where a run has several: each goes to the models that have it."""

import pytest

from assay.core import AssayError
from assay.runner.options import RunOptions
from assay.runner.plan.planning import make_plan


@pytest.fixture
def options(tmp_path, monkeypatch):
    (tmp_path / "rows.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    (tmp_path / "plain.py").write_text("def generate(messages):\n    return 'a'\n")
    (tmp_path / "loud.py").write_text(
        "def generate(messages, volume=1):\n    return 'a' * volume\n"
    )
    monkeypatch.chdir(tmp_path)
    return RunOptions(tasks=("rows.jsonl",), models=("plain.py", "loud.py"))


def test_an_option_goes_to_the_model_that_has_it(options):
    plain, loud = make_plan(options.but(model_args={"volume": 3}))

    assert "options" not in plain.model.identity
    assert plain.model.written == {} and loud.model.written == {"volume": 3}


def test_an_option_that_no_model_has_is_refused_by_all(options):
    with pytest.raises(AssayError) as refused:
        make_plan(options.but(model_args={"volune": 3, "volume": 2}))

    lines = str(refused.value).split("\n")
    assert ["plain.py" in line for line in lines] == [True, False]
    assert (
        all("has no option 'volune'" in line for line in lines)
        and "did you mean 'volume'?" in lines[1]
    )


def test_a_single_model_must_have_every_option(options):
    with pytest.raises(
        AssayError, match=r"model 'plain\.py:generate' has no option 'volume'"
    ):
        make_plan(options.but(models=("plain.py",), model_args={"volume": 3}))
