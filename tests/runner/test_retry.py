"""Retrying in virtual time: what is tried again, when, and how many at once."""

import asyncio
import math
import random
import time
from typing import ClassVar

import pytest
from virtual_time import run_virtually

import assay
from assay.core import Abilities, ErrorInfo, Message, Output, Prompt, Request, Sample, Text
from assay.runner.retry import Limiter, RetryPolicy
from assay.runner.schedule import Scheduler
from assay.runner.work import Job, Work
from assay.store import RunReader


class Desk:
    """Collects what came back."""

    def __init__(self):
        self.answers = []

    def keep(self, answers):
        self.answers += answers

    def judge(self, answers):
        pass


class Endpoint:
    """A server: `reply(request, attempt)` gives an output and the seconds it takes."""

    abilities = Abilities()
    identity: ClassVar = {"endpoint": "test"}

    def __init__(self, reply):
        self.reply = reply
        self.attempts = []

    async def generate(self, requests):
        (request,) = requests
        self.attempts.append((request.id, asyncio.get_running_loop().time()))
        output, seconds = self.reply(request, sum(1 for id, _ in self.attempts if id == request.id))
        await asyncio.sleep(seconds)
        return [output]


class Batched:
    """The same for a model that is no coroutine."""

    abilities = Abilities()
    identity: ClassVar = {"endpoint": "test"}
    batch_size = 4

    def __init__(self, reply):
        self.reply = reply
        self.attempts = []

    def generate(self, requests):
        self.attempts += [request.id for request in requests]
        return [self.reply(request, self.attempts.count(request.id)) for request in requests]


def request(number):
    return Request(Prompt((Message("user", (Text(str(number)),)),)), id=str(number))


def ask(model, count, **settings):
    desk = Desk()

    async def main():
        work = Work(iter([Job(Sample(str(n)), request(n), order=n) for n in range(count)]))
        await Scheduler(model, **settings).run(work, desk)
        return asyncio.get_running_loop().time()

    seconds = run_virtually(main())
    return desk.answers, seconds


def test_the_rate_settles_within_a_tenth_of_what_the_server_serves():
    serving, served = 0, []
    rng = random.Random(3)

    async def serve():
        nonlocal serving
        if serving >= 37:
            await asyncio.sleep(0.02)
            return False
        serving += 1
        await asyncio.sleep(rng.uniform(0.5, 1.5))
        serving -= 1
        served.append(asyncio.get_running_loop().time())
        return True

    async def client(limiter, clock):
        attempt = 0
        while clock() < 90:
            await limiter.acquire()
            answered = await serve()
            limiter.release()
            if answered:
                limiter.succeeded()
                attempt = 0
            else:
                limiter.throttled(clock())
                delay = RetryPolicy().delay(ErrorInfo("rate_limit", "slow down"), attempt, rng)
                await asyncio.sleep(delay)
                attempt += 1

    async def main():
        limiter = Limiter(100)
        await asyncio.gather(*[client(limiter, asyncio.get_running_loop().time) for _ in range(100)])

    run_virtually(main())

    rate = sum(1 for when in served if 60 <= when < 90) / 30
    assert 0.9 * 37 <= rate <= 1.05 * 37


def test_the_limiter_uses_all_the_places_it_grew_by():
    limiter = Limiter(200, limit=100.0)

    async def main():
        waiting = [asyncio.ensure_future(limiter.acquire()) for _ in range(120)]
        await asyncio.sleep(0)
        before = limiter.active
        for _ in range(100):
            limiter.succeeded()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        after = limiter.active
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return before, after

    assert run_virtually(main()) == (100, 105)


def test_a_place_called_for_one_who_left_goes_to_the_next():
    limiter = Limiter(1)

    async def main():
        await limiter.acquire()
        first, second = (asyncio.ensure_future(limiter.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        limiter.release()
        first.cancel()
        await asyncio.wait_for(second, 5)
        return limiter.active

    assert run_virtually(main()) == 1


def test_one_episode_of_rate_limits_is_one_step_down():
    limiter = Limiter(100)

    for _ in range(50):
        limiter.throttled(10.0)
    limiter.throttled(10.9)

    assert limiter.limit == 80
    limiter.throttled(11.0)
    assert limiter.limit == 64


def test_retry_after_is_waited_for():
    def reply(request, attempt):
        if attempt == 1:
            return Output.failed("rate_limit", "429", retry_after=45.0), 0.1
        return Output.of("yes"), 0.1

    model = Endpoint(reply)

    answers, _ = ask(model, 5)

    assert [output.text for _, output in answers] == ["yes"] * 5
    for id in "01234":
        first, second = (when for asked, when in model.attempts if asked == id)
        assert 45.0 <= second - first <= 46.2


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [(5.0, 5.0, 6.0), (86_400.0, 600.0, 601.0), (0.0, 0.0, 1.0), (-3.0, 0.0, 1.0), (math.nan, 0.0, 1.0), (None, 0, 1)],
)
def test_what_a_server_asks_for_is_obeyed_within_reason(asked, least, most):
    error = ErrorInfo("rate_limit", "429", retry_after=asked)

    delays = [RetryPolicy().delay(error, 0, random.Random(seed)) for seed in range(50)]

    assert all(least <= delay <= most for delay in delays)


def test_delays_grow_with_full_jitter_up_to_a_minute():
    error = ErrorInfo("http", "500")
    for attempt in range(12):
        delays = [RetryPolicy().delay(error, attempt, random.Random(seed)) for seed in range(200)]
        highest = min(60.0, 2.0**attempt)
        assert max(delays) <= highest
        assert min(delays) < 0.1 * highest and max(delays) > 0.9 * highest


def test_what_cannot_pass_is_not_tried_again():
    model = Endpoint(lambda request, attempt: (Output.failed("http", "400 bad request", retryable=False), 0.1))

    answers, _ = ask(model, 3)

    assert len(model.attempts) == 3
    assert all(output.error.message == "400 bad request" for _, output in answers)


def test_an_answer_nobody_can_read_is_given_up_after_ten_tries():
    model = Endpoint(lambda request, attempt: (Output.failed("bad_response", "half of it"), 0.0))

    answers, _ = ask(model, 1)

    assert len(model.attempts) == 10
    assert answers[0][1].error.kind == "bad_response"


@pytest.mark.parametrize("concurrency", [1, 32])
def test_a_server_that_is_gone_is_looked_for_by_one_at_a_time_and_given_up_after_ten_minutes(concurrency):
    model = Endpoint(lambda request, attempt: (Output.failed("connection", "refused"), 0.0))
    said = []

    answers, seconds = ask(model, 64, concurrency=concurrency, say=said.append)

    assert len(answers) == 64 and all(output.error.kind == "connection" for _, output in answers)
    assert 600 <= seconds <= 660
    assert len(model.attempts) <= 64 + 32 + 60  # a knock for each, those in flight, and four a minute
    assert said[-1] == "the server seems to be gone, waiting up to 10 min for it: refused"


@pytest.mark.parametrize("concurrency", [1, 4, 32])
@pytest.mark.parametrize("kind", ["connection", "http", "tls"])
def test_a_server_that_is_gone_for_minutes_costs_no_request_its_tries(concurrency, kind):
    def reply(request, attempt):
        gone = 10 <= asyncio.get_running_loop().time() < 310
        return (Output.failed(kind, "gone"), 0.1) if gone else (Output.of(request.id), 1.0)

    answers, seconds = ask(Endpoint(reply), 100, concurrency=concurrency)

    assert all(output.text == job.sample.id for job, output in answers)
    assert seconds <= 310 + 16 + 100 / concurrency + 2


def test_what_a_request_waits_for_its_turn_is_not_its_own_time():
    def reply(request, attempt):
        if request.id == "0":
            return Output.of("slow"), 5000.0
        return (Output.failed("bad_response", "once"), 0.1) if attempt == 1 else (Output.of("yes"), 0.1)

    desk = Desk()

    async def main():
        scheduler = Scheduler(Endpoint(reply), concurrency=3)
        scheduler.patience.limiter.limit = 1.0  # as after rate limits: all three are taken, one is asked
        await scheduler.run(Work(iter([Job(Sample(str(n)), request(n), order=n) for n in range(3)])), desk)

    run_virtually(main())

    assert [output.text for _, output in desk.answers] == ["slow", "yes", "yes"]


def test_a_refused_key_lets_one_at_a_time_through_until_it_is_taken_again():
    limiter = Limiter(32)

    limiter.hold(10.0)
    limiter.succeeded()
    limiter.let_go(started=9.0)
    in_doubt = limiter.limit
    limiter.let_go(started=11.0)

    assert (in_doubt, limiter.limit) == (1, 32)


def test_a_request_is_given_up_after_half_an_hour():
    model = Endpoint(lambda request, attempt: (Output.failed("timeout", "600 s"), 600.0))

    _, seconds = ask(model, 1)

    assert len(model.attempts) == 3
    assert 1800 <= seconds < 2000


def test_under_a_fifth_of_faults_every_sample_completes_with_few_attempts():
    rng = random.Random(17)
    faults = [
        ("rate_limit", {"retry_after": 2.0}), ("rate_limit", {}), ("http", {}), ("connection", {}),
        ("bad_response", {}),
    ]  # fmt: skip

    def reply(request, attempt):
        if rng.random() < 0.2:
            kind, more = rng.choice(faults)
            return Output.failed(kind, "injected", **more), 0.1
        return Output.of(request.id), rng.uniform(0.2, 2.0)

    model = Endpoint(reply)

    answers, _ = ask(model, 300)

    assert sorted(int(output.text) for _, output in answers) == list(range(300))
    assert all(job.sample.id == output.text for job, output in answers)
    assert len(model.attempts) / 300 <= 1.5


def test_a_raised_timeout_may_pass_and_a_raised_bug_may_not():
    def reply(request, attempt):
        if request.id == "1":
            raise KeyError("bug")
        if attempt < 3:
            raise TimeoutError("too slow")
        return Output.of("yes"), 0.1

    model = Endpoint(reply)

    answers, _ = ask(model, 2)

    outcome = {job.sample.id: output for job, output in answers}
    assert outcome["0"].text == "yes"
    assert outcome["1"].error.kind == "exception" and "bug" in outcome["1"].error.message
    assert len(model.attempts) == 4


def test_a_model_that_works_in_batches_is_asked_again_too():
    def reply(request, attempt):
        if request.id == "2" and attempt < 3:
            return Output.failed("rate_limit", "429")
        return Output.of(request.id)

    model, desk = Batched(reply), Desk()

    async def main():
        work = Work(iter([Job(Sample(str(n)), request(n), order=n) for n in range(10)]))
        await Scheduler(model, policy=RetryPolicy(base_seconds=0.001)).run(work, desk)

    asyncio.run(main())

    assert sorted(output.text for _, output in desk.answers) == [str(n) for n in range(10)]
    assert model.attempts.count("2") == 3 and len(model.attempts) == 12


@pytest.mark.parametrize("returned", [None, [], ["text"], [None], [Output.of("a"), Output.of("b")]])
def test_a_coroutine_that_returns_no_output_fails_its_sample_alone(returned):
    class Odd:
        abilities = Abilities()
        identity: ClassVar = {}

        async def generate(self, requests):
            return returned if requests[0].id == "1" else [Output.of("yes")]

    answers, _ = ask(Odd(), 3)

    failed = {job.sample.id for job, output in answers if output.error is not None}
    assert failed == {"1"}


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_jumps_changes_nothing(monkeypatch, tmp_path, jump):
    real, jumped = time.time, 0.0

    def generate(messages):
        nonlocal jumped
        jumped += jump
        return "x"

    monkeypatch.setattr(time, "time", lambda: real() + jumped)
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(20)]

    result = assay.run(assay.Task("t", dataset=rows, scorers="exact_match"), generate, output=str(tmp_path / "run"))

    assert result.status == "complete" and result[0].value == 1.0
    assert all(0 <= record.output["seconds"] < 60 for record in RunReader(tmp_path / "run").outputs())
