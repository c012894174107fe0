"""Agent programs as models: the prompt of a sample is the program's instruction, and
the program's output is the answer.

Each program runs in its own workspace. The model of the run answers its requests. All
exchanges are recorded in the journal, so a restarted program gets the same answers in
the same order.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ..core import (
    Abilities,
    AssayError,
    Candidate,
    Model,
    Outcome,
    Output,
    Prompt,
    Request,
    Text,
)
from ..core.output import LIMIT
from ..core.protocols import Conversation, Conversations, ConversationStopped
from ..sandbox.box import Tier
from ..sandbox.host_command import AGENT_FOLDER
from ..sandbox.launch import Execution
from ..sandbox.running import SandboxError, StoppedError, Stopper
from ..sandbox.workspace import (
    ENVIRONMENT,
    Workspace,
    WorkspaceEndedError,
    WorkspaceLimits,
)
from ..sandbox.workspace_choice import with_folders, workspace_tier
from ..tooling.sample_limits import USUAL_LIMITS, SampleLimits
from .endpoint import Endpoint
from .environment import AgentWorkspace, Environment, Prepared
from .program import (
    AGENT_HOME,
    ANSWER_FILE,
    INSTRUCTION_FILE,
    AgentProgram,
)

T = TypeVar("T")
DAY = 24 * 3600.0
MOST_TEXT = 64 << 10
"""Size limit for files whose text is stored in the journal. Larger files are stored as size and digest."""
MOST_FILES = 200
MOST_FILE_BYTES = 4 << 20
"""Limit on the total number of bytes read from the files of one workspace."""
MOST_ERROR_TEXT = 4000
PATCH_SECONDS = 60.0
DEFAULT_CONCURRENCY = 8


@dataclass(eq=False)
class AgentModel:
    """A model that runs an agent program for each request.

    The output has the text that the program prints or writes, its files and its exit
    code.
    """

    program: AgentProgram
    inner: Model
    model_name: str
    limits: SampleLimits = USUAL_LIMITS
    environment: Environment | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    likelihood_fix: ClassVar[str] = "leave --agent out"

    def __post_init__(self) -> None:
        self._stopper = Stopper()
        self._tier: Tier | None = None
        self._conversations: Conversations | None = None

    @property
    def abilities(self) -> Abilities:
        """Accept and produce text only, even if the inner model has more abilities."""
        return Abilities(frozenset({"text"}), frozenset({"text"}))

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model in request keys: the program, its limits and the inner model."""
        limits = self.limits
        used = [limits.turns, limits.tokens, limits.cost, limits.seconds]
        return {**self.program.identity, "limits": used, "model": self.inner.identity}

    def hints_of(
        self,
        id: str,
        epoch: int,
        round: int,
    ) -> Mapping[str, Any]:
        """Return the digest of the sample's environment, which becomes part of the request key."""
        if self.environment is None:
            return {}
        return {"environment": self.environment.digest(id)}

    def use(self, conversations: Conversations) -> None:
        """Set the conversations through which later runs call the inner model."""
        self._conversations = conversations

    def load(self) -> None:
        """Choose the sandbox tier for the workspaces, and run its self-test."""
        if self.program.is_null and self.environment is None:
            return
        if self.environment is not None and not self.environment.needs_machine():
            return
        visible = self.program.visible
        folders: tuple[str, ...] = ()
        if self.environment is not None:
            visible = (*visible, *self.environment.visible())
            folders = tuple(self.environment.folders())
        self._tier = with_folders(workspace_tier(), visible, folders)

    def plan_lines(self) -> Sequence[str]:
        """Return the lines about agent workspaces for the plan that is printed before a run."""
        if self.environment is None:
            return ()
        return self.environment.plan_lines()

    def interrupt(self) -> None:
        """End all programs."""
        self._stopper.stop()

    async def close(self) -> None:
        """End all programs."""
        self._stopper.stop()

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Run the program for each request, and return its answer and its files."""
        return [await self._run(request) for request in requests]

    async def _run(self, request: Request) -> Output:
        if self.program.is_null and self.environment is None:
            return program_output("", {"exit_code": 0, "turns": 0})
        assert self._conversations is not None
        conversation = self._conversations.begin(request.id, request.repeat)
        sample = _SampleRun(self, self._tier, request, conversation, self._stopper)
        return await sample.run()


class _SampleRun:
    """One run of the program for one sample."""

    def __init__(
        self,
        model: AgentModel,
        tier: Tier | None,
        request: Request,
        conversation: Conversation,
        stopper: Stopper,
    ) -> None:
        self._model = model
        self._program = model.program
        self._environment = model.environment
        self._tier = tier
        self._request = request
        self._conversation = conversation
        self._stopper = stopper
        self._thread = ThreadPoolExecutor(1, "agent")
        self._workspace: AgentWorkspace | None = None
        self._limit: Outcome | None = None
        self._failure: Exception | None = None
        """Reason why the program was stopped or cannot continue."""
        self._last_failure: Output | None = None
        self._seconds = _smallest_limit(model.limits.seconds, self._task_seconds())

    async def run(self) -> Output:
        """Run the program. Return its answer, or an output with the error that prevented one."""
        try:
            return await self._answer()
        except (StoppedError, ConversationStopped):
            raise asyncio.CancelledError from None
        except (SandboxError, WorkspaceEndedError) as error:
            return Output.failed("sandbox", str(error), retryable=False)
        except AssayError as error:
            return Output.failed("data", str(error), retryable=False)
        finally:
            if self._workspace is not None:
                self._workspace.kill()
                self._thread.submit(self._workspace.close)
            self._thread.shutdown(wait=False)

    async def _answer(self) -> Output:
        workspace = await self._in_thread(self._open)
        prepared = await self._in_thread(lambda: self._prepare(workspace))
        endpoint = Endpoint(f"assay-{secrets.token_hex(16)}", self._ask)
        execution: Execution | None = None
        if not self._program.is_null:
            listening = await self._in_thread(workspace.listen)
            port = listening.getsockname()[1]
            await endpoint.listen(listening)
            try:
                execution = await self._in_thread(
                    lambda: self._execute(workspace, prepared, endpoint.key, port)
                )
            finally:
                await endpoint.close()
        if self._failure is not None:
            raise self._failure
        details = self._details_of(execution, endpoint)
        if self._last_failure is not None and self._last_failure.error is not None:
            error = self._last_failure.error
            return Output.failed(error.kind, error.message, retryable=False)
        text = ""
        if not workspace.has_ended:
            text = await self._in_thread(
                lambda: self._collect(workspace, prepared, execution, details)
            )
        return program_output(text, details)

    def _open(self) -> AgentWorkspace:
        """Open the workspace, and put the agent's own files into it."""
        workspace = self._open_workspace()
        self._workspace = workspace
        for name, path in self._program.files.items():
            mode = path.stat().st_mode & 0o777
            workspace.write(f"{AGENT_FOLDER}/{name}", path.read_bytes(), mode | 0o444)
        workspace.write(INSTRUCTION_FILE, instruction_of(self._request.prompt))
        workspace.exec(["mkdir", "-p", AGENT_HOME])
        return workspace

    def _open_workspace(self) -> AgentWorkspace:
        """Start the sample's container, or create a workspace on this machine."""
        limits = WorkspaceLimits()
        id = self._request.id
        if self._environment is not None:
            visible = self._program.visible
            container = self._environment.open_container(id, visible, self._stopper)
            if container is not None:
                return container
            limits = self._environment.limits(id)
        assert self._tier is not None
        return Workspace(self._tier, limits, stopper=self._stopper)

    def _prepare(self, workspace: AgentWorkspace) -> Prepared:
        prepared = Prepared()
        if self._environment is not None:
            prepared = self._environment.prepare(workspace, self._request.id)
        workspace.mark(prepared.folder)
        return prepared

    def _execute(
        self,
        workspace: AgentWorkspace,
        prepared: Prepared,
        key: str,
        port: int,
    ) -> Execution:
        """Run the program until it exits or reaches a limit."""
        program = self._program
        url = f"http://127.0.0.1:{port}"
        instruction = instruction_of(self._request.prompt)
        if program.is_oracle:
            assert self._environment is not None
            command = self._environment.solution(workspace, self._request.id)
            if command is None:
                raise SandboxError(
                    f"the sample {self._request.id} has no solution",
                    fix="leave it out, or use another agent",
                )
        else:
            values = {
                "instruction": instruction,
                "instruction_file": INSTRUCTION_FILE,
                "model": self._model.model_name,
                "base_url": f"{url}/v1",
                "id": self._request.id,
            }
            command = program.command(values)
        env = {
            **endpoint_variables(url, key),
            "HOME": AGENT_HOME,
            "ASSAY_MODEL": self._model.model_name,
            "ASSAY_ID": self._request.id,
            "ASSAY_ANSWER_FILE": ANSWER_FILE,
            **prepared.env,
            **program.env,
        }
        stdin = instruction if program.reads_input else ""
        if self._seconds is None:
            seconds = DAY
        else:
            seconds = self._seconds
        return workspace.exec(command, stdin, seconds, env, prepared.folder)

    def _collect(
        self,
        workspace: AgentWorkspace,
        prepared: Prepared,
        execution: Execution | None,
        details: dict[str, Any],
    ) -> str:
        """Read the program's files and its answer, let the environment check the work,
        and return the answer.

        All processes of the agent have ended before this call.
        """
        workspace.end_processes()
        files = record_files(workspace, prepared.folder)
        if files:
            details["files"] = files
        patch = repository_patch(workspace, prepared.folder)
        if patch:
            details["patch"] = patch
        if execution is None:
            stdout = ""
        else:
            stdout = as_text(execution.stdout)
        text = stdout.strip()
        answer = _read_answer(workspace)
        if answer is not None:
            details["stdout"] = stdout[-MOST_ERROR_TEXT:]
            text = answer
        if self._environment is not None:
            workspace.remove(AGENT_FOLDER)
            details.update(self._environment.check(workspace, self._request.id))
        return text

    def _details_of(
        self,
        execution: Execution | None,
        endpoint: Endpoint,
    ) -> dict[str, Any]:
        """Return details of the program run, for the journal and for scorers."""
        used = self._conversation.used
        details: dict[str, Any] = {"turns": used.turns}
        if used.tokens:
            details["tokens"] = used.tokens
        if endpoint.dropped:
            details["not_passed_on"] = sorted(endpoint.dropped)
        if execution is None:
            return {**details, "exit_code": 0}
        if execution.ending == "wall_time":
            self._limit = Outcome.LIMIT_SECONDS
        elif execution.ending not in ("exited", "killed"):
            details["ended_by"] = execution.ending
        details["exit_code"] = execution.returncode
        if self._limit is not None:
            details[LIMIT] = self._limit.value
        if execution.stderr:
            details["stderr"] = as_text(execution.stderr)[-MOST_ERROR_TEXT:]
        if execution.truncated:
            details["output_cut"] = True
        return details

    async def _ask(self, prompt: Prompt) -> tuple[int, Output]:
        """Send a prompt from the program to the model. If a limit is reached, end the program instead."""
        conversation = self._conversation
        limit = conversation.used.limit_reached(self._model.limits)
        if limit is not None:
            self._limit = limit
            self._end_program()
            raise asyncio.CancelledError
        try:
            number, output = await conversation.ask(prompt)
        except Exception as error:  # noqa: BLE001 - raised again once the program has ended
            self._failure = error
            self._end_program()
            raise asyncio.CancelledError from None
        self._last_failure = None if output.error is None else output
        return number, output

    def _end_program(self) -> None:
        if self._workspace is not None:
            self._workspace.stop_command()

    def _task_seconds(self) -> float | None:
        if self._environment is None:
            return None
        return self._environment.agent_seconds(self._request.id)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        """Run a function in the thread of this sample."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, call)


def instruction_of(prompt: Prompt) -> str:
    """Return the instruction for the program: the text of the system and user turns, or of the whole dialogue."""
    spoken = [message for message in prompt.messages if message.parts is not None]
    if not prompt.is_chat:
        return prompt.text
    if all(message.role in ("system", "developer", "user") for message in spoken):
        return "\n\n".join(message.text for message in spoken)
    return prompt.text


def endpoint_variables(url: str, key: str) -> dict[str, str]:
    """Return the environment variables from which SDKs and programs read the endpoint's address and key."""
    return {
        **ENVIRONMENT,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": key,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_BASE": url,
        "ANTHROPIC_API_KEY": key,
    }


def program_output(
    text: str,
    details: Mapping[str, Any],
) -> Output:
    """Build the model output from the program's text and the details of its run."""
    return Output((Candidate((Text(text),), "stop"),), details=details)


def record_files(workspace: AgentWorkspace, folder: str) -> dict[str, Any]:
    """Return the files that the program created or changed: text files in full, others as size and digest."""
    changes = workspace.changes(folder, MOST_FILE_BYTES, MOST_FILES)
    file_entries: dict[str, Any] = {}
    for name, content in changes.files.items():
        file_entries[name] = _record_file(content)
    for name, size in changes.left_out.items():
        file_entries[name] = {"bytes": size}
    return file_entries


def repository_patch(workspace: AgentWorkspace, folder: str) -> str:
    """Return the uncommitted changes of the git repository in a folder as a patch; empty if there are none."""
    # A separate index leaves the repository unchanged for the checks.
    command = (
        "[ -e .git ] && cp .git/index $GIT_INDEX_FILE && git add -A"
        " && git -c core.fileMode=false diff --cached --binary HEAD"
    )
    settings = {
        "GIT_INDEX_FILE": "/tmp/assay-index",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    done = workspace.exec(command, b"", PATCH_SECONDS, settings, folder)
    if done.succeeded and not done.truncated:
        return as_text(done.stdout)
    return ""


def _record_file(content: bytes) -> object:
    """Return the content of a file as text. If it is too large or binary, return size and digest."""
    if len(content) <= MOST_TEXT and b"\0" not in content:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            pass
    digest = hashlib.sha256(content).hexdigest()
    return {"bytes": len(content), "sha256": digest}


def _read_answer(workspace: AgentWorkspace) -> str | None:
    """Return the content of the answer file. Return None if the program did not write one."""
    try:
        return as_text(workspace.read(ANSWER_FILE))
    except AssayError:
        return None


def as_text(data: bytes) -> str:
    """Decode bytes as UTF-8, with a replacement character for each invalid sequence."""
    return data.decode("utf-8", "replace")


def _smallest_limit(*limits: float | None) -> float | None:
    """Return the smallest limit that is set, or None if no limit is set."""
    limits_set = [limit for limit in limits if limit is not None]
    return min(limits_set) if limits_set else None
