"""τ² as tasks: airline, retail and telecom, with data, tools and scorers of the installed `inspect_evals` package.

The model under test plays the agent of customer service; a model with the role `user`
plays the customer.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..core import Message, Output, Prompt, Sample, Score, Task, Text
from ..core.request import GenerateOptions
from ..core.tools import Tool, ToolCall, ToolResult
from ..tooling import SampleContext, text_result
from ..tooling.simulated_user import MOST_EXCHANGES, USER, UserTalk
from .tau2_package import (
    DOMAINS,
    PackageTool,
    SampleStore,
    agent_system_text,
    agent_tools,
    check_installed,
    expected_database,
    inspect_module,
    part,
    read_samples,
    run_call,
    same_databases,
    user_tools,
    version,
)

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample as InspectSample

CITATION = "Barres et al. 2025, τ²-bench, arXiv 2506.07982"
MOST_ANSWERS = 400
"""The maximum number of the agent's answers in a sample. The package's own limit is 100 exchanges with the user."""


@dataclass(frozen=True)
class Tau2Rows:
    """The samples of a domain, read from the installed package."""

    domain: str

    @property
    def name(self) -> str:
        """The name of this source of rows, for error messages."""
        return f"inspect_evals, τ² {self.domain}"

    def __call__(self) -> list[Sample]:
        """Return the samples."""
        check_installed()
        system = agent_system_text(self.domain)
        return [self._sample(entry, system) for entry in read_samples(self.domain)]

    def _sample(self, entry: "InspectSample", system: str) -> Sample:
        user_system, opening = (message.text for message in entry.input)
        fields = {
            "domain": self.domain,
            "task": entry.metadata["task"],
            "user_system": user_system,
            "user_opening": opening,
            "inspect_evals": version(),
        }
        target = entry.target
        if not isinstance(target, str):
            target = json.dumps(target, ensure_ascii=False)
        messages = (Message("system", (Text(system),)),)
        return Sample(
            str(entry.id),
            messages,
            target=target,
            fields=plain(fields),
        )


def plain(value: Mapping[str, object]) -> dict[str, Any]:
    """Convert data of the package to JSON values."""
    copied: dict[str, Any] = json.loads(json.dumps(value, default=str))
    return copied


@dataclass(frozen=True)
class Tau2Service:
    """The tools and the customer of a domain, as a toolbox."""

    domain: str
    begins = True
    replies = True
    needs = (USER,)
    takes_any_call = True
    """True: wrong calls are passed on as well, because the package itself reports them as errors."""

    @property
    def identity(self) -> list[str]:
        """Properties that identify this toolbox: the domain and the versions of the packages.

        If one changes, stored results are outdated.
        """
        return [self.domain, version()]

    def check(self) -> None:
        """Raise an error if a package is missing."""
        check_installed()

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return the tools of the agent."""
        return tuple(entry.tool for entry in agent_tools(self.domain).values())

    async def open(self, context: SampleContext) -> "Tau2Session":
        """Build the databases and the customer of a sample, and return its session."""
        return Tau2Session(self.domain, context)


class Tau2Session:
    """The session of one sample: its databases, its customer and the conversation."""

    def __init__(self, domain: str, context: SampleContext) -> None:
        sample = context.sample
        self._tools = agent_tools(domain)
        self._user_tools = user_tools(domain)
        task = part("data_model.tasks:Task").model_validate(sample["task"])
        self._store = SampleStore(domain, task)
        self._talk = UserTalk(
            context.models[USER],
            sample["user_system"],
            sample["user_opening"],
            tuple(entry.tool for entry in self._user_tools.values()),
            self._run_user_call,
        )
        self._exchanges = 1
        self.is_over = False
        self.state = Tau2State(self._store, self._talk)

    async def begin(self, prompt: Prompt) -> Prompt:
        """Return the prompt with the customer's first message."""
        first = await self._talk.say()
        words = self._talk.last if first is None else first
        messages = (*prompt.messages, Message("user", (Text(words),)))
        return replace(prompt, messages=messages)

    async def call(self, call: ToolCall) -> ToolResult:
        """Run a tool call from the agent. If the customer ended the conversation before the
        agent's first answer, do not run it.
        """
        if self._talk.has_ended:
            self.is_over = True
            return text_result(call, "The customer has left.", "over")
        self.state.agent_calls.append(call)
        return await self._run(call, self._tools)

    async def _run_user_call(self, call: ToolCall) -> ToolResult:
        self.state.user_calls.append(call)
        return await self._run(call, self._user_tools)

    async def _run(
        self, call: ToolCall, tools: Mapping[str, PackageTool]
    ) -> ToolResult:
        self._store.use()
        text, error = await run_call(tools, call)
        return text_result(call, text, error)

    async def reply(
        self,
        messages: Sequence[Message],
        output: Output,
    ) -> Sequence[Message] | None:
        """Return the customer's reply to an answer; None if the conversation is over."""
        if self._talk.has_ended:
            return None
        self._talk.hear(output.text)
        self.state.said.append(output.text)
        if self._exchanges >= MOST_EXCHANGES:
            return None
        self._exchanges += 1
        words = await self._talk.say()
        if words is None:
            return None
        return [Message("user", (Text(words),))]

    async def close(self) -> None:
        """Do nothing: the state of the sample is part of the session."""


class Tau2State:
    """The data that scorers of a sample use: its databases, its messages and its calls."""

    def __init__(self, store: SampleStore, talk: UserTalk) -> None:
        self.store = store
        self.talk = talk
        self.said: list[str] = []
        """The agent's messages to the customer."""
        self.agent_calls: list[ToolCall] = []
        self.user_calls: list[ToolCall] = []


async def tau2(sample: Sample, output: Output) -> Score:
    """Score 1 if the final databases equal the expected ones, and the customer got all required information."""
    state: Tau2State = output.state
    state.store.use()
    if sample["domain"] == "telecom":
        verdicts = [await _by_package(sample, output, "telecom.scorer:telecom_scorer")]
    else:
        scorer = "common.scorer:score_communicated_info"
        verdicts = [_by_database(state), await _by_package(sample, output, scorer)]
    wrong = [words for is_right, words in verdicts if not is_right]
    if wrong:
        return Score(0.0, details={"why": wrong[0]})
    return Score(1.0)


def _by_database(state: Tau2State) -> tuple[bool, str]:
    store = state.store
    criteria = store.task.evaluation_criteria
    if criteria is None or criteria.actions is None:
        return True, ""
    expected = expected_database(store.domain, criteria.actions)
    store.use()
    is_same = same_databases(expected, store.database)
    return is_same, "the database differs from that after the right actions"


async def _by_package(
    sample: Sample,
    output: Output,
    reference: str,
) -> tuple[bool, str]:
    """Return the verdict of one of the package's scorers."""
    state: Tau2State = output.state
    instance = DOMAINS[sample["domain"]].instance
    models = inspect_module("model")
    stored = inspect_module("util").store_as(
        part("common.agents:StoredAgentState"), instance
    )
    stored.messages = _assistant_messages(models, state.agent_calls)
    # The package searches the customer's turns, the first of which is the opening.
    heard = [sample["user_opening"], *state.said]
    messages = [models.ChatMessageUser(content=text) for text in heard]
    messages += _assistant_messages(models, state.user_calls)
    task_state = inspect_module("solver").TaskState(
        model="assay/model",
        sample_id=sample.id,
        epoch=1,
        input="",
        messages=messages,
        metadata={"instance": instance, "task": sample["task"]},
    )
    scorer = part(reference)()
    score = await scorer(task_state, inspect_module("scorer").Target(""))
    return score.value == "C", str(score.explanation or "")


def _assistant_messages(
    models: ModuleType,
    calls: Sequence[ToolCall],
) -> list[Any]:
    """Return calls as messages of inspect_ai. Arguments that cannot be read become an empty dict."""
    kind = inspect_module("tool").ToolCall
    messages = []
    for number, call in enumerate(calls):
        if isinstance(call.arguments, dict):
            arguments = call.arguments
        else:
            arguments = {}
        tool_call = kind(
            id=f"call_{number}",
            function=call.name,
            arguments=arguments,
        )
        message = models.ChatMessageAssistant(
            content="",
            tool_calls=[tool_call],
        )
        messages.append(message)
    return messages


def _task(domain: str) -> Task:
    return Task(
        f"tau2_{domain}",
        dataset=Tau2Rows(domain),
        template="messages",
        tools=(Tau2Service(domain),),
        limits={"turns": MOST_ANSWERS},
        scorers=(tau2,),
        options=GenerateOptions(temperature=0.0, max_tokens=4096),
        description=f"τ², {domain}: service for a simulated customer",
        citation=CITATION,
        licence="MIT",
    )


tau2_airline = _task("airline")
tau2_retail = _task("retail")
tau2_telecom = _task("telecom")
