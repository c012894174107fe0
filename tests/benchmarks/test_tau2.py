"""τ² with the data, tools and scorers of the installed inspect_evals package."""

import asyncio
from importlib.util import find_spec

import pytest

import assay
from assay.benchmarks import tau2_package
from assay.comparison.gate import judge_run
from assay.comparison.policy import read_policy
from assay.core import UsageError
from assay.core.tools import Tool, ToolCall
from assay.models.scripted import Scripted
from assay.report import plain_table

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


@needs_tau2
def test_calls_after_the_customer_has_left_count_for_nothing(tmp_path):
    (tmp_path / "user.py").write_text("def user(messages):\n    return '###STOP###'\n")
    arguments = {"reservation_id": "EHGLP3", "reason": "other"}
    call = {"name": "cancel_reservation", "arguments": arguments}

    done = assay.run(
        "tau2_airline",
        model=Scripted(lambda request: {"calls": [call]}),
        judges={"user": f"{tmp_path}/user.py:user"},
        limit=1,
        floors="off",
        output_path=str(tmp_path / "run"),
    )

    assert done.results[0].value == 1.0, "in the first task, refusing is right"
    [record] = assay.RunReader(tmp_path / "run").outputs("tau2_airline")
    assert record.round == 0


@needs_tau2
@pytest.mark.parametrize(
    ("arguments", "begin", "error"),
    [
        (
            '{"expression": "1 +',
            "Error parsing the following tool call",
            "bad_arguments",
        ),
        ({"unasked": 1}, "Found 2 validation errors", "bad_arguments"),
        ({"expression": "2 * 3"}, "6", ""),
        ("2 * 3", "6", ""),
    ],
)
def test_calls_are_answered_in_the_words_of_inspect(arguments, begin, error):
    tools = tau2_package.agent_tools("airline")
    call = ToolCall("c1", "calculate", arguments)

    words, kind = asyncio.run(tau2_package.run_call(tools, call))

    assert words.startswith(begin) and kind == error


@needs_tau2
def test_a_long_result_is_cut_as_inspect_cuts_it():
    from inspect_ai.tool import tool

    @tool
    def talk():
        async def execute() -> str:
            """Say much."""
            return "x" * 100_000

        return execute

    tools = {"talk": tau2_package.PackageTool(Tool("talk", "", {}), talk())}

    words, _ = asyncio.run(tau2_package.run_call(tools, ToolCall("c1", "talk", {})))

    assert "too long to be displayed" in words
    assert len(words) < tau2_package.LONGEST_RESULT + 300


@needs_tau2
@pytest.mark.costly
def test_the_table_shows_the_floor_of_airline_and_a_gate_asks_for_a_distance(tmp_path):
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    policy = tmp_path / "policy.yaml"
    policy.write_text("min_above_floor: 0.1\n")

    done = assay.run(
        "tau2_airline",
        model="scripted",
        model_args={"answers": "Nothing can be done."},
        judges={"user": f"{tmp_path}/user.py:user"},
        output_path=str(tmp_path / "run"),
    )

    [row] = done.results
    assert row.details["floor"]["value"] == pytest.approx(0.38)
    assert row.flags == ("not above the floor",)
    assert "0.380 (null)" in plain_table(done.results)
    assert judge_run(read_policy(policy), done.folder).decision == "fail"
