"""A model for replicas, and what its own log says: what it was asked, what it finished, where it died."""

import json
from pathlib import Path

import assay
from assay.store import RunReader

MODEL = '''
import json, os, signal, time
from pathlib import Path
from assay.core import Abilities, Output

HERE = Path(__file__).parent


def log(**entry):
    with open(HERE / "calls.jsonl", "a") as calls:
        calls.write(json.dumps({"pid": os.getpid(), **entry}) + "\\n")


def is_first(name):
    try:
        (HERE / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def meet(names):
    """Dies, waits to be killed or waits for another replica, where the test wants it."""
    fate = json.loads((HERE / "fate.json").read_text())  # read here: what an import reads is part of the model
    if fate.get("at") not in names or (not fate.get("always") and not is_first("met")):
        return
    if fate["how"] == "wait for another":
        until = time.monotonic() + 120
        while len({json.loads(line)["pid"] for line in open(HERE / "calls.jsonl")}) < 2:
            assert time.monotonic() < until, "no other replica came"
            time.sleep(0.05)
        return
    if fate["how"] == "wait":
        import ray
        (HERE / "waiting.part").write_text(ray.get_runtime_context().get_node_id())
        (HERE / "waiting.part").rename(HERE / "waiting")
        time.sleep(300)
    os.kill(os.getppid() if fate["how"] == "kill the driver" else os.getpid(), signal.SIGKILL)
    time.sleep(60)


def names_of(requests):
    return [f"{r.id}.{sum(m.role == 'user' for m in r.messages)}" for r in requests]


class Batches:
    """Answers in batches; the history of a dialogue is given to it."""

    batch_size = 4
    produces = "text"

    def generate(self, requests):
        names = names_of(requests)
        log(begin=names)
        meet(names)
        time.sleep(0.01)
        log(end=names)
        return [Output.of(name) for name in names]


class Memory:
    """Cannot be sent anywhere."""

    def __init__(self):
        self.owner, self.said = os.getpid(), []


class Remembering(Batches):
    """Counts the rounds in a state of its own."""

    abilities = Abilities(history="own")

    def generate(self, requests):
        names = names_of(requests)
        log(begin=names)
        meet(names)
        outputs = []
        for name, request in zip(names, requests):
            memory = request.state or Memory()
            assert memory.owner == os.getpid()
            memory.said.append(name)
            outputs.append(Output(Output.of(f"{request.id}.{len(memory.said)}").candidates, state=memory))
        log(end=names)
        return outputs


class Asynchronous:
    """Answers many requests at once."""

    concurrency = 4
    produces = "text"

    async def generate(self, request):
        import asyncio
        names = names_of([request])
        log(begin=names)
        meet(names)
        await asyncio.sleep(0.01)
        log(end=names)
        return names[0]
'''
COUNT = 40


def make_model(folder: Path, **fate: object) -> str:
    """Writes the model; returns its file."""
    folder.mkdir(exist_ok=True)
    (folder / "fate.json").write_text(json.dumps(fate))
    (folder / "model.py").write_text(MODEL)
    return str(folder / "model.py")


def to_sample(row: dict) -> assay.Sample:
    return assay.Sample(
        row["id"],
        row["question"],
        f"{row['id']}.{1 + len(row['turns'])}",
        turns=tuple(row["turns"]),
    )


def task(turns: int = 0, count: int = COUNT) -> assay.Task:
    """Questions, or dialogues of so many further turns."""
    rows = [
        {
            "id": f"s{n}",
            "question": f"q{n}",
            "turns": [f"turn {k} of {n}" for k in range(turns)],
        }
        for n in range(count)
    ]
    return assay.Task("t", dataset=rows, to_sample=to_sample, scorers="exact_match")


def lines_of(run: Path) -> list[tuple[str, int, str]]:
    """Every output line of the journal as it was written: sample, round, key."""
    lines = (
        json.loads(line) for line in (run / "records.jsonl").read_bytes().splitlines()
    )
    return [
        (line["id"], line.get("round", 0), line["key"])
        for line in lines
        if line["kind"] == "output"
    ]


def keys_of(run: Path) -> set[tuple[str, int, str]]:
    return {
        (record.id, record.round, record.key) for record in RunReader(run).outputs()
    }


def calls_of(folder: Path, what: str) -> list[str]:
    """What was begun, or finished, by all replicas together."""
    entries = [
        json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()
    ]
    return [name for entry in entries for name in entry.get(what, ())]


def values_of(result) -> list:
    return [(r.metric, r.value, r.n, dict(r.outcomes)) for r in result]
