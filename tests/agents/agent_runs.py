"""What the tests of agents share: a folder with questions, a model that asks for commands, and a finished run."""

import json
import shutil
from pathlib import Path

from assay.cli.main import main
from assay.core.record import whole_prompts
from assay.store import RunReader

HERE = Path(__file__).parent
MODEL = '''
import json, os
from assay import ToolCall

def generate(messages):
    """Asks for three commands, then ends. Every request is noted in a file."""
    with open(os.environ["ASKED"], "a") as file:
        file.write(json.dumps([str(message) for message in messages]) + "\\n")
    done = sum(role_of(message) == "assistant" for message in messages)
    return ToolCall("", "bash", {"command": f"echo step {done}"}) if done < 3 else "finished"

def role_of(message):
    return message["role"] if isinstance(message, dict) else message.role
'''


class AgentFolder:
    """A working folder: `rows.jsonl`, the model `model.py:generate` and the agent `loop.py`."""

    def __init__(self, path: Path, monkeypatch, samples: int = 1) -> None:
        self.path = path
        self.asked_file = path / "asked.jsonl"
        rows = [
            {"id": f"s{n}", "input": f"Do {n}; $HOME 'x'", "target": "finished"}
            for n in range(samples)
        ]
        (path / "rows.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
        (path / "model.py").write_text(MODEL)
        shutil.copy(HERE / "loop_agent.py", path / "loop.py")
        monkeypatch.chdir(path)
        monkeypatch.setenv("ASKED", str(self.asked_file))

    def run(self, agent: str, *more: str, model: str = "model.py:generate") -> int:
        """Run the questions with an agent; return the exit code."""
        words = [
            "run",
            "rows.jsonl",
            "--model",
            model,
            "--agent",
            agent,
            "-o",
            "out",
            "--scorer",
            "exact_match",
        ]
        return main([*words, *more])

    @property
    def asked(self) -> list[str]:
        """Every request that the model received."""
        return (
            self.asked_file.read_text().splitlines() if self.asked_file.exists() else []
        )

    def answer(self, sample: str = "s0"):
        """The record of the agent's answer."""
        return self.records("rows", sample)[-1]

    def score(self, sample: str = "s0"):
        """The score of a sample."""
        reader = RunReader("out")
        [record] = [
            r
            for r in reader.scores("rows", reader.cells[0][1], "exact_match")
            if r.id == sample
        ]
        return record

    def records(self, task: str, sample: str):
        """The lines of a sample in the journal, last ones of each round."""
        rounds = {}
        for line in Path("out/records.jsonl").read_text().splitlines():
            plain = json.loads(line)
            if (
                plain["kind"] == "output"
                and plain["task"] == task
                and plain["id"] == sample
            ):
                rounds[plain.get("round", 0)] = plain
        return [rounds[number] for number in sorted(rounds)]

    def exchanges(self, sample: str = "s0"):
        """The exchanges of a sample with the model, with whole prompts."""
        reader = RunReader("out")
        [model] = {model for task, model in reader.cells if task == "rows#agent"}
        records = list(reader.rounds("rows#agent", model, (sample, 0)))
        return list(zip(whole_prompts(records), records, strict=True))
