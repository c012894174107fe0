"""Questions by calls, to a model that works in batches: those that come together go together."""

import asyncio
from typing import ClassVar

import pytest

from assay.core import Abilities, Message, Output, Prompt, Request, Sample, UsageError
from assay.runner.ask.retry import RetryPolicy
from assay.runner.ask.schedule import Scheduler
from assay.runner.ask.standing import Standing, Unkept
from assay.runner.ask.work import Job


class Batched:
    """Answers with the question; remembers how many came together."""

    abilities = Abilities()
    identity: ClassVar = {"batched": 1}
    batch_size = 4

    def __init__(self, failures=()):
        self.sizes, self.failures = [], list(failures)

    def generate(self, requests):
        self.sizes.append(len(requests))
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return [failure] * len(requests)
        return [Output.of(request.prompt.text) for request in requests]


class Single(Standing):
    """Asked one question a call."""

    async def one(self, word):
        [output] = await self.ask(
            [Job(Sample(""), Request(Prompt((Message.of("", str(word)),))))], Unkept()
        )
        return output


def standing(model):
    return Single(Scheduler(model, policy=RetryPolicy(base_seconds=0.001)))


def test_questions_that_come_together_go_together_and_each_gets_its_own_answer():
    model = Batched()

    async def main():
        desk = standing(model)
        outputs = await asyncio.gather(*(desk.one(n) for n in range(10)))
        later = await desk.one("later")
        await desk.close()
        return [output.text for output in (*outputs, later)]

    assert asyncio.run(main()) == [*map(str, range(10)), "later"]
    assert sorted(model.sizes) == [1, 2, 4, 4]


def test_what_may_pass_is_asked_again():
    model = Batched([Output.failed("connection", "refused")])

    async def main():
        desk = standing(model)
        return (await desk.one("yes")).text

    assert asyncio.run(main()) == "yes" and model.sizes == [1, 1]


def test_wrong_settings_reach_the_caller_and_the_next_call_starts_again():
    model = Batched([UsageError("no such option")])

    async def main():
        desk = standing(model)
        with pytest.raises(UsageError, match="no such option"):
            await desk.one("one")
        return (await desk.one("two")).text

    assert asyncio.run(main()) == "two"


def test_closing_does_not_wait():
    class Slow(Batched):
        def generate(self, requests):
            raise AssertionError("closed before it was asked")

    async def main():
        desk = standing(Slow())
        waiting = asyncio.ensure_future(desk.one("x"))
        await asyncio.sleep(0)
        await desk.close()
        return await asyncio.gather(waiting, return_exceptions=True)

    [ended] = asyncio.run(main())
    assert isinstance(ended, asyncio.CancelledError)


def test_the_same_desk_serves_one_loop_after_another():
    desk = standing(Batched())

    assert [asyncio.run(desk.one(n)).text for n in range(3)] == ["0", "1", "2"]
