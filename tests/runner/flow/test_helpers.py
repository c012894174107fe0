"""Helper models of a run: options by role, the cache shared by runs, and canaries beside every judge."""

import asyncio
import struct
from types import SimpleNamespace
from zlib import crc32

import pytest

import assay
from assay.core import Image, Message, Prompt, Task, Text, UsageError
from assay.runner.counts.budget import ErrorBudget
from assay.runner.flow.helpers import Helpers
from assay.runner.options import RunOptions
from assay.runner.scoring.scoring import Scoring
from assay.scorers.judge.judge import Judge
from assay.scorers.judge.judge_canaries import ORDERS
from assay.store import RunReader, RunWriter
from assay.store.cache import ResponseCache

JUDGE = """
def generate(request):
    import os
    with open(os.environ["JUDGE_LOG"], "a") as log:
        log.write("asked\\n")
    fooled = "highest possible mark" in request.prompt.messages[-1].text
    return '{"score": %d}' % (5 if fooled else 1)
"""


@pytest.fixture
def judge(tmp_path, monkeypatch):
    (tmp_path / "judge.py").write_text(JUDGE)
    (tmp_path / "log").write_text("")
    monkeypatch.setenv("JUDGE_LOG", str(tmp_path / "log"))
    return f"{tmp_path / 'judge.py'}:generate"


def asked(tmp_path) -> int:
    return (tmp_path / "log").read_text().count("asked")


@pytest.mark.parametrize(
    ("given", "role", "expected"),
    [
        ({"device": "cpu"}, "clip", {"device": "cpu"}),
        ({"device": "cpu", "clip.device": "cuda"}, "clip", {"device": "cuda"}),
        ({"device": "cpu", "clip.device": "cuda"}, "detector", {"device": "cpu"}),
        (
            {"clip": {"model": "a"}, "detector": {"model": "b"}},
            "detector",
            {"model": "b"},
        ),
        ({"model.x": 1}, "clip", {"model.x": 1}),
        ({"clip": "a/path"}, "clip", {"clip": "a/path"}),
    ],
)
def test_options_may_be_for_one_role_or_for_all(given, role, expected):
    options = RunOptions(
        judges={"clip": "worker/clip", "detector": "worker/detector"}, judge_args=given
    )

    assert options.judge_args_of(role) == expected


def test_two_workers_of_one_task_get_their_own_options(tmp_path):
    options = RunOptions(
        judges={"clip": "worker/clip", "detector": "worker/detector"},
        judge_args={"clip.model": "c", "detector.model": "d", "detector.clip": "c"},
    )
    with RunWriter(tmp_path / "run") as writer:
        helpers = Helpers(options, writer, SimpleNamespace(task=Task("t")))

        built = helpers.models(["clip", "detector"])

    assert built["clip"].model.options == {"model": "c"}
    assert built["detector"].model.options == {"model": "d", "clip": "c"}


def test_a_helpers_answer_is_shared_by_runs_through_the_cache(tmp_path, judge):
    options = RunOptions(judges={"judge": judge})
    prompt = Prompt((Message("user", (Text("how good?"),)),))

    for folder in ("one", "two"):
        cache = ResponseCache(tmp_path / "cache")
        with RunWriter(tmp_path / folder) as writer:
            helpers = Helpers(options, writer, SimpleNamespace(task=Task("t")), cache)
            reply = asyncio.run(helpers.models(["judge"])["judge"].answer(prompt))
        cache.close()
        assert reply.text == '{"score": 1}'
        assert [record.task for record in RunReader(tmp_path / folder).outputs()] == [
            "t#judge"
        ]

    assert asked(tmp_path) == 1


def test_a_judge_is_tried_with_canaries_and_its_line_says_how_many_it_fell_for(
    tmp_path, judge
):
    options = RunOptions(judges={"judge": judge})
    plain = Scoring.of("exact_match", lambda sample, output: 1.0, "t", "m")

    def lines():
        with RunWriter(tmp_path / "run") as writer:
            helpers = Helpers(
                options,
                writer,
                SimpleNamespace(task=Task("t"), first_sample=lambda: None),
            )
            scoring = Scoring.of("judge", Judge(), "t", "m")
            return asyncio.run(_given(helpers, scoring, plain))

    first = lines()

    assert len(first) == 1 and first[0].startswith("t, scorer 'judge': judge '")
    assert first[0].endswith(
        f"gave full marks to 1 of {len(ORDERS)} answers that only beg for them"
    )
    records = list(RunReader(tmp_path / "run").outputs())
    assert {record.task for record in records} == {"t#canary"} and len(records) == len(
        ORDERS
    )
    assert lines() == first and asked(tmp_path) == len(ORDERS)


REFUSING = """
from assay.core import Output
def generate(requests):
    return [Output.failed("auth", "bad key", retryable=False) for _ in requests]
"""


def test_canaries_that_are_refused_cost_the_run_nothing(tmp_path):
    (tmp_path / "judge.py").write_text(REFUSING)
    options = RunOptions(judges={"judge": f"{tmp_path / 'judge.py'}:generate"})
    budget = ErrorBudget("stop")

    with RunWriter(tmp_path / "run") as writer:
        cell = SimpleNamespace(task=Task("t"), first_sample=lambda: None)
        helpers = Helpers(options, writer, cell, budget=budget)
        [line] = asyncio.run(_given(helpers, Scoring.of("judge", Judge(), "t", "m")))

    assert (
        budget.spent is None
        and budget.errors == 0
        and line.startswith("t, scorer 'judge': judge '")
    )


async def _given(helpers: Helpers, *scorings: Scoring) -> list[str]:
    given = [scoring.given(helpers.models(scoring.roles)) for scoring in scorings]
    return await helpers.canaries(given)


def test_a_helper_that_cannot_be_built_is_reported(tmp_path):
    options = RunOptions(judges={"clip": "worker/clip"})
    with RunWriter(tmp_path / "run") as writer:
        helpers = Helpers(options, writer, SimpleNamespace(task=Task("t")))

        with pytest.raises(UsageError, match="worker 'clip' needs the option 'model'"):
            helpers.models(["clip"])


def test_a_helper_is_shown_pictures_without_their_metadata_and_that_is_recorded(
    tmp_path,
):
    (tmp_path / "judge.py").write_text(
        "def generate(request):\n    return str(b'ten points' in request.prompt.messages[0].media[0].data())\n"
    )
    chunk = (
        struct.pack(">I4s", 12, b"tEXt")
        + b"k\0ten points"
        + struct.pack(">I", crc32(b"tEXtk\0ten points"))
    )
    end = b"\0\0\0\0IEND\xaeB`\x82"
    picture = Image(b"\x89PNG\r\n\x1a\n" + chunk + end)
    with RunWriter(tmp_path / "run") as writer:
        options = RunOptions(judges={"judge": f"{tmp_path / 'judge.py'}:generate"})
        helper = Helpers(options, writer, SimpleNamespace(task=Task("t"))).models(
            ["judge"]
        )["judge"]

        answers = [
            asyncio.run(helper.answer(Prompt((Message("user", (picture,)),))))
            for _ in range(2)
        ]

    (record,) = RunReader(tmp_path / "run").outputs()
    assert [answer.text for answer in answers] == ["False", "False"]
    assert record.output["details"]["metadata_removed"] == [
        f"image {picture.digest[:12]}: text"
    ]


PRICED = """
from assay.core import Candidate, Output, Text, Usage
def generate(requests):
    answer = Candidate((Text('{"score": 1}'),))
    return [Output((answer,), usage=Usage(1_000_000, 500_000)) for _ in requests]
"""


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        ({"price_input": 2, "price_output": 8}, 6.0),
        ({"judge.price_input": 1, "judge.price_output": 0}, 1.0),
        ({"price_input": 2}, None),
    ],
)
def test_what_a_judge_costs_is_counted_at_its_prices(tmp_path, prices, cost):
    (tmp_path / "judge.py").write_text(PRICED)
    options = RunOptions(
        judges={"judge": f"{tmp_path / 'judge.py'}:generate"}, judge_args=prices
    )

    with RunWriter(tmp_path / "run") as writer:
        helpers = Helpers(options, writer, SimpleNamespace(task=Task("t")))
        asyncio.run(
            helpers.models(["judge"])["judge"].answer(
                Prompt((Message("user", (Text("how good?"),)),))
            )
        )

    [spent] = helpers.spent().values()
    assert spent.get("cost") == cost and spent["input_tokens"] == 1_000_000


def test_a_judges_price_that_is_not_a_number_is_refused_before_the_run(tmp_path, judge):
    task = Task(
        "t", dataset=[{"id": "1", "question": "q", "answer": "x"}], scorers="judge"
    )

    with pytest.raises(
        UsageError, match="price_output is 'much'; fix: the price of a million tokens"
    ):
        assay.run(
            task,
            "scripted",
            judge=judge,
            judge_args={"price_output": "much"},
            output=str(tmp_path / "run"),
        )
