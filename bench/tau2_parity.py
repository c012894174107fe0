"""τ² through assay and through inspect_evals, with the same scripted agent and customer.

    VENV/bin/python bench/tau2_parity.py [--domains airline,retail,telecom] [--agents nothing,truth,…] [--limit N]

Compares for each task: the messages that agent and customer read, the tools they are offered, the databases at the end,
and the reward. The agent `nothing` says "Hello." to a customer who then leaves, `truth` makes the right calls, `wrong`
makes them with mistakes. With `gone` the customer leaves at once: assay then asks the agent for one answer, which
counts for nothing, and inspect_evals asks for none. The environment needs assay, inspect_ai and inspect_evals.
"""

import argparse
import hashlib
import importlib
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

counter = itertools.count()
DOMAINS = ("airline", "retail", "telecom")
AGENTS = ("nothing", "truth", "wrong", "gone")
OPENERS = {
    "airline": ("airline.AirlineAgentTools", "get_airline_tools"),
    "retail": ("retail.tools", "get_retail_tools"),
    "telecom": ("telecom.environment", "get_environment"),
}
"""Module and function that open the databases of a domain in the current store."""
Call = tuple[str, Any]
"""Name and arguments; arguments that are a text are sent as they are, to be parsed."""
Answer = tuple[str, list[Call]]


@dataclass
class Script:
    """What agent and customer of one task do: for each exchange, the calls of both, and what the agent then says."""

    exchanges: list[tuple[list[Call], list[Call]]]
    words: str

    def customer(self, said: int, results: int) -> Answer:
        """Return what the customer does after so many answers of the agent and results of calls."""
        if said >= len(self.exchanges):
            return "###STOP###", []
        calls = self.exchanges[said][0]
        if results < len(calls):
            return "", [calls[results]]
        return f"Message {said}.", []

    def agent(self, heard: int, results: int) -> Answer:
        """Return what the agent does after so many messages of the customer and results of calls."""
        calls = self.exchanges[heard - 1][1] if heard <= len(self.exchanges) else []
        if results < len(calls):
            return "", [calls[results]]
        return self.words, []


def script_of(kind: str, task: Any) -> Script:
    """Return the script of an agent for a task of the package."""
    if kind == "gone":
        return Script([], "Hello.")
    if kind == "nothing":
        return Script([([], [])], "Hello.")
    criteria = task.evaluation_criteria
    draw = random.Random(f"{task.id}")
    exchanges: list[tuple[list[Call], list[Call]]] = [([], [])]
    for action in criteria.actions or ():
        call: Call = (action.name, dict(action.arguments))
        if kind == "wrong":
            call = mistaken(call, draw)
        if action.requestor == "user":
            if exchanges[-1][1]:
                exchanges.append(([], []))
            exchanges[-1][0].append(call)
        else:
            exchanges[-1][1].append(call)
    words = "; ".join(["Done", *(criteria.communicate_info or ())])
    return Script(exchanges, words)


def mistaken(call: Call, draw: random.Random) -> Call:
    """Return a call with a mistake, or without one."""
    name, arguments = call
    way = draw.randrange(8)
    keys = sorted(arguments)
    if way == 0:
        return f"{name}_x", arguments
    if way == 1:
        return name, json.dumps(arguments)[:-1]
    if way == 2:
        return name, {**arguments, "unasked": 1}
    if not keys or way >= 6:
        return call
    key = draw.choice(keys)
    if way == 3:
        del arguments[key]
    elif way == 4:
        arguments[key] = 7
    elif isinstance(arguments[key], str):
        arguments[key] += "x"
    return name, arguments


@dataclass
class Side:
    """What one of the two systems did, by sample."""

    messages: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    """By role and sample (agent) or system message (customer): the whole conversation."""
    databases: dict[str, str] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)
    """By role: the tools as they were offered."""
    cpu_seconds: float = 0.0


class Scripts:
    """The scripts of a domain: the agent's by sample, the customer's by its system message."""

    def __init__(self, kind: str, samples: Sequence[Any]) -> None:
        self.by_id: dict[str, Script] = {}
        self.by_system: dict[str, Script] = {}
        task_kind = importlib.import_module("inspect_evals.tau2.data_model.tasks").Task
        for sample in samples:
            task = task_kind.model_validate(sample.metadata["task"])
            script = script_of(kind, task)
            self.by_id[str(sample.id)] = script
            self.by_system.setdefault(sample.input[0].text, script)

    def answer(self, role: str, sample_id: str, plain: Sequence[Any]) -> Answer:
        """Return the next answer of a role. `plain` are the messages: role, text, calls."""
        others = [number for number, m in enumerate(plain) if m[0] == "user"]
        last = others[-1]
        results = sum(m[0] == "tool" for m in plain[last:])
        if role == "agent":
            return self.by_id[sample_id].agent(len(others), results)
        said = len(others) - 1
        return self.by_system[plain[0][1]].customer(said, results)


def remember(
    side: Side, role: str, sample_id: str, plain: list[Any], answer: Answer
) -> None:
    """Keep the conversation of a role up to its newest answer."""
    key = sample_id if role == "agent" else plain[0][1]
    words, calls = answer
    names = [[name, arguments] for name, arguments in calls]
    side.messages[role, key] = [*plain, ["assistant", words, names]]


def digest(databases: Mapping[str, Any]) -> str:
    """Return a digest of databases by name."""
    text = json.dumps(databases, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain_databases(store: Any) -> dict[str, Any]:
    """Return the databases in a store of inspect_ai as plain data."""
    databases: dict[str, Any] = {}
    names = store.keys()
    for key in names:
        if not key.endswith(":db"):
            continue
        database = store.get(key)
        databases[key] = {
            name: plain_value(getattr(database, name))
            for name in type(database).model_fields
        }
    return databases


def plain_value(value: Any) -> Any:
    """Return a member of a database as plain data."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: plain_value(dict.__getitem__(value, key)) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain_value(member) for member in value]
    return value


def mark_customers() -> None:
    """Add the id of each sample to its customer's system message, by which the scripts know whose customer asks."""
    package = importlib.import_module("inspect_evals.tau2.tau2")
    for domain in DOMAINS:
        module = importlib.import_module(f"inspect_evals.tau2.{domain}.dataset")
        marked = with_marks(module.read_dataset)
        module.read_dataset = marked
        setattr(package, f"read_{domain}_dataset", marked)


def with_marks(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reader of samples whose customers are marked with the sample's id."""

    def read_marked(*values: Any, **options: Any) -> Any:
        dataset = read(*values, **options)
        for sample in dataset:
            system = sample.input[0]
            system.content = f"{system.content}[{sample.id}]"
        return dataset

    return read_marked


def open_databases(domain: str) -> None:
    """Open the databases of a domain in the current store, as the package's scorer does."""
    module, function = OPENERS[domain]
    getattr(importlib.import_module(f"inspect_evals.tau2.{module}"), function)()


def leave_out_changes() -> None:
    """Let inspect_ai write no changes of stores into its log, which take most of its time and change nothing."""
    for name in ("inspect_ai.log._transcript", "inspect_ai.solver._transcript"):
        module = importlib.import_module(name)
        for function in ("store_jsonable", "state_jsonable"):
            if hasattr(module, function):
                setattr(module, function, lambda *values: {})


def through_inspect(domain: str, scripts: Scripts, limit: int | None) -> Side:
    """Run the package's own task with the scripts."""
    from inspect_ai import eval as inspect_eval
    from inspect_ai import task_with
    from inspect_ai.log._samples import sample_active
    from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi
    from inspect_ai.model._call_tools import parse_tool_call
    from inspect_ai.scorer import accuracy, scorer
    from inspect_ai.util import store

    side = Side()

    def plain_of(message: Any) -> list[Any]:
        text = message.text
        if message.role == "tool" and message.error is not None:
            text = message.error.message
        calls = [
            [call.function, call.arguments]
            for call in getattr(message, "tool_calls", None) or ()
        ]
        return [message.role, text, calls]

    def called(call: Call, tools: Any) -> Any:
        name, arguments = call
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return parse_tool_call(f"c{random.random()}", name, text, tools)

    # inspect_ai keeps models by name, so each run has a provider of its own.
    provider = f"script{next(counter)}"

    @modelapi(name=provider)
    class Scripted(ModelAPI):
        async def generate(
            self, input: Any, tools: Any, tool_choice: Any, config: Any
        ) -> Any:
            role = self.model_name
            sample_id = str(sample_active().sample.id)
            plain = [plain_of(message) for message in input]
            words, calls = scripts.answer(role, sample_id, plain)
            remember(side, role, sample_id, plain, (words, calls))
            side.tools[role] = sorted(
                [t.name, t.description, t.parameters.model_dump(exclude_none=True)]
                for t in tools
            )
            output = ModelOutput.from_content("script", words)
            if calls:
                message = output.choices[0].message
                message.tool_calls = [called(call, tools) for call in calls]
                output.choices[0].stop_reason = "tool_calls"
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

    @scorer(metrics=[accuracy()])
    def watched(inner: Any) -> Any:
        async def score(state: Any, target: Any) -> Any:
            sample_id = str(state.sample_id)
            open_databases(domain)
            side.databases[sample_id] = digest(plain_databases(store()))
            result = await inner(state, target)
            side.rewards[sample_id] = float(result.value == "C")
            return result

        return score

    part = importlib.import_module(f"inspect_evals.tau2.{domain}.scorer")
    package = importlib.import_module("inspect_evals.tau2")
    task = getattr(package, f"tau2_{domain}")(shuffle=False)
    inner = getattr(part, f"{domain}_scorer")()
    task = task_with(task, scorer=watched(inner))
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        [log] = inspect_eval(
            task,
            model=f"{provider}/agent",
            model_roles={"user": f"{provider}/customer"},
            limit=limit,
            log_dir=folder,
            log_samples=False,
            log_model_api=False,
            display="none",
            max_samples=4,
        )
    side.cpu_seconds = time.process_time() - started
    if log.status != "success":
        raise SystemExit(f"inspect_ai: {log.error}")
    return side


def through_assay(domain: str, scripts: Scripts, limit: int | None) -> Side:
    """Run assay's task with the scripts."""
    import assay
    from assay.benchmarks import tau2_tasks
    from assay.core import Request
    from assay.core.tools import ToolCall, ToolResult
    from assay.registry import models

    side = Side()

    def plain_of(message: Any) -> list[Any]:
        text = message.text
        for part in message.parts:
            if isinstance(part, ToolResult):
                text = "".join(piece.text for piece in part.parts)
        calls = []
        for call in message.calls:
            # inspect_ai keeps no arguments that it cannot parse.
            readable = not isinstance(call.arguments, str)
            calls.append([call.name, call.arguments if readable else {}])
        return [message.role, text, calls]

    def answering(role: str) -> Callable[[Any], Any]:
        def answer(request: Request) -> Any:
            messages = [m for m in request.messages if m.parts is not None]
            plain = [plain_of(message) for message in messages]
            words, calls = scripts.answer(role, request.id, plain)
            remember(side, role, request.id, plain, (words, calls))
            side.tools[role] = sorted(
                [tool.name, tool.description, dict(tool.parameters)]
                for tool in request.prompt.tools
            )
            if not calls:
                return words
            [(name, arguments)] = calls
            return ToolCall("", name, arguments)

        return answer

    async def watched(sample: Any, output: Any) -> Any:
        output.state.store.use()
        open_databases(domain)
        databases = plain_databases(output.state.store.store)
        side.databases[sample.id] = digest(databases)
        score = await tau2_tasks.tau2(sample, output)
        side.rewards[sample.id] = score.value
        return score

    name = f"customer-{random.random()}"
    models.register(name)(answering("customer"))
    task = replace(getattr(tau2_tasks, f"tau2_{domain}"), scorers=(watched,))
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        done = assay.run(
            task,
            model=answering("agent"),
            judges={"user": name},
            floors="off",
            limit=limit,
            output_path=str(Path(folder) / "run"),
        )
    side.cpu_seconds = time.process_time() - started
    if done.results[0].value is None:
        raise SystemExit(f"assay: {done.results[0].outcomes} {done.notes}")
    return side


def differences(theirs: Side, ours: Side) -> list[str]:
    """Return what differs, in words."""
    lines = []
    for kind in ("rewards", "databases", "messages", "tools"):
        left, right = getattr(theirs, kind), getattr(ours, kind)
        for key in [*left, *(key for key in right if key not in left)]:
            first, second = left.get(key), right.get(key)
            if json.dumps(first, default=str) == json.dumps(second, default=str):
                continue
            if isinstance(first, list) and isinstance(second, list):
                first, second = first_difference(first, second)
            shown = str(key)[-60:]
            lines.append(
                f"{kind} {shown}: inspect {first!s:.400} assay {second!s:.400}"
            )
    return lines


def first_difference(left: list[Any], right: list[Any]) -> tuple[Any, Any]:
    """Return the first members of two lists that differ."""
    for first, second in zip(left, right, strict=False):
        if json.dumps(first) != json.dumps(second):
            return first, second
    return left[len(right) :] or "(shorter)", right[len(left) :] or "(shorter)"


def compare(domain: str, kind: str, limit: int | None) -> int:
    """Run both, print a line, and return how many differences there are."""
    dataset = importlib.import_module(f"inspect_evals.tau2.{domain}.dataset")
    samples = list(dataset.read_dataset("Agent"))
    scripts = Scripts(kind, samples)
    ours = through_assay(domain, scripts, limit)
    theirs = through_inspect(domain, scripts, limit)
    count = len(theirs.rewards)
    if kind == "gone":
        ours.messages = {
            key: m for key, m in ours.messages.items() if key[0] != "agent"
        }
        ours.tools.pop("agent", None)
    lines = differences(theirs, ours)
    reward = sum(theirs.rewards.values()) / count
    messages = sum(len(talk) for talk in theirs.messages.values())
    print(
        f"{domain} {kind}: {count} tasks, reward {reward:.4f}, {messages} messages, {len(lines)} differences;"
        f" CPU per task: assay {ours.cpu_seconds / count:.3f} s, inspect {theirs.cpu_seconds / count:.3f} s",
        flush=True,
    )
    for line in lines[:10]:
        print("  ", line, flush=True)
    return len(lines)


def main() -> None:
    """Compare domains and agents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", default=",".join(DOMAINS))
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--limit", type=int)
    parser.add_argument(
        "--without_log",
        action="store_true",
        help="inspect_ai logs no changes of stores; its CPU is then not comparable",
    )
    given = parser.parse_args()
    mark_customers()
    if given.without_log:
        leave_out_changes()
    total = 0
    for domain in given.domains.split(","):
        for kind in given.agents.split(","):
            total += compare(domain, kind, given.limit)
    if total:
        sys.exit(f"{total} differences")


if __name__ == "__main__":
    os.environ.setdefault("INSPECT_LOG_LEVEL", "error")
    main()
