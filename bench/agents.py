"""Rounds with tools: CPU of a round beside inspect_ai, memory, resuming, and how busy an endpoint is kept.

    python bench/agents.py rounds [--samples 200] [--rounds 20]     beside inspect_ai, if this Python has it
    python bench/agents.py memory [--samples 10000] [--rounds 10]
    python bench/agents.py resume [--samples 10000] [--rounds 10]
    python bench/agents.py latency [--agents 64] [--rounds 10] [--latency 0.2]

The model is scripted: it calls `add` until it has as many results as there are rounds, then answers.
"""

import argparse
import importlib.util
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from measured import ASSAY, cost_of, own_cpu

TASK = '''"""Sums by a tool."""
dataset = [{"id": f"s{n}", "question": f"add {n}", "answer": "done"} for n in range(%d)]
def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y
tools = [add]
limits = {"turns": 1000}
scorers = ["includes"]
'''
MODEL = """
import asyncio
from assay import ToolCall

def answer(request):
    results = sum(1 for m in request.messages if m.role == "tool")
    if results >= %d:
        return "done"
    return ToolCall(f"c{results}", "add", {"x": results, "y": 1})

async def slow(request):
    await asyncio.sleep(%g)
    return answer(request)
"""


class Work:
    """A folder with the task and the model."""

    def __init__(self, samples: int, rounds: int, latency: float = 0.2) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.task = self.folder / "task.py"
        self.task.write_text(TASK % samples)
        (self.folder / "model.py").write_text(MODEL % (rounds, latency))
        self.run = self.folder / "run"

    def command(self, *more: str, model: str = "answer") -> list[str]:
        """Return the command that runs the task."""
        name = f"{self.folder / 'model.py'}:{model}"
        arguments = ["run", str(self.task), "--model", name, "-o", str(self.run)]
        return [*ASSAY, *arguments, "--floors", "off", *more]

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)


def assay_rounds(samples: int, rounds: int) -> float:
    """Return the CPU seconds of a run in this process."""
    import assay

    work = Work(samples, rounds)
    started = own_cpu()
    result = assay.run(
        str(work.task),
        f"{work.folder / 'model.py'}:answer",
        output=str(work.run),
        floors="off",
    )
    seconds = own_cpu() - started
    if result.results[0].value != 1.0:
        raise SystemExit(f"assay: {result.notes}")
    work.remove()
    return seconds


def inspect_rounds(samples: int, rounds: int) -> float:
    """Return the CPU seconds of the same work by inspect_ai in this process."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import tool

    @tool
    def add():  # type: ignore[no-untyped-def]
        async def execute(x: int, y: int) -> int:
            """Add two numbers.

            Args:
                x: The first number.
                y: The second number.
            """
            return x + y

        return execute

    def answer(messages, tools, choice, config):  # type: ignore[no-untyped-def]
        results = sum(1 for message in messages if message.role == "tool")
        if results >= rounds:
            output = ModelOutput.from_content("mockllm/model", "done")
        else:
            call = {"x": results, "y": 1}
            output = ModelOutput.for_tool_call("mockllm/model", "add", call)
        # Without a usage, tokens are counted with a file from the network.
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return output

    task = Task(
        dataset=[Sample(input=f"add {n}", target="done") for n in range(samples)],
        solver=[use_tools([add()]), generate()],
        scorer=includes(),
    )
    folder = tempfile.mkdtemp()
    started = own_cpu()
    [log] = eval(
        task,
        model=get_model("mockllm/model", custom_outputs=answer),
        log_dir=folder,
        display="none",
        max_samples=32,
    )
    seconds = own_cpu() - started
    if log.status != "success":
        raise SystemExit(f"inspect_ai: {str(log.error)[:300]}")
    shutil.rmtree(folder)
    return seconds


def measure_rounds(samples: int, rounds: int, repeats: int) -> None:
    """Print the CPU of a round, and the ratio of neighbouring runs in one process."""
    has_inspect = importlib.util.find_spec("inspect_ai") is not None
    count = samples * (rounds + 1)
    for _ in range(repeats):
        ours = assay_rounds(samples, rounds)
        line = f"assay {1000 * ours / count:.3f} CPU ms a round"
        if has_inspect:
            theirs = inspect_rounds(samples, rounds)
            line += f", inspect_ai {1000 * theirs / count:.3f}, {theirs / ours:.1f}x"
        print(line)


def measure_memory(samples: int, rounds: int) -> None:
    """Print CPU and peak memory of a whole run."""
    work = Work(samples, rounds)
    cost = cost_of(work.command())
    size = (work.run / "records.jsonl").stat().st_size / 1e6
    print(
        f"{samples:,} samples of {rounds} rounds: {cost.cpu_seconds:.1f} s CPU, peak {cost.peak_mb:.0f} MB, "
        f"journal {size:.0f} MB"
    )
    work.remove()


def measure_resume(samples: int, rounds: int) -> None:
    """Print how long a run takes whose last sample lacks its last rounds, and one that lacks nothing."""
    work = Work(samples, rounds)
    cost_of(work.command())
    journal = work.run / "records.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = f'"id":"s{samples - 1}"'.encode()
    left_out = [number for number, line in enumerate(lines) if last in line][-4:]
    kept = [line for number, line in enumerate(lines) if number not in left_out]
    journal.write_bytes(b"".join(kept))
    (work.run / "summary.json").unlink()
    manifest = json.loads((work.run / "run.json").read_text())
    (work.run / "run.json").write_text(json.dumps({**manifest, "status": "running"}))
    for label in ("a run that lacks two rounds", "a finished run"):
        started = time.perf_counter()
        cost = cost_of(work.command())
        elapsed = time.perf_counter() - started
        print(
            f"{label}, {samples * (rounds + 1):,} rounds: {cost.cpu_seconds:.2f} s CPU, {elapsed:.2f} s, "
            f"peak {cost.peak_mb:.0f} MB"
        )
    work.remove()


def measure_latency(agents: int, rounds: int, latency: float) -> None:
    """Print the share of the ideal rate at which a model that takes a while is asked."""
    import assay

    samples = agents * 4
    work = Work(samples, rounds, latency)
    requests = samples * (rounds + 1)
    ideal = latency * requests / agents
    started, cpu = time.perf_counter(), own_cpu()
    result = assay.run(
        str(work.task),
        f"{work.folder / 'model.py'}:slow",
        output=str(work.run),
        floors="off",
        concurrency=agents,
    )
    elapsed = time.perf_counter() - started
    if result.results[0].value != 1.0:
        raise SystemExit(f"assay: {result.notes}")
    print(
        f"{agents} agents in flight, {requests:,} requests of {latency:g} s: {elapsed:.2f} s, "
        f"{ideal / elapsed:.3f} of ideal, {own_cpu() - cpu:.2f} s CPU"
    )
    work.remove()


def main() -> None:
    """Measure one thing."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=("rounds", "memory", "resume", "latency"))
    arguments.add_argument("--samples", type=int)
    arguments.add_argument("--rounds", type=int)
    arguments.add_argument("--agents", type=int, default=64)
    arguments.add_argument("--latency", type=float, default=0.2)
    arguments.add_argument("--repeats", type=int, default=3)
    given = arguments.parse_args()
    if given.what == "rounds":
        measure_rounds(given.samples or 200, given.rounds or 20, given.repeats)
    elif given.what == "memory":
        measure_memory(given.samples or 10_000, given.rounds or 10)
    elif given.what == "resume":
        measure_resume(given.samples or 10_000, given.rounds or 10)
    else:
        measure_latency(given.agents, given.rounds or 10, given.latency)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
