"""Dialogues: one record a round, and a kill between rounds costs no round that was answered."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

import assay
from assay.cli.main import main
from assay.core import Abilities, Output
from assay.store import RunReader
from assay.store.export import rows_of

ROWS = [
    {
        "id": str(n),
        "question": f"q{n}",
        "turns": [f"and {n}?", f"sure {n}?"],
        "answer": "x",
    }
    for n in range(4)
]


class Killed(BaseException):
    """Ends the process, as far as the run can tell."""


class Talking:
    """Counts the user turns it sees; dies when it is asked for the `last`-th time."""

    identity: ClassVar = {"talking": 1}

    def __init__(self, last=None, history="given"):
        self.asked = []
        self.last = last
        self.abilities = Abilities(history=history)

    def generate(self, requests):
        outputs = []
        for request in requests:
            if len(self.asked) == self.last:
                raise Killed
            turns = [m.text for m in request.messages if m.role == "user"]
            self.asked.append((request.id, len(turns)))
            outputs.append(Output.of(f"{request.id}.{len(turns)}"))
        return outputs


def to_sample(row):
    return assay.Sample(
        row["id"], row["question"], row["answer"], fields=row, turns=tuple(row["turns"])
    )


def rounds_of(sample, output):
    return {
        "rounds": len(output.details["rounds"]),
        "last": float(output.text == f"{sample.id}.3"),
    }


def run(tmp_path, model, **changes):
    task = assay.Task(
        "t",
        **{"dataset": ROWS, "to_sample": to_sample, "scorers": rounds_of, **changes},
    )
    return assay.run(task, model, output=str(tmp_path / "run"), batch_size=1)


@dataclass(frozen=True)
class Leading:
    """A template that leads three rounds by itself."""

    def __call__(self, sample):
        return sample.fields["question"]

    def next(self, sample, turns):
        spoken = sum(1 for turn in turns if turn.role == "user")
        return f"round {spoken + 1}" if spoken < 3 else None


WITHOUT_TURNS = [
    {name: cell for name, cell in row.items() if name != "turns"} for row in ROWS
]
LED = {"to_sample": None, "dataset": WITHOUT_TURNS, "template": Leading()}


@pytest.mark.parametrize(
    "changes", [{}, LED], ids=["scripted turns", "led by the template"]
)
def test_every_round_is_asked_once_and_scored_at_the_end(tmp_path, changes):
    model = Talking()

    result = run(tmp_path, model, **changes)
    run(tmp_path, model, **changes)

    assert sorted(model.asked) == [(str(n), k) for n in range(4) for k in (1, 2, 3)]
    assert {r.metric: r.value for r in result} == {
        "rounds_of.rounds": 3.0,
        "rounds_of.last": 1.0,
    }


@pytest.mark.parametrize(
    "changes", [{}, LED], ids=["scripted turns", "led by the template"]
)
@pytest.mark.parametrize("last", range(1, 12))
def test_a_kill_between_rounds_repeats_none_of_them(tmp_path, changes, last):
    first, second = Talking(last), Talking()
    with pytest.raises(Killed):
        run(tmp_path, first, **changes)
    kept = {
        (record.id, record.round + 1)
        for record in RunReader(tmp_path / "run").outputs()
    }

    result = run(tmp_path, second, **changes)

    assert kept | set(second.asked) == {
        (str(n), k) for n in range(4) for k in (1, 2, 3)
    }
    assert not kept & set(second.asked) and len(second.asked) == len(set(second.asked))
    assert result.status == "complete"
    assert {r.metric: r.value for r in result} == {
        "rounds_of.rounds": 3.0,
        "rounds_of.last": 1.0,
    }


@pytest.mark.parametrize(
    "changes", [{}, LED], ids=["scripted turns", "led by the template"]
)
def test_a_model_that_keeps_its_own_history_starts_a_cut_dialogue_again_whole(
    tmp_path, changes
):
    with pytest.raises(Killed):
        run(tmp_path, Talking(5, history="own"), **changes)
    stored = [
        (record.id, record.round + 1)
        for record in RunReader(tmp_path / "run").outputs()
    ]
    whole = {id for id, round in stored if round == 3}
    second = Talking(history="own")

    result = run(tmp_path, second, **changes)

    assert not [id for id, _ in second.asked if id in whole]
    for id in {id for id, _ in second.asked}:
        assert [k for asked, k in second.asked if asked == id] == [1, 2, 3]
    assert result.status == "complete"


def test_a_round_that_fails_is_asked_again_with_the_rounds_before_it_kept(tmp_path):
    class Stumbling(Talking):
        def generate(self, requests):
            (output,) = super().generate(requests)
            failed = self.asked[-1] == ("2", 2) and self.last == -1
            return [
                Output.failed("timeout", "slow", retryable=False) if failed else output
            ]

    partial = run(tmp_path, Stumbling(-1))
    second = Stumbling()

    result = run(tmp_path, second)

    assert partial.status == "partial" and partial[0].outcomes["model_error"] == 1
    assert second.asked == [("2", 2), ("2", 3)]
    assert result.status == "complete"


def shorter(rows, count):
    return [{**row, "turns": row["turns"][:count]} for row in rows]


def last_round(sample, output):
    return float(output.text == f"{sample.id}.{1 + len(sample.turns)}")


class AllRounds:
    """A scorer of the whole set: the share of samples judged by their last round."""

    def score_all(self, rows):
        return sum(last_round(sample, output) for sample, output in rows) / len(rows)


@pytest.mark.parametrize("turns", [1, 0])
@pytest.mark.parametrize("scorer", [last_round, AllRounds()])
def test_a_dialogue_that_became_shorter_is_scored_on_the_last_round_it_has_now(
    tmp_path, turns, scorer
):
    run(tmp_path, Talking(), scorers=scorer)
    rows = shorter(ROWS, turns)
    model = Talking()

    first = run(tmp_path, model, scorers=scorer, dataset=rows)
    again = run(tmp_path, model, scorers=[scorer, "includes"], dataset=rows)

    assert (first.results[0].value, again.results[0].value) == (1.0, 1.0)
    assert model.asked == []


def test_scoring_again_and_readers_use_the_rounds_a_dialogue_has_now(tmp_path, capsys):
    data = tmp_path / "d.jsonl"
    (tmp_path / "say.py").write_text(
        "def generate(messages):\n    return 'say:' + messages[-1]['content']\n"
    )
    settings = {"scorers": ("exact_match",), "output": str(tmp_path / "run")}
    data.write_text(
        '{"id": "1", "turns": ["one", "two", "three"], "answer": "say:two"}\n'
    )
    assay.run(str(data), f"{tmp_path / 'say.py'}:generate", **settings)
    data.write_text('{"id": "1", "turns": ["one", "two"], "answer": "say:two"}\n')

    scored = assay.score(tmp_path / "run")
    again = assay.run(str(data), f"{tmp_path / 'say.py'}:generate", **settings)

    assert (scored.results[0].value, again.results[0].value) == (1.0, 1.0)
    [row] = rows_of(RunReader(tmp_path / "run"))
    assert (row["answer"], row["value"]) == ("say:two", 1.0)
    capsys.readouterr()
    assert main(["show", str(tmp_path / "run"), "--sample", "1"]) == 0
    assert "three" not in capsys.readouterr().out


def test_a_dialogue_asked_anew_is_read_without_the_rounds_it_had_before(tmp_path):
    run(tmp_path, Talking())
    rows = [{**row, "question": "another", "turns": row["turns"][:1]} for row in ROWS]

    run(tmp_path, Talking(), dataset=rows)

    assert {row["answer"] for row in rows_of(RunReader(tmp_path / "run"))} == {
        f"{n}.2" for n in range(4)
    }
