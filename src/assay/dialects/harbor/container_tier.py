"""Decide whether a task's environment can run in a docker or podman container, and start the container.

In assay's settings this is the tier `container`. The Dockerfile is built once for each
content of `environment/`. The image is kept and reused by later runs.
"""

import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ...core import UsageError, digest_of
from ...sandbox.container import (
    ContainerEngine,
    ContainerLimits,
    ask_engine,
    find_engine,
)
from ...sandbox.container_workspace import (
    ContainerWorkspace,
    build_image,
    remove_stale_containers,
)
from ...sandbox.running import Stopper
from .dockerfile import Dockerfile, substitute
from .host_tier import NETWORK_PROGRAMS, CannotRun
from .task_config import TaskConfig

TierName = Literal["auto", "host", "container"]
TIER_NAMES: tuple[TierName, ...] = ("auto", "host", "container")
IMAGE_PREFIX = "assay-task"
USUAL_MEMORY_MB = 2048
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc")
"""Folders of the image with its programs. Nothing is mounted over them."""
_INSTALLERS = "apt-get|apt|apk|yum|dnf|pip[0-9.]*|uv|npm|yarn|pnpm|gem|conda|go|cargo"
_INSTALLS = re.compile(rf"\b({_INSTALLERS})\s[^;&|\n]*?\b(install|add|update|get|ci)\b")
_FETCHES = re.compile(r"\bgit\s+(clone|fetch|pull|submodule)\b")
_building: dict[str, threading.Lock] = {}
_building_lock = threading.Lock()
_swept: set[ContainerEngine] = set()


class NeedsEngine(CannotRun):
    """Raised if a task needs docker or podman to run an image, and none is available."""


@dataclass(frozen=True)
class Tiers:
    """The tiers (`host` or `container`) that a run may use for its tasks, and the container engine of this machine."""

    name: TierName = "auto"
    engine_name: str = ""
    build_network: bool = False
    """True if RUN steps may use the network and base images may be downloaded."""

    @cached_property
    def engine(self) -> tuple[ContainerEngine | None, str]:
        """The container engine; None and a reason if there is none. The search runs once, when first needed."""
        return find_engine(self.engine_name)

    @property
    def fix(self) -> str:
        """Advice for the error message if a task needs a container engine and none is available."""
        return f"install podman or start docker ({self.engine[1]})"


def read_tiers(args: Mapping[str, Any]) -> Tiers:
    """Return the allowed tiers from the run's `--agent_args`. Raise `UsageError` for an unknown value."""
    name = str(args.get("tier", "auto"))
    network = str(args.get("build_network", "off")).lower()
    for tier in TIER_NAMES:
        if tier == name:
            break
    else:
        raise UsageError(
            f"there is no tier {name!r}",
            where="--agent_args tier",
            fix=", ".join(TIER_NAMES),
        )
    if network not in ("on", "off", "true", "false"):
        raise UsageError(
            f"build_network cannot be {network!r}",
            where="--agent_args",
            fix="on or off",
        )
    return Tiers(tier, str(args.get("engine", "")), network in ("on", "true"))


@dataclass(frozen=True)
class ContainerPlan:
    """How to start a container for a task: the image, and how to build it."""

    engine: ContainerEngine = field(repr=False)
    image: str
    """Name of the image from which containers are started."""
    context: Path | None = None
    """The build context: the folder with the Dockerfile. None if the task uses a prebuilt image."""
    network: bool = False
    notes: tuple[str, ...] = ()


def plan_container(
    folder: Path,
    config: TaskConfig,
    dockerfile: Dockerfile | None,
    tiers: Tiers,
) -> ContainerPlan:
    """Return how a task runs in a container. Raise `CannotRun` with the first reason why it cannot."""
    engine = tiers.engine[0]
    if engine is None:
        raise NeedsEngine("it needs an image engine")
    notes = []
    if config.allowed_hosts:
        notes.append("hosts that it names, which containers do not reach")
    if config.docker_image is not None:
        _need_image(engine, config.docker_image, "its image")
        return ContainerPlan(engine, config.docker_image, notes=tuple(notes))
    if dockerfile is None:
        raise CannotRun("it has no Dockerfile")
    context = folder / "environment"
    network = tiers.build_network or config.allows_network
    bases = base_images(dockerfile)
    ids = [ask_engine(engine.image(name)).output for name in bases]
    how = engine.build(Path(), "", network=False)
    digest = digest_of([_files_of(context), bases, ids, how])
    tag = f"{IMAGE_PREFIX}:{digest[:24]}"
    is_built = not ask_engine(engine.image(tag)).fault
    if not network and not is_built:
        for name in bases:
            _need_image(engine, name, "its base image")
        _check_downloads(dockerfile)
    return ContainerPlan(engine, tag, context, network, tuple(notes))


def base_images(dockerfile: Dockerfile) -> list[str]:
    """Return the images in FROM and `COPY --from`, except stages of the Dockerfile itself."""
    stages: list[str] = []
    images: list[str] = []
    for step in dockerfile.steps:
        name = step.flags.get("from", "")
        stage = ""
        if step.kind == "FROM":
            words = substitute(step.text, step.env).split()
            words = [word for word in words if not word.startswith("--")]
            name = words[0] if words else ""
            if len(words) == 3:
                stage = words[2].lower()
            else:
                stage = str(len(stages))
        is_stage = name.lower() in stages or name.isdigit() or name == "scratch"
        if name and not is_stage and name not in images:
            images.append(name)
        if stage:
            stages.append(stage)
    return images


def _need_image(
    engine: ContainerEngine,
    name: str,
    role: str,
) -> None:
    """Raise if an image is not on this machine."""
    if ask_engine(engine.image(name)).fault:
        pull = f"{engine.program} pull {name}"
        raise CannotRun(f"{role} {name} is not here ({pull})")


def _check_downloads(dockerfile: Dockerfile) -> None:
    """Raise `CannotRun` if a RUN step downloads something. Called only for builds without network access."""
    for step in dockerfile.steps:
        if step.kind != "RUN":
            continue
        program = program_that_downloads(step.text)
        if program:
            reason = f"its Dockerfile downloads with {program}"
            raise CannotRun(f"{reason} (--agent_args build_network=on)")


def program_that_downloads(text: str) -> str:
    """Return the first program in a shell command line that downloads something; empty if there is none."""
    match = _INSTALLS.search(text)
    if match:
        return match[1]
    if _FETCHES.search(text):
        return "git"
    for command in re.split(r"[;&|\n(]+", text):
        words = command.split()
        if words and words[0] in NETWORK_PROGRAMS and "://" in command:
            return words[0]
    return ""


def _files_of(folder: Path) -> list[list[str]]:
    """Return the name, mode and digest of each file that is built into an image from a folder."""
    files: list[list[str]] = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            files.append([name, "link", str(path.readlink())])
        elif path.is_file():
            mode = f"{path.stat().st_mode:o}"
            files.append([name, mode, digest_of(path.read_bytes())])
    return files


def open_container(
    plan: ContainerPlan,
    config: TaskConfig,
    visible: Sequence[str],
    stopper: Stopper,
) -> ContainerWorkspace:
    """Start a container from the image of a task. If the image does not exist, build it first."""
    engine = plan.engine
    with _building_lock:
        if engine not in _swept:
            remove_stale_containers(engine)
            _swept.add(engine)
        lock = _building.setdefault(plan.image, threading.Lock())
    with lock:
        if plan.context is not None and ask_engine(engine.image(plan.image)).fault:
            build_image(
                engine,
                plan.context,
                plan.image,
                network=plan.network,
                seconds=config.build_seconds,
                stopper=stopper,
            )
    limits = ContainerLimits(config.memory_mb or USUAL_MEMORY_MB, _cpus(config))
    return ContainerWorkspace(
        engine,
        plan.image,
        limits,
        user=config.agent_user,
        mounts=mounted_folders(visible),
        stopper=stopper,
    )


def mounted_folders(visible: Sequence[str]) -> list[str]:
    """Return the folders in `visible` that do not hide the image's programs when they are mounted."""
    folders: list[str] = []
    for path in visible:
        of_system = any(
            path == top or path.startswith(f"{top}/") for top in SYSTEM_FOLDERS
        )
        if not of_system:
            folders.append(path)
    return list(dict.fromkeys(folders))


def _cpus(config: TaskConfig) -> float | None:
    """Return the number of CPUs for a container, limited to those of this machine. Engines refuse higher numbers."""
    if config.cpus is None or config.cpus <= 0:
        return None
    return min(config.cpus, float(os.cpu_count() or 1))


def variables_inside(workspace: ContainerWorkspace) -> dict[str, str]:
    """Return the environment variables that commands see inside a container, such as PATH and HOME."""
    done = workspace.exec(["cat", "/proc/self/environ"])
    env: dict[str, str] = {}
    for pair in done.stdout.decode("utf-8", "replace").split("\0"):
        name, equals, value = pair.partition("=")
        if equals and name not in ("PWD", "HOSTNAME", "container"):
            env[name] = value
    return env


def folder_inside(workspace: ContainerWorkspace) -> str:
    """Return the working folder inside a container, as its image sets it."""
    done = workspace.exec(["pwd"])
    return done.stdout.decode("utf-8", "replace").strip() or "/"
