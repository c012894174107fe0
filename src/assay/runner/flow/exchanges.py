"""Record the exchanges of agent programs with the model: each exchange is a request and a line of the journal.

`RecordedConversations.begin` starts one `RecordedConversation` for each sample, and the program calls its `ask` for
every request. The lines have the task `TASK#agent`, and the id and the epoch of the sample. Their round is the position
of the request among all different requests of the sample, and a repeated request is treated as different:

    the program sends A, B, A            rounds 0, 1, 2
    it is killed, starts again and
    sends B, A, A                        rounds 1, 0, 2: all three are answered from the journal
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
    """Starts the recorded conversations of an agent program with the model, one per sample of a task × model."""

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
        """Close the engine that calls the model."""
        await self.engine.close()


@dataclass(eq=False)
class RecordedConversation:
    """The exchanges of one sample, in the order in which its agent program starts them."""

    engine: RecordingEngine
    id: str
    epoch: int
    keys: list[str]
    """Request keys of the exchanges, indexed by round. The exchanges of an earlier run come first."""
    unmeasured: Unmeasured
    used: Used = field(default_factory=Used)
    _times_sent: Counter[str] = field(default_factory=Counter)
    """Number of times that the program has sent the same prompt with the same options, by key."""
    _previous_round: int = -1
    _previous_messages: tuple[Message, ...] = ()
    _next_number: int = 0

    async def ask(self, prompt: Prompt) -> tuple[int, Output]:
        """Return the number of the exchange and the model's answer, from the journal if it is recorded there."""
        number = self._next_number
        self._next_number += 1
        try:
            output = await self.engine.answer(self._next_job(prompt))
        except Stopped:
            raise ConversationStopped from None
        prices = self.engine.asking.prices
        _, cost = spent_of(output.usage, prices)
        self.used.add_answer(output, cost)
        if output.error is None:
            self.unmeasured.add_answer(output, cost)
        return number, output

    def _next_job(self, prompt: Prompt) -> Job:
        """Return the job that sends a prompt. Remember the prompt, to store only the new messages of the next one."""
        request = self._next_request(prompt)
        if request.key not in self.keys:
            self.keys.append(request.key)
        round_number = self.keys.index(request.key)
        known_messages = self._count_known_messages(round_number, prompt.messages)
        self._previous_round = round_number
        self._previous_messages = prompt.messages
        return Job(
            Sample(self.id),
            request,
            self.epoch,
            round_number,
            known_messages=known_messages,
        )

    def _next_request(self, prompt: Prompt) -> Request:
        """Return the request for a prompt, and count how often the program has sent this prompt.

        The key depends on this count and on the sample.
        """
        planned = self.engine.planned
        asking = self.engine.asking
        options = planned.options_for(prompt)
        hints = planned.task.hints
        plain_key = asking.key_of(prompt, options, None, self.epoch, hints)
        repeat = self._times_sent[plain_key]
        self._times_sent[plain_key] += 1
        seed, draw = seeds_of(options.seed, self.id, self.epoch, repeat)
        previous = f"{ROLE}/{self.id}/{repeat}"
        key = asking.key_of(prompt, options, seed, self.epoch, hints, previous, draw)
        return Request(
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

    def _count_known_messages(
        self,
        round_number: int,
        messages: tuple[Message, ...],
    ) -> int:
        """Return how many leading messages the journal line of the previous round already contains.

        These are not written again. The number is 0 if this round does not directly
        follow the previous exchange, or does not continue its messages.
        """
        if round_number != self._previous_round + 1:
            return 0
        count = len(self._previous_messages)
        continues = messages[:count] == self._previous_messages
        if continues and len(messages) > count:
            return count
        return 0
