"""Work shared by replicas: which replica gets which job, and what happens to the jobs of dead ones."""

import asyncio

import pytest

from assay.core import Message, Output, Prompt, Request, Sample, Text
from assay.runner.ask.executors.shared_work import MOST_DEATHS, SharedWork
from assay.runner.ask.work import Job


def job(n: int, **more) -> Job:
    sample = Sample(f"s{n}", turns=more.pop("turns", ()))
    return Job(
        sample,
        Request(
            Prompt((Message("user", (Text(f"q{n}"),)),)), state=more.pop("state", None)
        ),
        **more,
    )


def begin_again(lost: Job) -> Job:
    return Job(lost.sample, lost.history[0][0], lost.epoch)


def make(count: int = 20, **more) -> SharedWork:
    turns = more.pop("turns", ())
    work = SharedWork(
        iter([job(n, turns=turns) for n in range(count)]),
        begin_again=begin_again,
        **more,
    )
    work.open(1)
    work.open(2)
    return work


def ids(jobs: list[Job]) -> list[str]:
    return [job.sample.id for job in jobs]


def following(previous: Job, state: object = None) -> Job:
    request = Request(previous.request.prompt, state=state)
    history = (*previous.history, (previous.request, Output.of("x")))
    return Job(previous.sample, request, round=previous.round + 1, history=history)


def test_each_replica_takes_neighbouring_rows():
    work = make()

    assert ids(work.take_for(1, 3)) == ["s0", "s1", "s2"]
    assert ids(work.take_for(2, 2)) == ["s3", "s4"]
    assert work.take_for(3, 2) == []  # nobody has opened it


def test_the_next_round_waits_for_the_replica_that_answered_the_one_before():
    work = make(2)
    (first,), _ = work.take_for(1, 1), work.take_for(2, 1)
    work.put(following(first))
    work.settled([first])

    assert work.take_for(2, 4) == []
    assert ids(work.take_for(1, 4)) == ["s0"]


def test_a_round_whose_history_is_given_continues_elsewhere_after_a_death():
    work = make(1)
    (first,) = work.take_for(1, 1)
    work.put(second := following(first))
    work.settled([first])

    work.close(1)

    assert work.take_for(2, 4) == [second]


@pytest.mark.parametrize(
    "remembers", [True, False], ids=["the model remembers", "a state was handed back"]
)
def test_a_dialogue_that_was_remembered_starts_again_after_a_death(remembers: bool):
    work = make(1, remembers=remembers)
    (first,) = work.take_for(1, 1)
    work.put(following(first, None if remembers else object()))
    work.settled([first])
    in_flight = work.take_for(1, 4)

    assert work.died(1, in_flight) == []
    (again,) = work.take_for(2, 4)

    assert (again.round, again.request) == (0, first.request)


def test_a_round_that_comes_after_its_replica_was_closed_is_not_sent_to_the_one_that_took_its_place():
    work = make(1)
    (first,) = work.take_for(1, 1)
    work.close(1)
    work.open(1)

    work.put(following(first, object()))

    assert [taken.round for taken in work.take_for(2, 1)] == [0]


def test_the_work_of_the_dead_is_asked_in_smaller_company_then_alone_elsewhere_then_fails():
    work = make(64)
    batch = work.take_for(1, 16)

    assert work.died(1, batch) == [] and work.in_flight == 0
    assert ids(work.take_for(2, 16)) == ["s0", "s1"]
    work.open(1)
    assert (
        ids(work.take_for(1, 16))[0] == "s16"
    )  # what died on it goes to the other while there is one
    smaller = [job for job in batch if job.sample.id in ("s0", "s1")]
    assert work.died(2, smaller) == []
    work.open(2)
    assert ids(work.take_for(2, 16)) == ["s0"] and work.take_for(2, 16) == []


def test_a_request_on_which_three_replicas_died_is_given_back_as_a_failure():
    work = make(1)
    for death, replica in enumerate((1, 2, 1)):
        (taken,) = work.take_for(replica, 4)
        failed = work.died(replica, [taken])
        assert bool(failed) == (death == MOST_DEATHS - 1)
        work.open(replica)

    assert work.in_flight == 1 and not work.is_done()
    work.settled(failed)
    assert work.take_for(1, 1) == [] and work.is_done()


def test_a_replica_with_a_suspected_request_takes_no_other_request():
    work = make(4)
    (suspect,) = work.take_for(1, 1)
    suspect.died_on = (1,)
    work.died(1, [suspect])
    work.open(1)

    assert work.take_for(2, 4) == [suspect]
    assert work.take_for(2, 4) == []
    work.settled([suspect])
    assert ids(work.take_for(2, 2)) == ["s1", "s2"]


def test_a_model_that_remembers_the_last_thing_said_has_one_dialogue_at_a_time_on_each_replica():
    work = make(4, whole_dialogues=True, turns=("and?",))
    (first,), (second,) = work.take_for(1, 4), work.take_for(2, 4)

    assert ids([first, second]) == ["s0", "s1"] and work.take_for(1, 4) == []
    work.put(following(first))
    work.settled([first])
    assert [(taken.sample.id, taken.round) for taken in work.take_for(1, 4)] == [
        ("s0", 1)
    ]


def test_what_was_taken_and_not_asked_is_the_next_to_be_taken():
    work = make()
    asked, upcoming = work.take_for(1, 2), work.take_for(1, 2)
    work.died(1, asked)
    work.give_back(upcoming)

    assert ids(work.take_for(2, 16))[:2] == ["s2", "s3"] and not upcoming[0].died_on


@pytest.mark.parametrize("way", ["stopped", "exhausted"])
def test_the_end_of_the_work_is_reported_at_once(way: str):
    work = make(2)

    async def main() -> bool:
        waiting = asyncio.ensure_future(work.ending())
        taken = work.take_for(1, 2)
        await asyncio.sleep(0)
        if way == "stopped":
            work.stop()
        else:
            work.settled(taken)
            assert work.take_for(1, 1) == []
        await asyncio.wait_for(waiting, 5)
        return work.is_done()

    assert asyncio.run(main()) is (way == "exhausted")


def test_waiting_callers_are_notified_when_nothing_can_come():
    async def scenario() -> tuple[bool, bool]:
        work = make(1)
        (only,) = work.take_for(1, 1)
        assert work.take_for(2, 1) == []
        waiting = asyncio.ensure_future(work.more_for(2))
        await asyncio.sleep(0)
        was_waiting = not waiting.done()
        work.settled([only])
        return was_waiting, await waiting

    assert asyncio.run(scenario()) == (True, False)
