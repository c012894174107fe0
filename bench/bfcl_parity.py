"""BFCL through assay against bfcl-eval's own runner: the same verdict for each answer, the same accuracies.

    python bench/bfcl_parity.py answers FOLDER [--models 7]     in assay's environment, with bfcl-eval installed
    python bench/bfcl_parity.py truths                          likewise
    python bench/bfcl_parity.py run FOLDER                      likewise, with mpmath and bfcl-eval's tree_sitter
    VENV/bin/python bench/bfcl_parity.py official FOLDER        in an environment with bfcl-eval, pandas and tree_sitter

`answers` makes up answers by changing right ones, writes them as result files of bfcl-eval, and judges them with
assay's scorer. `truths` judges the right calls of all samples with several turns, and a model that does nothing. `run`
records a whole run of the suite `bfcl` with a scripted model, whose overall score is compared, too. `official` runs
bfcl-eval's `eval_runner` on those files, with its own list of models and handlers, and compares. SDKs of model
services that are not installed are replaced by mocks, because no model is asked.
"""

import argparse
import ast
import csv
import importlib.abc
import importlib.machinery
import json
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

FC_MODEL, PROMPT_MODEL = "gpt-4o-2024-11-20-FC", "gpt-4o-2024-11-20"
"""Models of bfcl-eval's list, one for each mode: their handlers read the results."""
SDKS = {
    "anthropic", "boto3", "botocore", "bs4", "cohere", "datamodel_code_generator", "faiss", "google", "html2text",
    "httpx", "huggingface_hub", "mistralai", "networkx", "openai", "pydantic", "qwen_agent", "rank_bm25", "requests",
    "sentence_transformers", "serpapi", "tabulate", "transformers", "typer", "writerai",
}  # fmt: skip
"""What the handlers of bfcl-eval import to reach models."""
TEXT = "None of the functions can answer that."


def first_values(accepted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    [(name, arguments)] = accepted.items()
    values = {k: v[0] for k, v in arguments.items() if v and v[0] != ""}
    return name, {key: unwrapped(value) for key, value in values.items()}


def unwrapped(value: Any) -> Any:
    """Return an accepted value; the members of an accepted dictionary are lists of values."""
    if not isinstance(value, dict):
        return value
    return {
        key: inner[0] if isinstance(inner, list) and inner else inner
        for key, inner in value.items()
    }


def changed(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return draw.choice((not value, str(value), int(value)))
    if isinstance(value, (int, float)):
        return draw.choice((value + 1, str(value), float(value), [value], -value))
    if isinstance(value, str):
        ways = (value.upper(), f"{value}.", value[:-1], f" {value}", "", 7)
        return draw.choice(ways)
    if isinstance(value, list):
        return draw.choice((value[::-1], value[1:], [*value, 1], str(value), {}))
    return draw.choice((None, [], {}, {"a": 1}, str(value)))


Call = tuple[str, dict[str, Any]]


def mutated(calls: Sequence[Call], draw: random.Random) -> list[Call]:
    """Return calls with one change, or none."""
    calls = [(name, dict(arguments)) for name, arguments in calls]
    way = draw.randrange(10)
    position = draw.randrange(len(calls)) if calls else 0
    if not calls or way <= 2:
        return calls
    name, arguments = calls[position]
    keys = list(arguments)
    if way in (3, 4, 5) and keys:
        key = draw.choice(keys)
        arguments[key] = changed(arguments[key], draw)
    elif way == 6 and keys:
        del arguments[draw.choice(keys)]
    elif way == 7:
        arguments["unasked"] = 1
    elif way == 8:
        calls[position] = (f"{name}_x", arguments)
    else:
        calls = draw.choice((calls[:-1], [*calls, calls[0]], calls[::-1]))
    return calls


def spoken(calls: Sequence[Call]) -> str:
    """Return calls as the text that mode `prompt` asks for."""
    written = []
    for name, arguments in calls:
        values = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        written.append(f"{name}({values})")
    return f"[{', '.join(written)}]"


def answers(folder: Path, models: int) -> None:
    from assay.benchmarks.bfcl_tasks import TASKS
    from assay.core import Candidate, Output, Text
    from assay.core.tools import ToolCall, read_arguments

    count, seconds = 0, 0.0
    for number in range(models):
        mode = "prompt" if number % 3 == 2 else "fc"
        model = PROMPT_MODEL if mode == "prompt" else FC_MODEL
        verdicts: dict[str, bool] = {}
        for name, task in TASKS.items():
            rows = task.dataset
            is_single = hasattr(rows, "category") and rows.mode == mode
            if not is_single or "multi_turn" in name:
                continue
            if mode == "prompt" and rows.category.startswith("simple_java"):
                continue
            lines = []
            for sample in rows():
                draw = random.Random(f"{number} {sample.id}")
                truth = sample["ground_truth"]
                calls = [first_values(accepted) for accepted in truth or ()]
                if truth is None and draw.random() < 0.5:
                    calls = [("f", {"x": 1})]
                calls = mutated(calls, draw)
                is_text = not calls or draw.random() < 0.05
                if mode == "prompt":
                    result: Any = TEXT if is_text else spoken(calls)
                    parts: list[Any] = [Text(result)]
                elif is_text:
                    result, parts = TEXT, [Text(TEXT)]
                else:
                    result, parts = [], []
                    for call_name, arguments in calls:
                        sent_name = call_name.replace(".", "_")
                        written = json.dumps(arguments)
                        if draw.random() < 0.03:
                            written = written[:-1]
                        result.append({sent_name: written})
                        parts.append(ToolCall("", sent_name, read_arguments(written)))
                output = Output((Candidate(tuple(parts)),))
                started = time.process_time()
                score = task.scorers[0](sample, output)
                seconds += time.process_time() - started
                count += 1
                verdicts[sample.id] = score.value == 1.0
                lines.append(json.dumps({"id": sample.id, "result": result}))
            group = "live" if "live" in rows.category else "non_live"
            where = folder / f"m{number}" / "result" / model / group
            where.mkdir(parents=True, exist_ok=True)
            file = where / f"BFCL_v4_{rows.category}_result.json"
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        summary = folder / f"m{number}" / "assay.json"
        summary.write_text(json.dumps(verdicts), encoding="utf-8")
    print(f"{count} verdicts, {seconds / count * 1e6:.0f} µs of CPU each")


def plain_call(text: str, entry: Mapping[str, Any]) -> Call:
    """Return a right call, which is Python text such as `cd('a')`, with its arguments by name."""
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    name = ast.unparse(node.func)
    functions = list(entry["function"])
    for late in entry.get("missed_function", {}).values():
        functions += late
    [parameters] = [f["parameters"] for f in functions if f["name"] == name]
    names = list(parameters["properties"])
    arguments = {
        key: ast.literal_eval(value)
        for key, value in zip(names, node.args, strict=False)
    }
    for keyword in node.keywords:
        assert keyword.arg is not None
        arguments[keyword.arg] = ast.literal_eval(keyword.value)
    return name, arguments


def truths() -> None:
    """Judge the right calls of all samples with several turns, and a model that does nothing."""
    from assay.benchmarks.bfcl_multi_turn import CATEGORIES, MultiTurnRows, bfcl_turns
    from assay.core import Candidate, Output, Round, Text
    from assay.core.tools import ToolCall

    right = idle = total = 0
    seconds = 0.0
    for category in CATEGORIES:
        for sample in MultiTurnRows(category)():
            silent = Output((Candidate((Text("Hello."),)),))
            answers, nothing = [], []
            for calls in sample["ground_truth"]:
                parts = []
                for text in calls:
                    parts.append(ToolCall("", *plain_call(text, sample["entry"])))
                if parts:
                    answers.append(Output((Candidate(tuple(parts)),)))
                answers.append(silent)
                nothing.append(silent)
            started = time.process_time()
            for outputs in (answers, nothing):
                rounds = tuple(Round((), output) for output in outputs)
                whole = Output(silent.candidates, rounds=rounds)
                value = bfcl_turns(sample, whole).value
                if outputs is answers:
                    right += value == 1.0
                else:
                    idle += value == 1.0
            seconds += time.process_time() - started
            total += 1
    print(
        f"several turns: {right} of {total} right answers are valid, {idle} of {total} of a model that does nothing;"
        f" {seconds / total / 2 * 1e3:.2f} ms of CPU a verdict"
    )


class Recorded:
    """A scripted model for the whole suite: changed calls for one turn, right ones, none or some for several."""

    def __init__(self) -> None:
        from assay.benchmarks.bfcl_tasks import SUITES

        self.samples: dict[str, Any] = {}
        self.said: dict[str, list[Any]] = {}
        """By sample: what it answered, as bfcl-eval writes it."""
        for task in SUITES["bfcl"].tasks:
            for sample in task.dataset():
                self.samples[sample.id] = sample

    def __call__(self, request: Any) -> Any:
        sample = self.samples[request.id]
        draw = random.Random(f"run {sample.id}")
        if "multi_turn" in sample.id:
            return self.next_step(request, sample, draw)
        truth = sample["ground_truth"]
        calls = [first_values(accepted) for accepted in truth or ()]
        if truth is None and draw.random() < 0.3:
            calls = [("f", {"x": 1})]
        return self.say(sample.id, mutated(calls, draw))

    def next_step(self, request: Any, sample: Any, draw: random.Random) -> Any:
        """Make the calls of a turn in one answer, then end it with words."""
        messages = [m for m in request.messages if m.parts is not None]
        turn = sum(m.role == "user" for m in messages) - 1
        is_over = messages[-1].role == "tool"
        right = sample["ground_truth"][turn]
        calls = [plain_call(text, sample["entry"]) for text in right]
        kind = draw.randrange(4)
        if kind == 0:
            calls = []
        elif kind == 1 and turn == 0:
            calls = mutated(calls, draw)
        return self.say(sample.id, [] if is_over else calls, turn)

    def say(
        self, sample_id: str, calls: Sequence[Call], turn: int | None = None
    ) -> Any:
        """Return an answer, and remember it as bfcl-eval writes it."""
        plain = [(name.replace(".", "_"), arguments) for name, arguments in calls]
        result: Any = [{name: json.dumps(arguments)} for name, arguments in plain]
        if turn is None:
            self.said[sample_id] = result or TEXT
        else:
            turns = self.said.setdefault(sample_id, [])
            while len(turns) <= turn:
                turns.append([])
            turns[turn].append(result or TEXT)
        entries = [{"name": name, "arguments": arguments} for name, arguments in plain]
        return {"calls": entries} if entries else TEXT


def run_suite(folder: Path) -> None:
    """Run the suite through assay, and write what the model said as result files of bfcl-eval."""
    import assay
    from assay.benchmarks.bfcl_tasks import SUITES
    from assay.models.scripted import Scripted
    from assay.store import RunReader

    model = Recorded()
    output = folder / "run"
    done = assay.run(
        "bfcl", model=Scripted(model), output_path=str(output), floors="off"
    )
    reader = RunReader(output)
    verdicts: dict[str, bool] = {}
    for task in SUITES["bfcl"].tasks:
        [[name, model_name]] = [c for c in reader.index.cells if c[0] == task.name]
        metric = "bfcl_turns" if "multi_turn" in name else "bfcl"
        for score in reader.scores(name, model_name, metric):
            verdicts[score.id] = score.values[metric] == 1.0
        category = task.dataset.category
        group = "live" if "live" in category else "non_live"
        group = "multi_turn" if "multi_turn" in category else group
        where = folder / "m100" / "result" / FC_MODEL / group
        where.mkdir(parents=True, exist_ok=True)
        lines = []
        for sample in task.dataset():
            entry = {"id": sample.id, "result": model.said[sample.id]}
            lines.append(json.dumps(entry) + "\n")
        file = where / f"BFCL_v4_{category}_result.json"
        file.write_text("".join(lines), encoding="utf-8")
    [overall] = [row for row in done.results if row.metric == "overall"]
    summary = folder / "m100" / "assay.json"
    summary.write_text(json.dumps({"": overall.value, **verdicts}), encoding="utf-8")
    print(f"assay: {len(verdicts)} verdicts, overall score {overall.value:.4%}")


class MockFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a mock for every SDK that is not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] not in SDKS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        module = MagicMock(name=spec.name)
        module.__spec__ = spec
        module.__path__ = []
        module.__all__ = []
        return module

    def exec_module(self, module: Any) -> None:
        pass


def official(folder: Path) -> None:
    import os

    os.environ["BFCL_PROJECT_ROOT"] = str(folder.resolve())
    sys.meta_path.append(MockFinder())
    from bfcl_eval.eval_checker import eval_runner
    from bfcl_eval.utils import extract_test_category, load_file

    total, differences = 0, []
    for model_folder in sorted(folder.glob("m[0-9]*")):
        verdicts = json.loads((model_folder / "assay.json").read_text())
        overall = verdicts.pop("", None)
        results = sorted((model_folder / "result").rglob("*_result.json"))
        categories = [extract_test_category(file) for file in results]
        name = results[0].parents[1].name
        score_folder = model_folder / "score"
        eval_runner.main(
            [name],
            categories,
            (model_folder / "result").resolve(),
            score_folder.resolve(),
        )
        theirs: dict[str, bool] = {}
        for file in results:
            for line in load_file(file, use_lock=False):
                theirs[line["id"]] = True
        accuracies = {}
        for file in score_folder.rglob("*_score.json"):
            header, *failed = load_file(file, use_lock=False)
            accuracies[extract_test_category(file)] = header["accuracy"]
            for entry in failed:
                theirs[entry["id"]] = False
        assert theirs.keys() == verdicts.keys()
        total += len(theirs)
        for sample_id, is_right in theirs.items():
            if verdicts[sample_id] != is_right:
                differences.append((model_folder.name, sample_id, is_right))
        share = sum(verdicts.values()) / len(verdicts)
        print(f"{model_folder.name} {name}: {len(theirs)} verdicts, {share:.3f} right")
        if overall is not None:
            [row] = csv.DictReader((score_folder / "data_overall.csv").open())
            print(f"overall: assay {overall:.2%}, bfcl-eval {row['Overall Acc']}")
            if f"{overall:.2%}" != row["Overall Acc"]:
                differences.append((model_folder.name, "overall", row["Overall Acc"]))
    print(f"{total} verdicts, {len(differences)} differ")
    if differences:
        sys.exit("\n".join(map(str, differences[:40])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("answers", "truths", "run", "official"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("--models", type=int, default=7)
    arguments = parser.parse_args()
    if arguments.step == "answers":
        answers(arguments.folder, arguments.models)
    elif arguments.step == "truths":
        truths()
    elif arguments.step == "run":
        run_suite(arguments.folder)
    else:
        official(arguments.folder)


if __name__ == "__main__":
    main()
