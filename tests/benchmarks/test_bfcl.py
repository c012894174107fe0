"""BFCL: data and checkers of the installed bfcl-eval package, asked and judged by assay."""

import ast
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

import assay
from assay.benchmarks import bfcl_multi_turn, bfcl_package, bfcl_tasks
from assay.core import Candidate, Output, Text, UsageError
from assay.core.tools import ToolCall
from assay.models.scripted import Scripted

needs_bfcl = pytest.mark.skipif(
    find_spec("bfcl_eval") is None, reason=f"pip install {bfcl_package.PIP}"
)


def right_calls(sample):
    """Return calls with the first accepted value of each argument."""
    calls = []
    for accepted in sample["ground_truth"]:
        for name, arguments in accepted.items():
            values = {
                key: value[0] for key, value in arguments.items() if value[0] != ""
            }
            calls.append(ToolCall("", name.replace(".", "_"), values))
    return calls


def answer_of(request):
    """Return an answer to the question about the triangle, and none to others."""
    if "triangle" not in request.prompt.messages[-1].text:
        return "I do not know."
    arguments = {"base": 10, "height": 5, "unit": "units"}
    return {"calls": [{"name": request.prompt.tools[0].name, "arguments": arguments}]}


def score_of(task, sample, *parts):
    [scorer] = task.scorers
    return scorer(sample, Output((Candidate(parts),)))


@needs_bfcl
def test_run_sends_the_functions_as_tools_and_judges_the_calls(tmp_path):

    model = Scripted(answer_of)

    done = assay.run(
        "bfcl_simple", model=model, limit=2, output_path=str(tmp_path / "run")
    )

    [result] = done.results
    assert (result.metric, result.protocol) == ("bfcl", "bfcl_simple@fc")
    assert (result.value, result.outcomes) == (0.5, {"scored": 1, "unparsed": 1})
    [tool] = model.calls[0].prompt.tools
    assert tool.parameters["properties"]["base"]["type"] == "integer"


@needs_bfcl
def test_functions_are_named_without_dots_and_checked_so():
    task = bfcl_tasks.TASKS["bfcl_simple"]
    sample = next(s for s in task.dataset() if "." in s["function"][0]["name"])

    [tool] = sample.tools

    assert tool.name == sample["function"][0]["name"].replace(".", "_")
    assert score_of(task, sample, *right_calls(sample)).value == 1.0


@needs_bfcl
@pytest.mark.parametrize(
    ("name", "without", "with_call"),
    [("bfcl_live_irrelevance", 1.0, 0.0), ("bfcl_live_relevance", 0.0, 1.0)],
)
def test_relevance_asks_only_whether_a_function_was_called(name, without, with_call):
    task = bfcl_tasks.TASKS[name]
    sample = task.dataset()[0]
    call = ToolCall("", "f", {"x": 1})

    assert score_of(task, sample, Text("No function helps.")).value == without
    assert score_of(task, sample, call).value == with_call
    assert score_of(task, sample, ToolCall("", "f", "{x")).value == without


@needs_bfcl
def test_prompt_mode_describes_the_functions_and_reads_text():
    task = bfcl_tasks.TASKS["bfcl_simple_prompt"]
    sample = task.dataset()[0]

    system, user = sample.input

    assert sample.tools == ()
    assert "calculate_triangle_area" in system.text
    assert user.role == "user"
    right = "[calculate_triangle_area(base=10, height=5, unit='units')]"
    assert score_of(task, sample, Text(right)).value == 1.0
    assert score_of(task, sample, Text("50")).outcome == "unparsed"


@needs_bfcl
def test_an_answer_in_prompt_mode_is_never_run_as_python(tmp_path):
    task = bfcl_tasks.TASKS["bfcl_simple_prompt"]
    sample = task.dataset()[0]
    file = tmp_path / "made"
    code = f"__import__('pathlib').Path('{file}').write_text('x')"

    for text in (f"[f(base=1 + {code})]", f"[f(base=lambda: {code})]"):
        assert score_of(task, sample, Text(text)).outcome == "unparsed"

    assert not file.exists()


@needs_bfcl
def test_import_leaves_no_folders_and_no_other_modules():
    import sys

    folder = bfcl_package.load_bfcl().utils.__file__

    assert "filelock" not in sys.modules or hasattr(sys.modules["filelock"], "Timeout")
    assert not (Path(folder).parents[1] / ".file_locks").exists()


@needs_bfcl
@pytest.mark.skipif(
    find_spec("tree_sitter_java") is not None, reason="the parser is installed"
)
def test_java_in_prompt_mode_names_the_missing_parser(tmp_path):
    with pytest.raises(UsageError, match="pip install tree_sitter"):
        assay.run(
            "bfcl_java_prompt", model="scripted", output_path=str(tmp_path / "run")
        )


def test_missing_package_is_named_before_work(tmp_path, monkeypatch):
    monkeypatch.setattr(bfcl_package.importlib.util, "find_spec", lambda name: None)
    bfcl_package.load_bfcl.cache_clear()

    with pytest.raises(UsageError, match="pip install --no-deps bfcl-eval"):
        assay.run("bfcl_simple", model="scripted", output_path=str(tmp_path / "run"))


def test_suite_names_every_category():
    suite = bfcl_tasks.SUITES["bfcl"]

    names = [task.name for task in suite.tasks]

    assert len(names) == len(set(names)) == 17
    assert "bfcl_live_relevance" in names
    assert assay.registry.tasks.get("bfcl") is suite


@pytest.mark.parametrize("mode", ["", "_prompt"])
def test_the_overall_score_weighs_the_categories_as_the_leaderboard_does(mode):
    suite = bfcl_tasks.SUITES[f"bfcl{mode}"]
    sizes = {task.name: 1 for task in suite.tasks}
    sizes[f"bfcl_live_simple{mode}"] = 7

    weights = suite.weights(sizes)

    assert sum(weights.values()) == pytest.approx(0.6)
    assert weights[f"bfcl_java{mode}"] == pytest.approx(0.1 / 12)
    assert weights[f"bfcl_live_simple{mode}"] == pytest.approx(0.1 * 7 / 10)
    assert weights[f"bfcl_irrelevance{mode}"] == pytest.approx(0.05)
    assert weights[f"bfcl_multi_turn_base{mode}"] == pytest.approx(0.075)
    assert f"bfcl_live_relevance{mode}" not in weights


def test_verdict_details_say_what_the_checker_found():
    if find_spec("bfcl_eval") is None:
        pytest.skip(f"pip install {bfcl_package.PIP}")
    task = bfcl_tasks.TASKS["bfcl_simple"]
    sample = task.dataset()[0]
    [call] = right_calls(sample)
    wrong = ToolCall("", call.name, {**call.arguments, "base": 11})

    score = score_of(task, sample, wrong)

    assert score.value == 0.0
    assert score.details["error_type"].startswith("value_error")
    assert json.loads(score.answer) == [{call.name: dict(wrong.arguments)}]


def parsed(text, tools):
    """Return a right call of BFCL's Python text; arguments by position get their names."""
    node = ast.parse(text, mode="eval").body
    values = {k.arg: ast.literal_eval(k.value) for k in node.keywords}
    schema = {tool.name: tool.parameters for tool in tools}.get(node.func.id, {})
    for name, value in zip(schema.get("properties", ()), node.args, strict=False):
        values[name] = ast.literal_eval(value)
    return {"name": node.func.id, "arguments": values}


def knowing(task):
    """Return a model that makes the right calls of each turn in one answer."""
    truths = {sample.id: sample["ground_truth"] for sample in task.dataset()}

    def answer(request):
        messages = request.prompt.messages
        turn = sum(message.role == "user" for message in messages) - 1
        calls = truths[request.id][turn]
        if messages[-1].role != "user" or not calls:
            return "Done."
        return {"calls": [parsed(call, request.prompt.tools) for call in calls]}

    return answer


@needs_bfcl
@pytest.mark.parametrize("part", ["base", "miss_func", "miss_param", "long_context"])
def test_right_calls_in_several_turns_are_valid_and_doing_nothing_is_not(
    tmp_path, part
):
    name = f"bfcl_multi_turn_{part}"
    model = Scripted(knowing(bfcl_tasks.TASKS[name]))

    right = assay.run(name, model=model, limit=3, output_path=str(tmp_path / "right"))
    null = assay.run(name, model="scripted", limit=3, output_path=str(tmp_path / "no"))

    assert (right.results[0].value, null.results[0].value) == (1.0, 0.0)
    assert right.results[0].metric == "bfcl_turns"


@needs_bfcl
def test_functions_held_back_are_offered_in_their_turn():
    task = bfcl_tasks.TASKS["bfcl_multi_turn_miss_func"]
    [tools] = task.tools
    sample = task.dataset()[0]
    [(turn, late)] = sample["entry"]["missed_function"].items()

    before = {tool.name for tool in tools.tools(sample, int(turn) - 1)}
    after = {tool.name for tool in tools.tools(sample, int(turn))}

    assert after - before == {function["name"] for function in late}


@needs_bfcl
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("__import__('os').system", {"command": "true"}),
        ("open", {"file": "made", "mode": "w"}),
        ("cd", {"folder=open('made', 'w')#": 1}),
        ("logarithm", {"value": 2, "base": 10, "precision": 10**9}),
    ],
)
def test_only_plain_calls_of_offered_functions_reach_the_package(name, arguments):
    text = bfcl_multi_turn.call_text(name, arguments)
    names = frozenset({"cd", "logarithm"})

    assert bfcl_multi_turn.plain_or_refused(text, names) == bfcl_multi_turn.REFUSED_CALL


@needs_bfcl
def test_prompt_mode_runs_the_calls_in_the_text(tmp_path):
    name = "bfcl_multi_turn_base_prompt"
    samples = bfcl_tasks.TASKS[name].dataset()
    truths = {sample.id: sample["ground_truth"] for sample in samples}
    [tools] = bfcl_tasks.TASKS["bfcl_multi_turn_base"].tools
    offered = tools.tools(samples[0])

    def answer(request):
        users = [m.text for m in request.prompt.messages if m.role == "user"]
        if users[-1].startswith("[{'role': 'tool'"):
            return "Done."
        turn = sum(not text.startswith("[{'role': 'tool'") for text in users) - 1
        calls = [parsed(call, offered) for call in truths[request.id][turn]]
        texts = [
            bfcl_multi_turn.call_text(call["name"], call["arguments"]) for call in calls
        ]
        return f"[{', '.join(texts)}]"

    sample_id = "multi_turn_base_0"
    done = assay.run(
        name,
        model=Scripted(answer),
        sample_id=sample_id,
        output_path=str(tmp_path / "run"),
    )

    assert done.results[0].value == 1.0
