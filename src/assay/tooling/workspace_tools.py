"""Tools in the workspace of a sample: bash, python, files, and submit. The tools of a sample share one workspace."""

import asyncio
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from ..core import AssayError, Sample, UsageError
from ..core.tools import Tool, ToolCall, ToolResult
from ..sandbox.box import Tier
from ..sandbox.bubblewrap import HOME
from ..sandbox.launch import Execution
from ..sandbox.workspace import Workspace, WorkspaceEndedError, WorkspaceLimits
from ..sandbox.workspace_choice import with_folders, workspace_tier
from .toolbox import SampleContext, text_result

T = TypeVar("T")
RESOURCE = "workspace"
"""The name under which the tools of a sample share their workspace."""
MOST_TEXT = 100_000
"""Maximum number of characters of a file or an output in a result for the model."""
DEFAULT_SECONDS = 120.0
STATE_FOLDER = "/tmp/.bash"
_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}


def _tool(
    name: str,
    description: str,
    required: dict[str, Any],
    **optional: object,
) -> Tool:
    schema = {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
    }
    return Tool(name, description, schema)


BASH = _tool(
    "bash",
    "Run a command line in bash. The folder, variables and functions stay for later calls.",
    {"command": {**_TEXT, "description": "The command line."}},
)
PYTHON = _tool(
    "python",
    "Run a Python program and return what it prints.",
    {"code": {**_TEXT, "description": "The whole program."}},
)
READ_FILE = _tool(
    "read_file",
    "Return the text of a file.",
    {"path": {**_TEXT, "description": "The path of the file."}},
    first_line={**_WHOLE, "description": "The first line to return, from 1."},
    lines={**_WHOLE, "description": "How many lines to return."},
)
WRITE_FILE = _tool(
    "write_file",
    "Write a file. One that is there is replaced.",
    {
        "path": {**_TEXT, "description": "The path of the file."},
        "content": {**_TEXT, "description": "The whole text."},
    },
)
EDIT_FILE = _tool(
    "edit_file",
    "Replace a text in a file. It must occur exactly once.",
    {
        "path": {**_TEXT, "description": "The path of the file."},
        "old": {**_TEXT, "description": "The text to replace."},
        "new": {**_TEXT, "description": "The text in its place."},
    },
)
SUBMIT = _tool(
    "submit",
    "End the task with an answer.",
    {"answer": {**_TEXT, "description": "The final answer."}},
)
TOOLS = {
    tool.name: tool for tool in (BASH, PYTHON, READ_FILE, WRITE_FILE, EDIT_FILE, SUBMIT)
}


@dataclass(frozen=True)
class WorkspaceToolbox:
    """A toolbox with one of the workspace tools, such as `bash`."""

    tool: str
    seconds: float = DEFAULT_SECONDS
    """Time limit of a command."""
    memory_mb: int = 2048
    disk_mb: int = 512

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise UsageError(
                f"seconds of the tool {self.tool!r} must be above 0",
                fix=f"{self.tool}: {{seconds: {DEFAULT_SECONDS:g}}}",
            )

    @property
    def is_stateful(self) -> bool:
        """True, because a command may depend on files that earlier commands wrote."""
        return True

    @property
    def identity(self) -> list[object]:
        """Properties that identify this tool: its name and its limits, because they determine results."""
        return [self.tool, self.seconds, self.memory_mb, self.disk_mb]

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return the description of the tool."""
        return (TOOLS[self.tool],)

    async def open(self, context: SampleContext) -> "WorkspaceSession":
        """Return a session in the workspace that all tools of the sample share."""
        limits = WorkspaceLimits(
            memory_mb=self.memory_mb,
            disk_mb=self.disk_mb,
        )
        shared = await shared_workspace(context, limits)
        return WorkspaceSession(shared, self.seconds)


_visible: dict[str, None] = {}
"""Folders of this machine that are visible in the workspaces of this process."""


def show_in_workspaces(folders: Sequence[str]) -> None:
    """Make further folders of this machine visible, read-only, in workspaces that are opened from now on."""
    _visible.update(dict.fromkeys(folders))


def tier_of_tools() -> Tier:
    """Return the sandbox tier for the workspaces of tools."""
    return with_folders(workspace_tier(), tuple(_visible), ())


class SharedWorkspace:
    """The workspace of a sample, and the thread in which its commands run one after another."""

    def __init__(self, limits: WorkspaceLimits) -> None:
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, "workspace")
        self.workspace: Workspace

    async def start(self) -> "SharedWorkspace":
        """Open the workspace."""
        await self.in_thread(self._open)
        return self

    def _open(self) -> None:
        self.workspace = Workspace(tier_of_tools(), self._limits)

    async def in_thread(self, call: Callable[[], T]) -> T:
        """Call a function in the thread. If the caller is cancelled, the running command is ended."""
        running = asyncio.get_running_loop().run_in_executor(self._thread, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self.workspace.stop_command()
            raise

    async def close(self) -> None:
        """End all processes of the workspace, and remove all files."""
        if hasattr(self, "workspace"):
            self.workspace.kill()
            self._thread.submit(self.workspace.close)
        self._thread.shutdown(wait=False)


async def shared_workspace(
    context: SampleContext,
    limits: WorkspaceLimits,
) -> SharedWorkspace:
    """Return the workspace of a sample, opened on first use."""
    return await context.resource(RESOURCE, lambda: SharedWorkspace(limits).start())


class WorkspaceSession:
    """The tools of one sample's workspace."""

    def __init__(self, shared: SharedWorkspace, seconds: float) -> None:
        self._shared = shared
        self._seconds = seconds
        self.is_over = False
        self.state: Any = None

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call to the tool."""
        arguments = call.arguments
        assert not isinstance(arguments, str)
        if call.name == SUBMIT.name:
            self.is_over = True
            self.state = arguments["answer"]
            return text_result(call, str(arguments["answer"]))
        action = _ACTIONS[call.name]
        try:
            text = await self._shared.in_thread(
                lambda: action(self._shared.workspace, self._seconds, **arguments)
            )
        except WorkspaceEndedError as error:
            return text_result(call, str(error.what), "workspace_ended")
        except (UsageError, UnicodeDecodeError) as error:
            reason = error.what if isinstance(error, AssayError) else error
            return text_result(call, str(reason), "raised")
        return text_result(call, _shortened(text))

    async def close(self) -> None:
        """Do nothing, because the workspace is closed with the other resources of the sample."""


def _bash(
    workspace: Workspace,
    seconds: float,
    command: str,
) -> str:
    """Run a command line. The working folder, variables and functions of earlier command lines are kept."""
    script = (
        f"[ -d {STATE_FOLDER} ] || mkdir -p {STATE_FOLDER}; cd {HOME}\n"
        f"[ -f {STATE_FOLDER}/state ] && . {STATE_FOLDER}/state 2> /dev/null\n"
        f"trap '{{ code=$?; declare -p > {STATE_FOLDER}/new;"
        f" declare -f >> {STATE_FOLDER}/new;"
        f' echo "cd $(printf %q "$PWD")" >> {STATE_FOLDER}/new;'
        f" mv {STATE_FOLDER}/new {STATE_FOLDER}/state; exit $code; }} 2> /dev/null' EXIT\n"
        f"eval {shlex.quote(command)}"
    )
    return _words_of(workspace.exec(["bash", "-c", script], b"", seconds))


def _python(
    workspace: Workspace,
    seconds: float,
    code: str,
) -> str:
    """Run a Python program, passed as standard input to the interpreter."""
    return _words_of(workspace.exec(["python", "-"], code, seconds))


def _read_file(
    workspace: Workspace,
    seconds: float,
    path: str,
    first_line: int = 1,
    lines: int | None = None,
) -> str:
    """Return lines of a file of the workspace."""
    text = workspace.read(path).decode("utf-8")
    if first_line == 1 and lines is None:
        return text
    start = max(0, first_line - 1)
    every_line = text.splitlines(keepends=True)
    if lines is None:
        end = None
    else:
        end = start + max(0, lines)
    return "".join(every_line[start:end])


def _write_file(
    workspace: Workspace,
    seconds: float,
    path: str,
    content: str,
) -> str:
    """Write a file of the workspace."""
    workspace.write(path, content)
    return f"wrote {len(content):,} characters to {path}"


def _edit_file(
    workspace: Workspace,
    seconds: float,
    path: str,
    old: str,
    new: str,
) -> str:
    """Replace a text that occurs exactly once in a file."""
    text = workspace.read(path).decode("utf-8")
    if old:
        count = text.count(old)
    else:
        count = 0
    if count != 1:
        raise UsageError(
            f"the text to replace occurs {count} times in {path}, not once",
            fix="name a text that occurs once",
        )
    workspace.write(path, text.replace(old, new))
    return f"changed {path}"


_ACTIONS: dict[str, Callable[..., str]] = {
    BASH.name: _bash,
    PYTHON.name: _python,
    READ_FILE.name: _read_file,
    WRITE_FILE.name: _write_file,
    EDIT_FILE.name: _edit_file,
}


def _words_of(execution: Execution) -> str:
    """Return the output of a command. If it failed, add how it ended, such as `[exit code 1]`."""
    text = execution.stdout.decode("utf-8", "replace")
    errors = execution.stderr.decode("utf-8", "replace")
    if errors:
        text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{errors}"
    if execution.ending == "wall_time":
        return f"{text}\n[ended: its time was up]"
    if execution.ending != "exited":
        return f"{text}\n[ended: {execution.ending}]"
    if execution.returncode:
        return f"{text}\n[exit code {execution.returncode}]"
    return text or "[no output]"


def _shortened(text: str) -> str:
    """Return a text, without its middle if it is too long."""
    if len(text) <= MOST_TEXT:
        return text
    half = MOST_TEXT // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[{left_out:,} characters left out]\n{text[-half:]}"


def bash(
    seconds: float = DEFAULT_SECONDS,
    memory_mb: int = 2048,
    disk_mb: int = 512,
) -> WorkspaceToolbox:
    """Return the tool that runs command lines."""
    return WorkspaceToolbox(BASH.name, seconds, memory_mb, disk_mb)


def python(
    seconds: float = DEFAULT_SECONDS,
    memory_mb: int = 2048,
    disk_mb: int = 512,
) -> WorkspaceToolbox:
    """Return the tool that runs Python programs."""
    return WorkspaceToolbox(PYTHON.name, seconds, memory_mb, disk_mb)


def read_file() -> WorkspaceToolbox:
    """Return the tool that reads files."""
    return WorkspaceToolbox(READ_FILE.name)


def write_file() -> WorkspaceToolbox:
    """Return the tool that writes files."""
    return WorkspaceToolbox(WRITE_FILE.name)


def edit_file() -> WorkspaceToolbox:
    """Return the tool that changes files."""
    return WorkspaceToolbox(EDIT_FILE.name)


def submit() -> WorkspaceToolbox:
    """Return the tool that ends a sample with an answer."""
    return WorkspaceToolbox(SUBMIT.name)
