"""Which scores, prompts, rows and answers still stand: what was corrected or edited since is never served as it was."""

import json
from pathlib import Path

import pytest

import assay
from assay.code.fingerprint import judged_digest
from assay.core import Image, Message, Sample
from assay.store import RunReader

ROW = {"id": "1", "question": "q1", "answer": "b", "topic": "law", "note": "x"}


def written(path: Path, *rows: dict) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def files(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)


def test_a_corrected_answer_is_scored_again_without_asking(tmp_path):
    calls = []

    def model(messages):
        calls.append(messages)
        return "a"

    def run():
        return assay.run(
            str(tmp_path / "q.jsonl"),
            model,
            scorers=["exact_match"],
            output=str(tmp_path / "run"),
        )

    written(tmp_path / "q.jsonl", ROW, {**ROW, "id": "2"})
    first = run()
    written(tmp_path / "q.jsonl", {**ROW, "answer": "a"}, {**ROW, "id": "2"})

    again = run()

    assert (first[0].value, again[0].value, len(calls)) == (0.0, 0.5, 2)


def test_scoring_a_run_always_scores(tmp_path):
    data = written(tmp_path / "q.jsonl", ROW)
    out = str(tmp_path / "run")
    scorer = f"{tmp_path / 'far.py'}:score"
    (tmp_path / "far.py").write_text(
        "from pathlib import Path\n"
        "def score(sample, output): return float(Path(__file__).with_name('limit.txt').read_text())\n"
    )
    (tmp_path / "limit.txt").write_text("0")
    assay.run(
        data, "scripted", model_args={"answers": "a"}, scorers=[scorer], output=out
    )
    (tmp_path / "limit.txt").write_text("1")

    result = assay.score(out)

    assert result[0].value == 1.0


@pytest.mark.parametrize(
    "change",
    [
        {"target": "b"},
        {"target": ("a", "b")},
        {"choices": ("a",)},
        {"fields": {"rubric": "strict"}},
        {"tags": {"topic": "law"}},
        {"group": "g"},
        {"cluster": "c"},
        {"turns": ("more",)},
        {"media": (Image(b"one"),)},
        {"input": (Message.of("user", "q"),)},
        {"target": "\ud800"},
        {"target": 1 << 80},
    ],
    ids=str,
)
def test_whatever_a_scorer_can_read_of_a_sample_makes_its_score_stale(change):
    plain = {"id": "1", "input": "q", "target": "a", "fields": {"k": {"x", "y"}}}

    assert judged_digest(Sample(**plain)) == judged_digest(Sample(**plain))
    assert judged_digest(Sample(**{**plain, **change})) == judged_digest(
        Sample(**{**plain, **change})
    )
    assert judged_digest(Sample(**{**plain, **change})) != judged_digest(
        Sample(**plain)
    )


def test_values_of_a_row_that_are_not_plain_data_are_distinguished():
    import numpy

    class Opaque:
        def __init__(self, value):
            self.value = value

    for make in (
        Opaque,
        lambda n: numpy.full(3, n),
        lambda n: Image(bytes([n])),
        lambda n: Image(Path(f"{n}.png")),
    ):
        one, same, other = (
            judged_digest(Sample("1", fields={"x": make(n)})) for n in (1, 1, 2)
        )
        assert one == same != other


def test_a_corrected_tag_is_seen_in_the_breakdown(tmp_path):
    def run():
        task = assay.Task(
            "t",
            dataset=str(tmp_path / "q.jsonl"),
            scorers="exact_match",
            tags=("topic",),
        )
        return assay.run(
            task, "scripted", model_args={"answers": "b"}, output=str(tmp_path / "run")
        )

    written(tmp_path / "q.jsonl", ROW, {**ROW, "id": "2", "topic": "art"})
    run()
    written(tmp_path / "q.jsonl", ROW, {**ROW, "id": "2", "topic": "music"})

    run()

    records = RunReader(tmp_path / "run").scores("t", "scripted", "exact_match")
    assert [record.tags["topic"] for record in records] == ["law", "music"]


RULES = """
class Long:
    def __init__(self, limit):
        self.limit = limit
    def __call__(self, sample, output):
        return float(len(output.text) >= self.limit)
"""
READING = {
    "constant": "from rules import LIMIT\ndef score(s, o): return float(len(o.text) >= LIMIT)\n",
    "partial": "from rules import *\nfrom functools import partial\n"
    "def by(s, o, limit): return float(len(o.text) >= limit)\nscore = partial(by, limit=LIMIT)\n",
    "object": "from rules import Long, LIMIT\nscore = Long(LIMIT)\n",
    "method": "from rules import Long, LIMIT\nscore = Long(LIMIT).__call__\n",
    "closure": "from rules import LIMIT\ndef closing(limits):\n"
    "    def score(s, o): return float(len(o.text) >= limits[0])\n    return score\nscore = closing([LIMIT])\n",
}


@pytest.mark.parametrize("way", READING)
def test_a_constant_edited_in_a_neighbouring_file_is_scored_with(tmp_path, way):
    rules = f"rules_of_{way}"  # modules of one name are loaded once in a process
    files(
        tmp_path,
        bench=READING[way].replace("rules", rules),
        **{rules: f"{RULES}LIMIT = 2\n"},
    )
    data = written(tmp_path / "q.jsonl", ROW)

    def run():
        scorer = f"{tmp_path / 'bench.py'}:score"
        return assay.run(
            data,
            "scripted",
            model_args={"answers": "abcd"},
            scorers=[scorer],
            output=str(tmp_path / "run"),
        )

    first = run()
    files(tmp_path, **{rules: f"{RULES}LIMIT = 20\n"})

    again = run()

    assert (first[0].value, again[0].value) == (1.0, 0.0)


def test_a_model_whose_constant_changed_is_asked_again_also_where_there_is_a_cache(
    tmp_path,
):
    data = written(tmp_path / "q.jsonl", ROW)
    files(
        tmp_path,
        cur_model="from cur_words import WORD\ndef generate(messages): return WORD\n",
        cur_words="WORD = 'a'\n",
    )

    def run(out):
        model = f"{tmp_path / 'cur_model.py'}:generate"
        return assay.run(
            data,
            model,
            scorers=["exact_match"],
            output=str(tmp_path / out),
            cache=str(tmp_path / "cache"),
        )

    first = run("one")
    files(tmp_path, cur_words="WORD = str('b')\n")

    assert (first[0].value, run("one")[0].value, run("two")[0].value) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("made", ["yield from rows()", "return list(rows())"])
def test_rows_of_a_function_are_read_again_whatever_it_reads(tmp_path, made):
    files(
        tmp_path,
        cur_rows="from pathlib import Path\nimport json\n"
        "def rows():\n    for line in Path(__file__).with_name('q.txt').read_text().splitlines():\n"
        f"        yield json.loads(line)\ndef dataset():\n    {made}\n"
        "def score(s, o): return float(o.text == s.target)\n",
    )
    calls = []

    def model(messages):
        calls.append(messages)
        return "a"

    def run():
        return assay.run(
            str(tmp_path / "cur_rows.py"), model, output=str(tmp_path / "run")
        )

    written(tmp_path / "q.txt", ROW)
    first = run()
    written(
        tmp_path / "q.txt",
        {**ROW, "answer": "a"},
        {**ROW, "id": "2", "question": "new"},
    )

    again = run()

    assert [(r.value, r.n) for r in (first[0], again[0])] == [(0.0, 1), (0.5, 2)]
    assert len(calls) == 2


@pytest.mark.parametrize("epochs", [1, 2])
def test_scoring_again_still_counts_the_requests_that_failed(tmp_path, epochs):
    def model(messages):
        if messages[-1]["content"] == "q2":
            raise ValueError("no")
        return "b"

    rows = [{**ROW, "id": str(n), "question": f"q{n}"} for n in range(4)]
    task = f"{tmp_path / 'q.jsonl'}"
    written(tmp_path / "q.jsonl", *rows)
    out = str(tmp_path / "run")
    first = assay.run(
        task,
        model,
        scorers=["exact_match"],
        epochs=epochs,
        on_error="continue",
        output=out,
    )

    again = assay.score(out)

    for result in (first[0], again[0]):
        assert result.outcomes["model_error"] == first[0].outcomes["model_error"] >= 1
        assert (result.n, result.n_expected, result.bounds, result.flags) == (
            3,
            4,
            (0.75, 1.0),
            first[0].flags,
        )
    assert again.status == first.status == "partial"
    assert not any("no answer in this run" in note for note in again.notes)


def test_scoring_again_counts_a_dialogue_that_failed_in_its_second_round(tmp_path):
    def model(messages):
        if messages[-1]["content"] == "second":
            raise ValueError("no")
        return "b"

    (tmp_path / "cur_dialogues.py").write_text(
        "from assay import Task\nfrom assay.core import Sample\n"
        "t = Task('t', dataset=[Sample('1', 'first', 'b', turns=('second',)),"
        " Sample('2', 'first', 'b', turns=('other',))], scorers='exact_match')\n"
    )
    out = str(tmp_path / "run")
    first = assay.run(
        f"{tmp_path / 'cur_dialogues.py'}:t", model, on_error="continue", output=out
    )

    again = assay.score(out)

    assert first[0].outcomes == again[0].outcomes == {"scored": 1, "model_error": 1}


def test_a_run_after_scoring_finds_its_data_unchanged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "q.jsonl", ROW)

    def run():
        return assay.run(
            "q.jsonl", "scripted", model_args={"answers": "b"}, output="run"
        )

    first = run()
    assay.score("run")

    again = run()

    assert again.notes == first.notes == ()
    assert again[0].value == first[0].value == 1.0


def test_another_judge_gives_its_own_verdicts(tmp_path):
    files(
        tmp_path,
        cur_judging="from dataclasses import dataclass, field\nfrom assay.core import Message, Prompt\n"
        "@dataclass\nclass Judged:\n    needs = ('judge',)\n    models: dict = field(default_factory=dict)\n"
        "    async def __call__(self, sample, output):\n"
        "        said = await self.models['judge'].ask(Prompt((Message.of('user', 'is it good?'),)))\n"
        "        return float(said.text == 'yes')\n",
        cur_judge="from cur_verdict import VERDICT\ndef judge(messages): return VERDICT\n",
        cur_verdict="VERDICT = 'yes'\n",
    )
    data = written(tmp_path / "q.jsonl", ROW)

    def run():
        return assay.run(
            data,
            "scripted",
            model_args={"answers": "a"},
            output=str(tmp_path / "run"),
            scorers=[f"{tmp_path / 'cur_judging.py'}:Judged"],
            judges={"judge": f"{tmp_path / 'cur_judge.py'}:judge"},
        )

    first, same = run(), run()
    files(tmp_path, cur_verdict="VERDICT = 'not at all'\n")

    again = run()

    assert [result[0].value for result in (first, same, again)] == [1.0, 1.0, 0.0]
