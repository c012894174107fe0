"""The environments of Harbor tasks: built from the Dockerfile, and checked at the end by the task's own tests."""

import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ...agents.environment import AgentWorkspace, Prepared
from ...core import AssayError, UsageError, digest_of
from ...sandbox.bubblewrap import ROOT
from ...sandbox.container_workspace import ContainerWorkspace
from ...sandbox.launch import Execution
from ...sandbox.running import Stopper
from ...sandbox.workspace import PROGRAMS, WorkspaceLimits
from .claims import CONFIG, INSTRUCTION
from .container_tier import (
    USUAL_MEMORY_MB,
    ContainerPlan,
    NeedsEngine,
    Tiers,
    folder_inside,
    open_container,
    plan_container,
    variables_inside,
)
from .dockerfile import Dockerfile, read_dockerfile
from .host_tier import CannotRun, HostPlan, HostStep, copied_files, plan_steps
from .task_config import HealthCheck, TaskConfig, read_config

TESTS, SOLUTION = "tests", "solution"
VERIFIER_LOGS = "/logs/verifier"
LOG_FOLDERS = ("/logs/agent", "/logs/artifacts")
RUN_SCRIPT = 'command -v bash >/dev/null && exec bash "$0"; exec sh "$0"'
"""Shell command that runs a script without a shebang line: with bash, or with sh in images without bash."""
MOST_DISK_MB = 2048
MOST_LOG = 4000
EMPTY_DOCKERFILE = Dockerfile((), {}, "/")
_TEMPLATE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_DOWNLOADS = re.compile(r"\b(curl|wget|uvx|apt-get|apt|pip3?|uv|npm)\s+(\S+)")
_HARMLESS_WORDS = ("--version", "list", "show", "freeze", "-V", "run")


@dataclass(frozen=True)
class HarborTask:
    """A Harbor task, read from its folder, with the plan for running it in a workspace or a container."""

    folder: Path
    config: TaskConfig
    dockerfile: Dockerfile
    host: HostPlan | None = None
    """The steps that build the task's environment in a workspace of this machine; None if it runs in a container."""
    container: ContainerPlan | None = None

    @property
    def context(self) -> Path:
        """The folder of the task from which COPY takes files."""
        return self.folder / "environment"

    @property
    def top(self) -> str:
        """The prefix for absolute paths of the task: the workspace folder, or empty in a container."""
        return ROOT if self.container is None else ""

    @property
    def workdir(self) -> str:
        """The folder in which the agent starts, if the task runs in a workspace of this machine."""
        return self.config.workdir or self.dockerfile.folder

    @property
    def notes(self) -> tuple[str, ...]:
        """Differences between the environment and the task's image or Harbor. The plan of a run lists them."""
        plan = self.container or self.host
        return plan.notes if plan is not None else ()

    @cached_property
    def digest(self) -> str:
        """Digest of all files in the task's folder, and of the image."""
        parts = []
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                name = str(path.relative_to(self.folder))
                parts.append([name, digest_of(path.read_bytes())])
        if self.container is not None:
            parts.append(["container", self.container.image])
        return digest_of(parts)[:16]


def read_task(folder: Path, tiers: Tiers) -> HarborTask:
    """Read the task in a folder, and plan how to run it.

    A workspace of this machine is preferred. If the task cannot run there, a container
    is planned. Raise `UsageError` if the task is broken, and `CannotRun` if neither is
    possible.
    """
    config = read_config(folder / CONFIG)
    check_files(folder, config)
    _check_supported(config, folder)
    dockerfile = _dockerfile_of(folder)
    _check_downloads(folder / TESTS / "test.sh")
    reason = ""
    if tiers.name != "container":
        try:
            return _host_task(folder, config, dockerfile)
        except CannotRun as error:
            if tiers.name == "host":
                raise
            reason = str(error)
    try:
        plan = plan_container(folder, config, dockerfile, tiers)
    except NeedsEngine as error:
        raise NeedsEngine(reason or str(error)) from error
    except CannotRun as error:
        if reason:
            reasons = f"{reason}, and {error}"
        else:
            reasons = str(error)
        raise CannotRun(reasons) from error
    return HarborTask(folder, config, dockerfile or EMPTY_DOCKERFILE, container=plan)


def _dockerfile_of(folder: Path) -> Dockerfile | None:
    """Return the Dockerfile of a task; None if it has none. Raise `UsageError` if it cannot be read."""
    path = folder / "environment" / "Dockerfile"
    if not path.is_file():
        return None
    try:
        return read_dockerfile(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot be read: {error}",
            where=str(path),
            fix="correct this line",
        ) from error


def _host_task(
    folder: Path,
    config: TaskConfig,
    dockerfile: Dockerfile | None,
) -> HarborTask:
    """Return a task that runs in a workspace of this machine. Raise `CannotRun` if it needs an image."""
    if dockerfile is None:
        raise CannotRun("it has no Dockerfile")
    host = plan_steps(dockerfile, folder / "environment")
    task = HarborTask(folder, config, dockerfile, host)
    if task.workdir == "/":
        raise CannotRun("it names no working folder")
    return task


def check_files(folder: Path, config: TaskConfig) -> None:
    """Raise `UsageError` if the task's folder lacks a required file."""
    needed = ["environment"]
    if not config.has_steps:
        needed += [INSTRUCTION, f"{TESTS}/test.sh"]
    if config.operating_system == "windows":
        needed = ["environment", INSTRUCTION]
    for name in needed:
        if not (folder / name).exists():
            raise UsageError(
                f"the task has no {name}",
                where=str(folder),
                fix=f"add {name}, or leave the folder out",
            )


def _check_supported(config: TaskConfig, folder: Path) -> None:
    """Raise `CannotRun` if the task needs something that assay lacks, such as a GPU or several containers."""
    reasons = {
        "it is for Windows": config.operating_system != "linux",
        "it needs a GPU": bool(config.gpus) or config.has_tpu,
        "it has several steps": config.has_steps,
        "its tests run in a separate image": config.has_separate_verifier,
        "it needs MCP servers": config.has_mcp_servers,
        "it starts several containers": any(
            (folder / "environment").glob("*compose*.y*ml")
        ),
    }
    for reason, applies in reasons.items():
        if applies:
            raise CannotRun(reason)


def _check_downloads(script: Path) -> None:
    """Raise `CannotRun` if the tests download files, because workspaces have no network."""
    text = script.read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        match = _DOWNLOADS.search(line.partition("#")[0])
        if match and match[2] not in _HARMLESS_WORDS:
            is_local = "127.0.0.1" in line or "localhost" in line
            if not is_local:
                raise CannotRun(f"its tests download with {match[1]}")


@dataclass(frozen=True)
class HarborEnvironment:
    """The environments of all tasks in a folder. Each method takes the sample id of one task."""

    tasks: Mapping[str, HarborTask] = field(repr=False)
    lines: tuple[str, ...] = ()
    """Lines that the plan shows about the tasks before the run."""

    def digest(self, id: str) -> str:
        """Return a digest of the task's folder and image."""
        return self.tasks[id].digest

    def plan_lines(self) -> Sequence[str]:
        """Return the lines of the plan with the number of tasks that can run, and where they run."""
        return self.lines

    def needs_machine(self) -> bool:
        """Return True if any task runs directly on this machine instead of in a container."""
        return any(task.container is None for task in self.tasks.values())

    def open_container(
        self,
        id: str,
        visible: Sequence[str],
        stopper: Stopper,
    ) -> ContainerWorkspace | None:
        """Start the container of a task. Return None if the task runs in a workspace of this machine."""
        task = self.tasks[id]
        if task.container is None:
            return None
        return open_container(task.container, task.config, visible, stopper)

    def limits(self, id: str) -> WorkspaceLimits:
        """Return the memory and disk limits of a task."""
        config = self.tasks[id].config
        disk = min(config.storage_mb or MOST_DISK_MB, MOST_DISK_MB)
        memory = config.memory_mb or USUAL_MEMORY_MB
        return WorkspaceLimits(memory_mb=memory, disk_mb=disk)

    def agent_seconds(self, id: str) -> float | None:
        """Return the agent's time limit in seconds; None if the task sets none."""
        return self.tasks[id].config.agent_seconds

    def visible(self) -> tuple[str, ...]:
        """Return the additional folders that workspaces may read: the current virtual environment, if there is one."""
        if sys.prefix != sys.base_prefix:
            return (sys.prefix,)
        return ()

    def folders(self) -> tuple[str, ...]:
        """Return the additional top-level folders that tasks write to, such as `/app`."""
        tops: set[str] = set()
        for task in self.tasks.values():
            if task.host is not None:
                tops.update(task.host.tops)
        return tuple(sorted(tops))

    def prepare(self, workspace: AgentWorkspace, id: str) -> Prepared:
        """Make the workspace ready for the agent, and wait for the task's health check.

        In a workspace of this machine, carry out the steps of the Dockerfile. The image of a container contains them
        already.
        """
        task = self.tasks[id]
        if isinstance(workspace, ContainerWorkspace):
            prepared = _prepare_container(workspace, task)
        else:
            prepared = _prepare_workspace(workspace, task)
        if task.config.healthcheck is not None:
            _wait_until_healthy(workspace, task.config.healthcheck, task, prepared)
        return prepared

    def solution(self, workspace: AgentWorkspace, id: str) -> Sequence[str] | None:
        """Copy the task's solution into the workspace, and return the command that runs it; None without a solution."""
        task = self.tasks[id]
        script = task.folder / SOLUTION / "solve.sh"
        if not script.is_file():
            return None
        folder = f"{task.top}/{SOLUTION}"
        workspace.remove(folder)
        workspace.put(script.parent, folder)

        config = f"{task.folder}/{CONFIG}"
        variables = _resolve(task.config.solution_env, config)
        assignments = []
        for name, value in variables.items():
            assignments.append(f"{name}={value}")
        command = _script_command(task, f"{SOLUTION}/solve.sh")
        return ["env", *assignments, *command]

    def check(self, workspace: AgentWorkspace, id: str) -> Mapping[str, Any]:
        """Copy the tests into the workspace and run them. Return the rewards that the tests write, and their output.

        First remove the test folders, because the agent may have put files there.
        """
        task = self.tasks[id]
        tests = f"{task.top}/{TESTS}"
        solution = f"{task.top}/{SOLUTION}"
        logs = f"{task.top}{VERIFIER_LOGS}"
        for folder in (tests, solution, logs):
            workspace.remove(folder)
        workspace.put(task.folder / TESTS, tests)
        _make_folder(workspace, logs)
        done = _run_tests(workspace, task)

        printed = (done.stdout + done.stderr).decode("utf-8", "replace")
        details: dict[str, Any] = {"tests_output": printed[-MOST_LOG:]}
        if done.ending != "exited":
            details["tests_error"] = f"the tests ended by {done.ending}"
            return details
        try:
            details["rewards"] = read_rewards(workspace, logs)
        except ValueError as error:
            details["tests_error"] = str(error)
        return details


def _prepare_workspace(workspace: AgentWorkspace, task: HarborTask) -> Prepared:
    """Carry out the steps of the Dockerfile in a workspace of this machine."""
    assert task.host is not None
    env = _variables(task)
    for folder in (*LOG_FOLDERS, "/home/user"):
        _make_folder(workspace, f"{ROOT}{folder}")
    deadline = time.monotonic() + task.config.build_seconds
    for host_step in task.host.steps:
        left = deadline - time.monotonic()
        _carry_out(workspace, host_step, task, env, left)
    workspace.exec(["mkdir", "-p", task.workdir])
    return Prepared(task.workdir, env)


def _prepare_container(workspace: ContainerWorkspace, task: HarborTask) -> Prepared:
    """Return a container's working folder and environment variables. The variables include those that the task sets."""
    for folder in LOG_FOLDERS:
        workspace.make_folder(folder)
    where = f"{task.folder}/{CONFIG}"
    env = {
        **variables_inside(workspace),
        **_resolve(task.config.environment_env, where),
    }
    folder = task.config.workdir or folder_inside(workspace)
    return Prepared(folder, env)


def _make_folder(workspace: AgentWorkspace, path: str) -> None:
    """Make a folder that the user of the workspace can write to."""
    if isinstance(workspace, ContainerWorkspace):
        workspace.make_folder(path)
    else:
        workspace.exec(["mkdir", "-p", path])


def _script_command(task: HarborTask, name: str) -> list[str]:
    """Return the command that runs a script of the task with the interpreter in its shebang line."""
    path = f"/{name}"
    if task.container is None:
        return ["bash", path]
    text = (task.folder / name).read_text(
        encoding="utf-8",
        errors="replace",
    )
    if text.startswith("#!"):
        return [*text.partition("\n")[0].removeprefix("#!").split(), path]
    return ["sh", "-c", RUN_SCRIPT, path]


def _run_tests(workspace: AgentWorkspace, task: HarborTask) -> Execution:
    """Run the tests of a task, as the user that `task.toml` sets for them."""
    where = f"{task.folder}/{CONFIG}"
    if isinstance(workspace, ContainerWorkspace):
        workspace.user = task.config.verifier_user
        prepared = _prepare_container(workspace, task)
    else:
        prepared = Prepared(task.workdir, _variables(task))
    env = {**prepared.env, **_resolve(task.config.verifier_env, where)}
    command = _script_command(task, f"{TESTS}/test.sh")
    seconds = task.config.verifier_seconds
    return workspace.exec(command, b"", seconds, env, prepared.folder)


def read_rewards(workspace: AgentWorkspace, folder: str) -> dict[str, float]:
    """Return the rewards that the tests wrote. Raise `ValueError` if there are none."""
    as_json = _read(workspace, f"{folder}/reward.json")
    if as_json is not None:
        values = json.loads(as_json)
        if not isinstance(values, dict):
            values = {"reward": values}
        rewards = {}
        for name, value in values.items():
            is_number = isinstance(value, (int, float)) and math.isfinite(value)
            if not is_number:
                raise ValueError(
                    f"the reward {name!r} is not a number: {value!r}"[:300]
                )
            rewards[str(name)] = float(value)
        return rewards
    as_line = _read(workspace, f"{folder}/reward.txt")
    if as_line is None:
        raise ValueError("the tests wrote no reward")
    value = float(as_line)
    if not math.isfinite(value):
        raise ValueError(f"the reward is not a number: {value}")
    return {"reward": value}


def _read(workspace: AgentWorkspace, path: str) -> str | None:
    try:
        return workspace.read(path).decode("utf-8", "replace").strip()
    except AssayError:
        return None


def _variables(task: HarborTask) -> dict[str, str]:
    """Return the environment variables of a task in a workspace. PATH begins with the current virtual environment."""
    where = f"{task.folder}/{CONFIG}"
    env = {
        **task.dockerfile.env,
        **_resolve(task.config.environment_env, where),
        "HOME": "/home/user",
    }
    if sys.prefix != sys.base_prefix:
        own_programs = [f"{sys.prefix}/bin"]
    else:
        own_programs = []
    usual = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {**env, "PATH": ":".join([*own_programs, PROGRAMS, usual])}


def _resolve(
    env: Mapping[str, str],
    where: str,
) -> dict[str, str]:
    """Replace each `${NAME}` in the values with this machine's environment variable NAME.

    Raise `UsageError` if a variable is not set and the value has no default.
    """

    def replaced(match: re.Match[str]) -> str:
        value = os.environ.get(match[1], match[2])
        if value is None:
            raise UsageError(
                f"the task needs the environment variable {match[1]}",
                where=where,
                fix=f"export {match[1]}=…",
            )
        return value

    return {name: _TEMPLATE.sub(replaced, value) for name, value in env.items()}


def _carry_out(
    workspace: AgentWorkspace,
    host_step: HostStep,
    task: HarborTask,
    env: Mapping[str, str],
    seconds: float,
) -> None:
    """Carry out one step of the Dockerfile in a workspace."""
    step = host_step.step
    if step.kind in ("COPY", "ADD"):
        _copy(workspace, host_step, task)
        return
    variables = {**step.env, **env}
    folder = step.folder if step.kind == "RUN" else "/"
    done = workspace.exec(
        ["sh", "-c", host_step.command],
        b"",
        max(seconds, 0),
        variables,
        folder,
    )
    if not done.succeeded:
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        if done.ending == "exited":
            ended = f"code {done.returncode}"
        else:
            ended = done.ending
        raise UsageError(
            f"line {step.line} of the Dockerfile ended with {ended}: {words[-300:]}",
            where=str(task.context / "Dockerfile"),
            fix="run the task in a container",
        )


def _copy(
    workspace: AgentWorkspace,
    host_step: HostStep,
    task: HarborTask,
) -> None:
    """Carry out a COPY or ADD step in a workspace."""
    step = host_step.step
    destination = os.path.join(step.folder, step.destination)
    paths = copied_files(step, task.context)
    is_folder = step.destination.endswith(("/", ".")) or len(paths) > 1
    for path in paths:
        if path.is_dir():
            workspace.put(path, destination)
        elif is_folder:
            workspace.put(path, os.path.join(destination, path.name))
        else:
            workspace.put(path, destination)
    for name, text in step.inline.items():
        if is_folder:
            target = os.path.join(destination, name)
        else:
            target = destination
        workspace.write(target, text)


def _wait_until_healthy(
    workspace: AgentWorkspace,
    check: HealthCheck,
    task: HarborTask,
    prepared: Prepared,
) -> None:
    """Repeat the task's health check until it succeeds. Raise `UsageError` if it never does."""
    grace_ends = time.monotonic() + check.start_period
    failures = 0
    while True:
        done = workspace.exec(
            ["sh", "-c", check.command],
            b"",
            check.timeout,
            prepared.env,
            prepared.folder,
        )
        if done.succeeded:
            return
        if time.monotonic() >= grace_ends:
            failures += 1
        if failures >= check.retries:
            raise UsageError(
                "the health check of the task did not succeed",
                where=str(task.folder / CONFIG),
                fix="see environment.healthcheck",
            )
        time.sleep(check.interval)
