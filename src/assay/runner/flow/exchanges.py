"""Record the exchanges of agent programs with the model: each exchange is a request and a line of the journal.

The lines have the task `TASK#agent`, the id and the epoch of the sample, and the number of the exchange as the
round. A program that is started again after a kill gets the recorded answers to the same requests, in the same
order.
"""

from collections import Counter
from dataclasses import dataclass, field

from ...core import Message, Output, Prompt, Request, Sample, seeds_of
from ...core.protocols import ConversationStopped
from ...tooling.sample_limits import Unmeasured, Used
from ..ask.retry import Stopped
from ..ask.work import Job
from ..counts.spending import spent_of
from .drivers import RecordingEngine

ROLE = "agent"
"""Suffix of the task name under which the journal stores an agent's requests and answers."""


@dataclass(eq=False)
class RecordedConversations:
    """Begins and records the conversations of an agent program with the model, for one task × model."""

    engine: RecordingEngine
    unmeasured: Unmeasured

    def begin(self, id: str, epoch: int) -> "RecordedConversation":
        """Begin the conversation of a sample with the exchanges recorded by an earlier run."""
        stored = self.engine.asking.stored(id, epoch)
        keys = [answer.key if answer else "" for answer in stored]
        return RecordedConversation(self.engine, id, epoch, keys, self.unmeasured)

    def notes(self) -> list[str]:
        """Return notes on limits that could not be checked, such as cost without known prices."""
        return self.unmeasured.notes(self.engine.planned.task.name)

    async def close(self) -> None:
        """Close the engine that asks the model."""
        await self.engine.close()


@dataclass(eq=False)
class RecordedConversation:
    """The exchanges of one sample, in the order in which its agent program starts them."""

    engine: RecordingEngine
    id: str
    epoch: int
    keys: list[str]
    """Request keys of the exchanges by round. Exchanges of an earlier run come first."""
    unmeasured: Unmeasured
    used: Used = field(default_factory=Used)
    _repeats: Counter[str] = field(default_factory=Counter)
    """Number of times that the program has sent the same request, by key."""
    _last: tuple[int, tuple[Message, ...]] = (-1, ())
    """Round and messages of the previous exchange."""
    _number: int = 0
    """Number of the next exchange."""

    async def ask(self, prompt: Prompt) -> tuple[int, Output]:
        """Return the number of the exchange and the model's answer, from the journal if it is recorded there."""
        number = self._number
        self._number += 1
        try:
            job = self._job(prompt)
            output = await self.engine.answer(job)
        except Stopped:
            raise ConversationStopped from None
        prices = self.engine.asking.prices
        _, cost = spent_of(output.usage, prices)
        self.used.add_answer(output, cost)
        if output.error is None:
            self.unmeasured.add_answer(output, cost)
        return number, output

    def _job(self, prompt: Prompt) -> Job:
        """Return the job that sends a prompt.

        Its key depends on the sample, and on how often the program has sent this prompt before.
        """
        planned = self.engine.planned
        asking = self.engine.asking
        options = planned.options_for(prompt)
        hints = planned.task.hints
        first = asking.key_of(prompt, options, None, self.epoch, hints)
        repeat = self._repeats[first]
        self._repeats[first] += 1
        seed, draw = seeds_of(options.seed, self.id, self.epoch, repeat)
        previous = f"{ROLE}/{self.id}/{repeat}"
        key = asking.key_of(prompt, options, seed, self.epoch, hints, previous, draw)
        request = Request(
            prompt,
            options,
            seed,
            self.epoch,
            hints=hints,
            key=key,
            id=self.id,
            draw=draw,
            think_tags=asking.think_tags,
        )
        round_number = self._round(key)
        known_count = self._count_recorded(round_number, prompt.messages)
        return Job(
            Sample(self.id),
            request,
            self.epoch,
            round_number,
            known_messages=known_count,
        )

    def _round(self, key: str) -> int:
        """Return the round of the request with this key: its round in the journal, else the next free one."""
        if key not in self.keys:
            self.keys.append(key)
        return self.keys.index(key)

    def _count_recorded(
        self,
        round_number: int,
        messages: tuple[Message, ...],
    ) -> int:
        """Return the number of messages that the previous round already recorded, so
        that they are not written again.
        """
        last_round, last_messages = self._last
        self._last = (round_number, messages)
        count = len(last_messages)
        is_next = round_number != last_round + 1
        if is_next or len(messages) <= count:
            return 0
        if messages[:count] == last_messages:
            return count
        return 0
