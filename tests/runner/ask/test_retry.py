"""Retrying in virtual time: what is tried again, when, and how many at once."""

import asyncio
import math
import random
import time
from typing import ClassVar

import pytest
from virtual_time import run_virtually

import assay
from assay.core import (
    Abilities,
    ErrorInfo,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    Text,
)
from assay.runner.ask.retry import (
    Decision,
    RequestState,
    RetryPolicy,
    ServerQueue,
)
from assay.runner.ask.schedule import Scheduler
from assay.runner.ask.server_health import Limiter, Outage
from assay.runner.ask.work import Job, Work
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
        output, seconds = self.reply(
            request, sum(1 for id, _ in self.attempts if id == request.id)
        )
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
        return [
            self.reply(request, self.attempts.count(request.id)) for request in requests
        ]


def request(number):
    return Request(Prompt((Message("user", (Text(str(number)),)),)), id=str(number))


def ask(model, count, **settings):
    desk = Desk()

    async def main():
        work = Work(
            iter([Job(Sample(str(n)), request(n), order=n) for n in range(count)])
        )
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
                delay = RetryPolicy().delay(
                    ErrorInfo("rate_limit", "slow down"), attempt, rng
                )
                await asyncio.sleep(delay)
                attempt += 1

    async def main():
        limiter = Limiter(100)
        await asyncio.gather(
            *[client(limiter, asyncio.get_running_loop().time) for _ in range(100)]
        )

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


def test_a_slot_granted_to_a_cancelled_request_goes_to_the_next():
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
    [
        (5.0, 5.0, 6.0),
        (86_400.0, 600.0, 601.0),
        (0.0, 0.0, 1.0),
        (-3.0, 0.0, 1.0),
        (math.nan, 0.0, 1.0),
        (None, 0, 1),
    ],
)
def test_what_a_server_asks_for_is_obeyed_within_reason(asked, least, most):
    error = ErrorInfo("rate_limit", "429", retry_after=asked)

    delays = [RetryPolicy().delay(error, 0, random.Random(seed)) for seed in range(50)]

    assert all(least <= delay <= most for delay in delays)


def test_requests_with_the_same_retry_after_come_back_at_different_times():
    error = ErrorInfo("rate_limit", "429", retry_after=5.0)

    delays = [RetryPolicy().delay(error, 0, random.Random(seed)) for seed in range(200)]

    assert min(delays) < 5.1 and max(delays) > 5.9
    assert len(set(delays)) > 150


def failed(kind="http", *, retryable=True):
    return Output.failed(kind, "no", retryable=retryable)


@pytest.mark.parametrize(
    ("output", "decision"),
    [
        (Output.of("yes"), Decision.RETURN),
        (failed(), Decision.RETRY),
        (failed(retryable=False), Decision.RETURN),
        (failed("rate_limit"), Decision.RETRY),
        (failed("timeout"), Decision.RETRY),
    ],
)
def test_the_first_attempt_decides_by_its_error(output, decision):
    async def decide():
        return ServerQueue(4).decide(output, RequestState(), 1.0)

    assert asyncio.run(decide()) is decision


def test_a_request_is_returned_after_its_last_try_and_a_server_given_up_after_its_time():
    async def decide():
        queue, request = ServerQueue(1, RetryPolicy(tries=3)), RequestState()
        queue.decide(Output.of("proper"), RequestState(), 0.0)
        tries = [queue.decide(failed(), request, float(n)) for n in range(3)]
        wrong = ServerQueue(4, RetryPolicy(wrong_seconds=30))
        early = wrong.decide(failed("bad_response"), RequestState(), 0.0)
        late = wrong.decide(failed("bad_response"), RequestState(), 30.0)
        return tries, early, late

    tries, early, late = asyncio.run(decide())

    assert tries == [Decision.RETRY, Decision.RETRY, Decision.RETURN]
    assert (early, late) == (Decision.RETRY, Decision.GIVE_UP_ON_SERVER)


def test_delays_grow_with_full_jitter_up_to_a_minute():
    error = ErrorInfo("http", "500")
    for attempt in range(12):
        delays = [
            RetryPolicy().delay(error, attempt, random.Random(seed))
            for seed in range(200)
        ]
        highest = min(60.0, 2.0**attempt)
        assert max(delays) <= highest
        assert min(delays) < 0.1 * highest and max(delays) > 0.9 * highest


def test_what_cannot_pass_is_not_tried_again():
    model = Endpoint(
        lambda request, attempt: (
            Output.failed("http", "400 bad request", retryable=False),
            0.1,
        )
    )

    answers, _ = ask(model, 3)

    assert len(model.attempts) == 3
    assert all(output.error.message == "400 bad request" for _, output in answers)


def test_an_unreadable_reply_is_given_up_after_ten_tries():
    model = Endpoint(
        lambda request, attempt: (Output.failed("bad_response", "half of it"), 0.0)
    )

    answers, _ = ask(model, 1, policy=RetryPolicy(wrong_seconds=math.inf))

    assert len(model.attempts) == 10
    assert answers[0][1].error.kind == "bad_response"


@pytest.mark.parametrize("concurrency", [1, 32])
def test_a_server_that_is_gone_is_looked_for_by_one_at_a_time_and_given_up_after_ten_minutes(
    concurrency,
):
    model = Endpoint(
        lambda request, attempt: (Output.failed("connection", "refused"), 0.0)
    )
    said = []

    answers, seconds = ask(model, 64, concurrency=concurrency, say=said.append)

    assert len(answers) == 64 and all(
        output.error.kind == "connection" for _, output in answers
    )
    assert 600 <= seconds <= 660
    assert (
        len(model.attempts) <= 64 + 32 + 60
    )  # a knock for each, those in flight, and four a minute
    assert said[-1] == "the server has not answered yet: refused"


@pytest.mark.parametrize("concurrency", [1, 4, 32])
@pytest.mark.parametrize("kind", ["connection", "http", "tls"])
def test_a_server_that_is_gone_for_minutes_costs_no_request_its_tries(
    concurrency, kind
):
    def reply(request, attempt):
        gone = 10 <= asyncio.get_running_loop().time() < 310
        return (
            (Output.failed(kind, "gone"), 0.1) if gone else (Output.of(request.id), 1.0)
        )

    said = []
    answers, seconds = ask(
        Endpoint(reply), 100, concurrency=concurrency, say=said.append
    )

    assert all(output.text == job.sample.id for job, output in answers)
    assert seconds <= 310 + 16 + 100 / concurrency + 2
    gone_at_all = 100 / concurrency > 10
    assert (
        "the server seems to be gone, waiting up to 10 min for it: gone" in said
    ) == gone_at_all


@pytest.mark.parametrize("away", [300, 480])
def test_a_host_that_takes_no_call_for_minutes_costs_no_request_its_tries(away):
    def reply(request, attempt):
        gone = 10 <= asyncio.get_running_loop().time() < 10 + away
        return (
            (Output.failed("connection", "no connection within 10 s"), 10.0)
            if gone
            else (Output.of("yes"), 1.0)
        )

    answers, _ = ask(Endpoint(reply), 500)

    assert all(output.text == "yes" for _, output in answers)


def test_a_late_answer_is_not_a_sign_of_life():
    outage = Outage(32)
    gone, late = (
        ErrorInfo("connection", "refused"),
        ErrorInfo("timeout", "no first byte within 120 s"),
    )

    for _ in range(8):
        outage.note(gone, 1.0, object())
        outage.note(late, 1.0, object())

    assert outage.is_on and outage.answers == 0


@pytest.mark.parametrize("concurrency", [1, 32])
@pytest.mark.parametrize("kind", ["http", "connection"])
def test_a_server_that_is_gone_is_not_asked_before_the_time_it_named(concurrency, kind):
    def reply(request, attempt):
        if asyncio.get_running_loop().time() < 300:
            return Output.failed(kind, "HTTP 503", retry_after=120.0), 0.1
        return Output.of("yes"), 0.1

    model = Endpoint(reply)

    answers, _ = ask(model, 64, concurrency=concurrency)

    assert all(output.text == "yes" for _, output in answers)
    times = sorted({round(when) for _, when in model.attempts if when < 300})
    assert (
        [when for when in times if 5 < when < 120]
        == []
        == [when for when in times if 125 < when < 240]
    )
    assert sum(1 for _, when in model.attempts if 5 < when < 300) <= 2 * max(
        3, concurrency
    )


def test_what_waits_for_its_place_does_not_ask_a_server_that_went_meanwhile():
    model = Endpoint(
        lambda request, attempt: (Output.failed("connection", "refused"), 0.1)
    )

    async def main():
        queue = ServerQueue(8)
        asked = [
            asyncio.ensure_future(queue.send(lambda: first(model))) for _ in range(64)
        ]
        await asyncio.sleep(0.5)
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        return queue.limiter.active

    async def first(model):
        return (await model.generate([request(0)]))[0]

    assert run_virtually(main()) == 0
    assert len(model.attempts) == 8


@pytest.mark.parametrize("concurrency", [1, 2, 32])
def test_a_request_that_fails_alone_spends_its_own_tries_and_delays_no_other(
    concurrency,
):
    poison = {"7", "27", "47", "67", "99"}

    def reply(request, attempt):
        return (
            (Output.failed("http", "HTTP 500"), 0.1)
            if request.id in poison
            else (Output.of("yes"), 0.1)
        )

    model, said = Endpoint(reply), []

    answers, seconds = ask(model, 100, concurrency=concurrency, say=said.append)

    assert {
        job.sample.id for job, output in answers if output.error is not None
    } == poison
    assert {sum(1 for id, _ in model.attempts if id == bad) for bad in poison} == {10}
    assert not any("gone" in line for line in said)
    assert seconds < 600


def test_one_request_alone_in_the_world_is_given_up_after_ten_tries():
    model = Endpoint(lambda request, attempt: (Output.failed("http", "HTTP 500"), 0.1))

    _, seconds = ask(
        model, 1, concurrency=1, policy=RetryPolicy(wrong_seconds=math.inf)
    )

    assert len(model.attempts) == 10 and seconds < 300


def test_a_request_that_probed_in_vain_lets_others_probe_first():
    back = 60.0

    def reply(request, attempt):
        if request.id == "0" or asyncio.get_running_loop().time() < back:
            return Output.failed("http", "HTTP 500"), 0.1
        return Output.of("yes"), 0.1

    answers, seconds = ask(
        Endpoint(reply), 20, concurrency=4, policy=RetryPolicy(wrong_seconds=math.inf)
    )

    assert {job.sample.id for job, output in answers if output.error is not None} == {
        "0"
    }
    assert seconds < 300


def test_one_at_a_time_is_one_at_a_time_in_the_order_of_the_data():
    flying, most = 0, 0

    class Single(Endpoint):
        async def generate(self, requests):
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            try:
                return await super().generate(requests)
            finally:
                flying -= 1

    model = Single(lambda request, attempt: (Output.of(request.id), 0.1))

    answers, _ = ask(model, 50, concurrency=1)

    assert most == 1
    assert (
        [id for id, _ in model.attempts]
        == [job.sample.id for job, _ in answers]
        == [str(n) for n in range(50)]
    )


class Queue:
    """A server with one line for all: `room` at a time, ten seconds each, and callers hang up after 120 s."""

    abilities = Abilities()
    identity: ClassVar = {"queue": "test"}

    def __init__(self, room, *, drops):
        self.places, self.drops, self.asked = asyncio.Semaphore(room), drops, 0

    async def generate(self, requests):
        self.asked += 1
        answered = asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(self._serve(answered))
        try:
            await asyncio.wait_for(answered, 120)
        except TimeoutError:
            return [Output.failed("timeout", "no first byte within 120 s")]
        await serving
        return [Output.of(requests[0].id)]

    async def _serve(self, answered):
        async with self.places:
            if self.drops and answered.done():
                return
            await asyncio.sleep(10)
            if not answered.done():
                answered.set_result(None)


@pytest.mark.parametrize(
    "drops", [True, False], ids=["drops who hung up", "serves who hung up"]
)
@pytest.mark.parametrize("room", [1, 2])
def test_a_server_that_queues_instead_of_refusing_is_given_as_many_as_it_serves_in_time(
    room, drops
):
    model = Queue(room, drops=drops)

    answers, seconds = ask(model, 200)

    assert all(output.text == job.sample.id for job, output in answers)
    assert model.asked <= 320
    assert seconds <= 1.6 * 200 * 10 / room


def test_timeouts_of_one_round_take_half_at_most_and_those_of_the_next_the_rest():
    limiter = Limiter(32)

    for _ in range(20):
        limiter.slowed(started=0.0, now=120.0)
    after_one = limiter.limit
    for _ in range(3):
        limiter.slowed(started=121.0, now=241.0)

    assert (after_one, limiter.limit) == (16, 13)
    for round in range(3, 12):
        for _ in range(20):
            limiter.slowed(started=120.0 * round, now=120.0 * round + 119)
    assert limiter.limit == 1


def test_a_few_requests_that_never_end_do_not_slow_the_others():
    def reply(request, attempt):
        endless = int(request.id) % 100 == 7
        return (
            (Output.failed("timeout", "no first byte within 120 s"), 120.0)
            if endless
            else (Output.of("yes"), 10.0)
        )

    model = Endpoint(reply)

    answers, _ = ask(model, 1000)

    assert sum(output.error is None for _, output in answers) == 990
    # 320 s without the endless ones, which keep up to ten of the 32 places to themselves.
    assert max(when for id, when in model.attempts if int(id) % 100 != 7) < 480


def test_what_a_request_waits_for_its_turn_is_not_its_own_time():
    def reply(request, attempt):
        if request.id == "0":
            return Output.of("slow"), 5000.0
        return (
            (Output.failed("bad_response", "once"), 0.1)
            if attempt == 1
            else (Output.of("yes"), 0.1)
        )

    desk = Desk()

    async def main():
        scheduler = Scheduler(Endpoint(reply), concurrency=3)
        scheduler.queue.limiter.limit = (
            1.0  # as after rate limits: all three are taken, one is asked
        )
        await scheduler.run(
            Work(iter([Job(Sample(str(n)), request(n), order=n) for n in range(3)])),
            desk,
        )

    run_virtually(main())

    assert [output.text for _, output in desk.answers] == ["slow", "yes", "yes"]


def test_a_refused_key_lets_one_at_a_time_through_until_it_is_taken_again():
    limiter = Limiter(32)

    limiter.hold(10.0)
    limiter.succeeded()
    limiter.restore(started=9.0)
    in_doubt = limiter.limit
    limiter.restore(started=11.0)

    assert (in_doubt, limiter.limit) == (1, 32)


def test_a_request_is_given_up_after_half_an_hour():
    model = Endpoint(
        lambda request, attempt: (Output.failed("timeout", "600 s"), 600.0)
    )

    _, seconds = ask(model, 1)

    assert len(model.attempts) == 3
    assert 1800 <= seconds < 2000


def test_under_a_fifth_of_faults_every_sample_completes_with_few_attempts():
    rng = random.Random(17)
    faults = [
        ("rate_limit", {"retry_after": 2.0}),
        ("rate_limit", {}),
        ("http", {}),
        ("connection", {}),
        ("bad_response", {}),
    ]

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
    assert (
        outcome["1"].error.kind == "exception" and "bug" in outcome["1"].error.message
    )
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

    assert sorted(output.text for _, output in desk.answers) == [
        str(n) for n in range(10)
    ]
    assert model.attempts.count("2") == 3 and len(model.attempts) == 12


@pytest.mark.parametrize(
    "returned", [None, [], ["text"], [None], [Output.of("a"), Output.of("b")]]
)
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

    result = assay.run(
        assay.Task("t", dataset=rows, scorers="exact_match"),
        generate,
        output=str(tmp_path / "run"),
    )

    assert result.status == "complete" and result[0].value == 1.0
    assert all(
        0 <= record.output["seconds"] < 60
        for record in RunReader(tmp_path / "run").outputs()
    )
