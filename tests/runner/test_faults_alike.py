"""One table of faults for all who ask: rows, an evaluator that drives the model, and a judge come to the same outcome.

The model answers the even questions and fails the odd ones in one way. Whoever asked, the same is counted, the same
stops the run, each failure is tried as often, and the next run asks the same again.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import assay
from assay.core import Message, Prompt
from assay.runner.ask.retry import RetryPolicy
from assay.runner.flow.drivers import RecordingEngine
from assay.store import RunReader

COUNT = 12
MODEL = """
import json
from pathlib import Path
from assay.core import DataError, Output

HERE = Path({folder!r})
RAISED = {{"oom": MemoryError("out of memory"), "data": DataError("a row that cannot be read")}}


def answer(request):
    number = int(request.messages[-1].text.split()[1])
    with (HERE / "attempts").open("a") as log:
        log.write(f"{{number}}\\n")
    fault = json.loads((HERE / "fault.json").read_text())
    if not fault or number % 2 == 0 and not (fault["always"] and number):
        return Output.of("fine")
    kind = fault["kind"]
    if kind in RAISED:
        raise RAISED[kind]
    if kind == "refused":
        return Output.of("", stop_reason="content_filter")
    if kind == "non_finite":
        return Output.of("fine", seconds=float("nan"))
    return Output.failed(kind, f"it is {{kind}}", retryable=fault["passes"])


class InBatches:
    batch_size = 1
    def generate(self, requests):
        return [answer(request) for request in requests]


class AtEndpoint:
    concurrency = 1
    async def generate(self, requests):
        return [answer(request) for request in requests]
"""
SCORER = """
from dataclasses import dataclass, field
from typing import Any, ClassVar
from assay.core import Message, Prompt

@dataclass(frozen=True)
class Ask:
    models: Any = field(default_factory=dict, compare=False, repr=False)
    needs: ClassVar = ("judge",)
    reads: ClassVar = ("answer",)

    async def __call__(self, sample, output):
        reply = await self.models["judge"].ask(Prompt((Message.of("user", f"number {sample.id}"),)))
        if reply.error is not None:
            raise RuntimeError(reply.error.message)
        return 1.0
"""
FAULTS = {
    "auth": ("auth", False),
    "rate limit": ("rate_limit", True),
    "timeout": ("timeout", True),
    "bad response": ("bad_response", True),
    "a row the model cannot read": ("data", False),
    "a number that is none": ("non_finite", False),
    "out of memory": ("oom", False),
    "refused by a filter": ("refused", False),
}
NOT_OF_THE_SERVER = ("a row the model cannot read", "refused by a filter")
ODD = set(range(1, COUNT, 2))


class Came(NamedTuple):
    """What became of one run, whoever asked."""

    status: str
    stopped: str
    """What stopped it, without the words that say who asked."""
    failed: set[int]
    """The questions whose failure the journal has."""
    answered: set[int]
    tries: dict[int, int]
    """How often each question was put to the model."""


def by_rows(model: str, settings: dict[str, Any]) -> Any:
    rows = [
        {"id": str(n), "question": f"number {n}", "answer": "fine"}
        for n in range(COUNT)
    ]
    return assay.run(assay.Task("t", dataset=rows), model, **settings)


def by_driver(model: str, settings: dict[str, Any]) -> Any:
    def driver(engine: RecordingEngine) -> dict[str, float]:
        engine.expect(COUNT)
        prompts = [Prompt((Message.of("user", f"number {n}"),)) for n in range(COUNT)]
        outputs = [
            engine.generate([prompt], ids=[str(n)])[0]
            for n, prompt in enumerate(prompts)
        ]
        return {"value": sum(output.error is None for output in outputs) / COUNT}

    return assay.run(
        assay.Task("t", dataset=[{"question": "x"}], driver=driver), model, **settings
    )


def by_judge(model: str, settings: dict[str, Any]) -> Any:
    rows = [{"id": str(n), "question": "q", "answer": "x"} for n in range(COUNT)]
    scorer = f"{Path(model).parent / 'scorer.py'}:Ask"
    return assay.run(
        assay.Task("t", dataset=rows, scorers=scorer),
        lambda text: "x",
        judge=model,
        **settings,
    )


ASKING = {"rows": by_rows, "driver": by_driver, "judge": by_judge}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL.format(folder=str(tmp_path)))
    (tmp_path / "scorer.py").write_text(SCORER)
    monkeypatch.setattr(RetryPolicy, "delay", lambda *_: 0.0)
    return tmp_path


def run(
    folder: Path, who: str, model: str, fault: dict[str, Any], policy: str = "continue"
) -> Came:
    (folder / "fault.json").write_text(json.dumps(fault))
    (folder / "attempts").write_text("")
    settings = {"output": str(folder / f"run-{who}-{model}"), "on_error": policy}
    result = ASKING[who](f"{folder / 'model.py'}:{model}", settings)
    task = "t#judge" if who == "judge" else "t"
    records = list(RunReader(result.folder).outputs(task))
    number = {
        r.key: int(re.findall(r"number (\d+)", json.dumps(r.prompt))[0])
        for r in records
    }
    whose = re.compile(r" of the judge|judge (?=[a-z_]+: )")
    notes = [whose.sub("", note) for note in result.notes]
    tries = Counter(map(int, (folder / "attempts").read_text().split()))
    return Came(
        result.status,
        next(
            (note.partition(";")[0] for note in notes if note.startswith("stopped")), ""
        ),
        {number[r.key] for r in records if r.failed},
        {number[r.key] for r in records if not r.failed},
        dict(tries),
    )


@pytest.mark.parametrize("model", ["InBatches", "AtEndpoint"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_its_own_questions_and_those_are_asked_again(
    folder: Path, name: str, model: str
):
    kind, passes = FAULTS[name]
    fault = {"kind": kind, "passes": passes, "always": False}

    came = {who: run(folder, who, model, fault) for who in ASKING}
    later = {who: run(folder, who, model, {}) for who in ASKING}

    assert came["driver"] == came["rows"] and came["judge"] == came["rows"]
    lost = set() if kind == "refused" else ODD
    assert (came["rows"].failed, came["rows"].stopped) == (lost, "")
    assert came["rows"].status == ("complete" if kind == "refused" else "partial")
    assert set(came["rows"].tries.values()) == (
        {1, RetryPolicy().tries} if passes else {1}
    )
    assert all(
        set(later[who].tries) == lost and later[who].status == "complete"
        for who in ASKING
    )


@pytest.mark.parametrize("model", ["InBatches", "AtEndpoint"])
@pytest.mark.parametrize(("policy", "most"), [("stop", 0), ("2", 2)])
@pytest.mark.parametrize("name", FAULTS)
def test_a_policy_stops_all_alike_and_faults_of_rows_never_count(
    folder: Path, name: str, policy: str, most: int, model: str
):
    kind, passes = FAULTS[name]

    came = {
        who: run(
            folder,
            who,
            model,
            {"kind": kind, "passes": passes, "always": False},
            policy,
        )
        for who in ASKING
    }

    assert {(one.status, one.stopped, len(one.failed)) for one in came.values()} == {
        (came["rows"].status, came["rows"].stopped, len(came["rows"].failed))
    }
    if name in NOT_OF_THE_SERVER:
        assert came["rows"].stopped == "" and came["rows"].status != "failed"
    else:
        assert came["rows"].stopped.startswith(
            f"stopped after {most + 1} infrastructure error"
        )
        assert (came["rows"].status, len(came["rows"].failed)) == ("failed", most + 1)


@pytest.mark.parametrize("model", ["InBatches", "AtEndpoint"])
def test_a_key_that_is_refused_three_times_in_a_row_stops_all_alike(
    folder: Path, model: str
):
    came = [
        run(folder, who, model, {"kind": "auth", "passes": False, "always": True})
        for who in ASKING
    ]

    assert {(one.status, one.stopped, len(one.failed)) for one in came} == {
        (
            "failed",
            "stopped: the server refused the key 3 times in a row (it is auth)",
            3,
        )
    }
