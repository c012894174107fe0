"""Tools of an MCP server that runs in the workspace of a sample and communicates over its standard streams.

Only the messages for tools are supported: `initialize`, `tools/list` and `tools/call`,
one JSON object per line. The server's streams are connected to this process over the
loopback interface of the workspace, on which only this process accepts a connection.
"""

import json
import select
import shlex
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..core import EMPTY, AssayError, Sample, UsageError, digest_of, shorten
from ..core.message import Part, Text, as_part
from ..core.tools import Tool, ToolCall, ToolResult
from ..sandbox.host_command import AGENT_FOLDER, HostCommand, host_command
from ..sandbox.workspace import Workspace, WorkspaceLimits
from .toolbox import SampleContext, text_result
from .workspace_tools import (
    SharedWorkspace,
    shared_workspace,
    show_in_workspaces,
    tier_of_tools,
)

PROTOCOL = "2025-06-18"
"""The version of the protocol that this client offers. A server may reply with an older one."""
SECONDS_TO_START = 60.0
LONGEST_MESSAGE = 16 << 20
MOST_PAGES = 100
RELAY = f"{AGENT_FOLDER}/mcp_relay.py"
RELAY_CODE = """import os, socket, sys
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
errors = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.dup2(link.fileno(), 0)
os.dup2(link.fileno(), 1)
os.dup2(errors, 2)
os.execvpe(sys.argv[3], sys.argv[3:], os.environ)
"""
"""A program that runs in the workspace. It connects its standard streams to this process, then becomes the server."""


class McpError(AssayError):
    """Raised if an MCP server does not start or violates the protocol."""


class McpConnection:
    """A running MCP server in a workspace."""

    def __init__(
        self,
        workspace: Workspace,
        command: HostCommand,
        env: Mapping[str, str],
    ) -> None:
        self._workspace = workspace
        self._received = b""
        self._number = 0
        self._open = ExitStack()
        self._log = f"{AGENT_FOLDER}/mcp.log"
        self._name = shlex.join(command.words)
        for name, path in command.files.items():
            mode = (path.stat().st_mode & 0o777) | 0o444
            workspace.write(f"{AGENT_FOLDER}/{name}", path.read_bytes(), mode)
        workspace.write(RELAY, RELAY_CODE)
        self._link = self._start_server(command, env)
        self._open.enter_context(self._link)
        self._initialize()

    def close(self) -> None:
        """Close the connection, which ends the server."""
        self._open.close()

    def list_tools(self) -> tuple[Tool, ...]:
        """Return the tools of the server."""
        tools: list[Tool] = []
        cursor: Any = None
        for _ in range(MOST_PAGES):
            page = self.request("tools/list", {"cursor": cursor} if cursor else {})
            for entry in page.get("tools", ()):
                schema = entry.get("inputSchema") or {"type": "object"}
                description = str(entry.get("description") or "")
                tools.append(Tool(str(entry["name"]), description, schema))
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return tuple(tools)

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        seconds: float = SECONDS_TO_START,
    ) -> Mapping[str, Any]:
        """Send a request and return its result. Raise `McpError` if the server sends none."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        deadline = time.monotonic() + seconds
        while True:
            message = self._next(deadline)
            if message.get("id") == number and "method" not in message:
                break
            if "method" in message and "id" in message:
                refusal = {"code": -32601, "message": "not supported"}
                self._send({"id": message["id"], "error": refusal})
        if "error" in message:
            error = message["error"]
            if isinstance(error, Mapping):
                words = error.get("message")
            else:
                words = error
            raise McpError(
                f"{method}: {shorten(words)}", fix="see the server's own documentation"
            )
        return message.get("result") or {}

    def _start_server(
        self,
        command: HostCommand,
        env: Mapping[str, str],
    ) -> socket.socket:
        """Start the server, and return a socket that is connected to its standard streams."""
        with self._workspace.listen() as listening:
            port = listening.getsockname()[1]
            words = ["python", RELAY, str(port), self._log, *command.words]
            line = f"setsid {shlex.join(words)} > /dev/null 2>&1 &"
            self._workspace.exec(["bash", "-c", line], env=env)
            listening.settimeout(SECONDS_TO_START)
            try:
                link, _ = listening.accept()
            except TimeoutError as error:
                raise self._server_error("it did not start") from error
        link.setblocking(True)
        return link

    def _initialize(self) -> None:
        client = {"name": "assay", "version": "1"}
        params = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": client,
        }
        self.request("initialize", params)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        try:
            self._link.sendall(line.encode("utf-8", "replace"))
        except OSError as error:
            raise self._server_error("it has ended") from error

    def _next(self, deadline: float) -> Mapping[str, Any]:
        """Return the next message from the server. Lines that are not JSON objects are skipped."""
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if not newline:
                self._receive(deadline)
                continue
            self._received = rest
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, Mapping):
                return message

    def _receive(self, deadline: float) -> None:
        if len(self._received) > LONGEST_MESSAGE:
            raise self._server_error("a message does not end")
        left = max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([self._link], [], [], left)
        if not ready:
            raise self._server_error("it does not answer")
        try:
            chunk = self._link.recv(1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            raise self._server_error("it has ended")
        self._received += chunk

    def _server_error(self, why: str) -> McpError:
        """Return an error about the server, with the last lines of its standard error."""
        try:
            log_bytes = self._workspace.read(self._log)
            log = log_bytes.decode("utf-8", "replace").strip()
        except AssayError:
            log = ""
        if log:
            words = f": {log[-300:]}"
        else:
            words = ""
        return McpError(
            f"the MCP server {self._name!r}: {why}{words}",
            fix="run the command by hand, without a network",
        )


@dataclass(frozen=True)
class McpTools:
    """The tools of one MCP server."""

    command: str
    """The command that starts the server, which communicates over its standard streams."""
    seconds: float = 120.0
    """Time limit of a call."""
    show: str = ""
    """Folders of this machine that the server may read, separated by colons."""
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    def check(self) -> None:
        """Raise an `AssayError` if the server cannot be started."""
        _ = self._tools

    @property
    def identity(self) -> list[object]:
        """Properties that identify this toolbox: the command, its environment variables, a digest of its tools."""
        plain = [tool.to_plain() for tool in self._tools]
        return [self.command, dict(self.env), digest_of(plain)[:16]]

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return the tools of the server."""
        return self._tools

    async def open(self, context: SampleContext) -> "McpSession":
        """Start the server in the workspace of the sample."""
        shared = await shared_workspace(context, WorkspaceLimits())
        connection = await shared.in_thread(lambda: self._connect(shared.workspace))
        return McpSession(shared, connection, self.seconds)

    @cached_property
    def _host_command(self) -> HostCommand:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise UsageError(
                f"mcp: the command cannot be split into words: {error}",
                fix="close the quotation marks",
            ) from error
        if not words:
            raise UsageError("mcp: the command is empty", fix='mcp: ["PROGRAM …"]')
        folders = [folder for folder in self.show.split(":") if folder]
        command = host_command(words, folders, "mcp", "install it, or give its path")
        show_in_workspaces(command.visible)
        return command

    @cached_property
    def _tools(self) -> tuple[Tool, ...]:
        """The tools of the server. To list them, the server is started once, in a workspace of its own."""
        command = self._host_command
        with Workspace(tier_of_tools()) as workspace:
            try:
                connection = McpConnection(workspace, command, self.env)
                with closing(connection):
                    return connection.list_tools()
            except McpError as error:
                raise UsageError(error.what, fix=error.fix) from error

    def _connect(self, workspace: Workspace) -> McpConnection:
        return McpConnection(workspace, self._host_command, self.env)


class McpSession:
    """A running MCP server for one sample."""

    def __init__(
        self,
        shared: SharedWorkspace,
        connection: McpConnection,
        seconds: float,
    ) -> None:
        self._shared = shared
        self._connection = connection
        self._seconds = seconds

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call."""
        params = {"name": call.name, "arguments": call.arguments}
        connection = self._connection
        try:
            answer = await self._shared.in_thread(
                lambda: connection.request("tools/call", params, self._seconds)
            )
        except McpError as error:
            return text_result(call, str(error.what), "raised")
        parts = tuple(_parts_of(answer.get("content") or ()))
        return ToolResult(call.id, parts, "raised" if answer.get("isError") else "")

    async def close(self) -> None:
        """End the server."""
        self._connection.close()


def _parts_of(content: Sequence[Any]) -> list[Part]:
    """Return the contents of a result as parts. Contents that models cannot read are replaced by a description."""
    parts: list[Part] = []
    for piece in content:
        if isinstance(piece, Mapping):
            kind = piece.get("type")
        else:
            kind = None
        if kind == "text":
            parts.append(Text(str(piece.get("text", ""))))
        elif kind == "image":
            url = (
                f"data:{piece.get('mimeType', 'image/png')};base64,{piece.get('data')}"
            )
            parts.append(as_part({"type": "image_url", "image_url": {"url": url}}))
        elif kind == "resource" and isinstance(piece.get("resource"), Mapping):
            text = piece["resource"].get("text", "")
            parts.append(Text(str(text)))
        else:
            parts.append(Text(f"[{kind}]"))
    return parts
