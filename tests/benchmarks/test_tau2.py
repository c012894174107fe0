"""τ² with the data, tools and scorers of the installed inspect_evals package."""

from importlib.util import find_spec

import pytest

import assay
from assay.benchmarks import tau2_package
from assay.core import UsageError

needs_tau2 = pytest.mark.skipif(
    any(find_spec(name) is None for name in tau2_package.PIP.split()),
    reason=f"pip install {tau2_package.PIP}",
)
USER = """
def user(messages):
    said = [m for m in messages if m["role"] == "assistant"]
    return "###STOP###" if said else "Hello."
"""


def test_missing_package_is_named_before_work(tmp_path, monkeypatch):
    monkeypatch.setattr(tau2_package.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(UsageError, match="pip install inspect_ai inspect_evals"):
        assay.run(
            "tau2_airline",
            model="scripted",
            judges={"user": "scripted"},
            output_path=str(tmp_path / "run"),
        )


@needs_tau2
@pytest.mark.costly
def test_agent_that_does_nothing_gets_the_known_floor(tmp_path):
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")

    done = assay.run(
        "tau2_airline",
        model="scripted",
        model_args={"answers": "Hello."},
        judges={"user": f"{tmp_path}/user.py:user"},
        floors="off",
        output_path=str(tmp_path / "run"),
    )

    assert done.results[0].value == pytest.approx(0.38)


@needs_tau2
def test_a_database_is_copied_where_it_is_read_by_key():
    first = tau2_package.fresh_database("retail")
    second = tau2_package.fresh_database("retail")
    key = next(iter(first.users))

    first.users[key].email = "other@example.com"

    assert not tau2_package.same_databases(first, second)
    assert tau2_package.same_databases(second, tau2_package.fresh_database("retail"))
