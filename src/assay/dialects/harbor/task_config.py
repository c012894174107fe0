"""Read the settings of a Harbor task from `task.toml`, as Harbor itself does.

Numbers may be written as text, as Harbor allows. Unknown keys are ignored.
"""

import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from ...core import EMPTY, UsageError, shorten

T = TypeVar("T")
ORGANISATION_AND_NAME = re.compile(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"
)
SERVICE_NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")
NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
DEVICE_NAME = re.compile(
    r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[1-9¹²³])", re.IGNORECASE
)
NETWORK_MODES = ("no-network", "public", "allowlist")
TRUE_WORDS = ("1", "true", "t", "yes", "y", "on")
FALSE_WORDS = ("0", "false", "f", "no", "n", "off")
SIZES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
VERIFIER_SECONDS = 600.0
BUILD_SECONDS = 600.0


class ConfigFault(ValueError):
    """Raised for a value in `task.toml` that Harbor rejects. The message begins with the value's key."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A command that must succeed before the agent starts."""

    command: str
    interval: float = 5.0
    timeout: float = 30.0
    retries: int = 3
    start_period: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """The settings in `task.toml` that decide how a task runs."""

    agent_seconds: float | None = None
    verifier_seconds: float = VERIFIER_SECONDS
    build_seconds: float = BUILD_SECONDS
    environment_env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    verifier_env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    solution_env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    docker_image: str | None = None
    operating_system: str = "linux"
    memory_mb: int | None = None
    storage_mb: int | None = None
    cpus: float | None = None
    agent_user: str = ""
    """The user who runs the agent in a container; empty for the user of the image."""
    verifier_user: str = ""
    allows_network: bool = False
    """True if `task.toml` allows network access. If it is not set, assay uses False, but Harbor uses True."""
    allowed_hosts: tuple[str, ...] = ()
    gpus: int = 0
    has_tpu: bool = False
    workdir: str | None = None
    healthcheck: HealthCheck | None = None
    has_steps: bool = False
    has_separate_verifier: bool = False
    has_mcp_servers: bool = False
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def read_config(path: Path) -> TaskConfig:
    """Return the settings in a `task.toml`. If a value is invalid, raise `UsageError` with its key."""
    try:
        return config_of(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}",
            where=str(path),
            fix="check the file",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"not TOML: {shorten(error)}",
            where=str(path),
            fix="correct this line",
        ) from error
    except ConfigFault as error:
        raise UsageError(
            str(error),
            where=str(path),
            fix="see Harbor's page on task.toml",
        ) from error


def config_of(values: Mapping[str, Any]) -> TaskConfig:
    """Return the settings in a parsed `task.toml`. Raise `ConfigFault` for a value that Harbor rejects."""
    check_text(values, "schema_version", "version")
    _check_package(_table(values, "task"))
    metadata = _table(values, "metadata")
    agent = _table(values, "agent")
    verifier = _table(values, "verifier")
    environment = _table(values, "environment")
    solution = _table(values, "solution")
    _check_network(agent, "agent", may_be_unset=True)
    _check_network(verifier, "verifier", may_be_unset=True)
    _check_user(agent, "agent")
    _check_user(verifier, "verifier")
    check_text(values, "source")
    _check_artifacts(values.get("artifacts", []))
    strategy = values.get("multi_step_reward_strategy")
    if strategy not in (None, "mean", "final"):
        raise ConfigFault(f"multi_step_reward_strategy cannot be {shorten(strategy)}")
    return TaskConfig(
        agent_seconds=_optional(agent, "agent", "timeout_sec", number),
        verifier_seconds=_number_or(
            verifier, "verifier", "timeout_sec", VERIFIER_SECONDS
        ),
        build_seconds=_number_or(
            environment,
            "environment",
            "build_timeout_sec",
            BUILD_SECONDS,
        ),
        verifier_env=_environment_variables(verifier, "verifier"),
        solution_env=_environment_variables(solution, "solution"),
        agent_user=_user(agent),
        verifier_user=_user(verifier),
        has_steps=_has_steps(values),
        has_separate_verifier=_is_separate(verifier),
        metadata=metadata,
        **_environment_of(environment),
    )


def _environment_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the section `environment`, as fields of `TaskConfig`."""
    name = "environment"
    _check_network(table, name, may_be_unset=False)
    system = table.get("os", "linux")
    if not isinstance(system, str) or system.lower() not in ("linux", "windows"):
        raise ConfigFault(f"environment.os cannot be {shorten(system)}")
    cpus = _optional(table, name, "cpus", number)
    if cpus is not None and not math.isfinite(cpus):
        raise ConfigFault("environment.cpus must be finite")
    is_open = _optional(table, name, "allow_internet", truth) is True
    types = table.get("gpu_types")
    if types is not None and not _is_list_of(types, str):
        raise ConfigFault("environment.gpu_types must be a list of texts")
    for key in ("docker_image", "workdir", "skills_dir"):
        check_text(table, key, prefix=f"{name}.")
    return {
        "environment_env": _environment_variables(table, name),
        "docker_image": table.get("docker_image"),
        "operating_system": system.lower(),
        "memory_mb": _megabytes(table, "memory"),
        "storage_mb": _megabytes(table, "storage"),
        "cpus": cpus,
        "allows_network": table.get("network_mode", "public" if is_open else "")
        == "public",
        "allowed_hosts": tuple(table.get("allowed_hosts") or ()),
        "gpus": _optional(table, name, "gpus", integer) or 0,
        "has_tpu": _has_tpu(table),
        "workdir": table.get("workdir"),
        "healthcheck": _healthcheck(table.get("healthcheck")),
        "has_mcp_servers": bool(_mcp_servers(table)),
    }


def number(value: object) -> float:
    """Convert a number, or a string with a number, to a float. Raise `ValueError` for anything else."""
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        return float(value.strip().replace("_", "") if "_" in value else value)
    raise ValueError("must be a number")


def integer(value: object) -> int:
    """Convert a whole number to an int. It may be a string such as "4", or a float such as 4.0."""
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"[+-]?\d+(\.0*)?", text):
            return int(text.partition(".")[0])
        raise ValueError("must be a whole number")
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ValueError("must be a whole number")


def truth(value: object) -> bool:
    """Convert a value to a boolean. It may be a number or a word such as "true"."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in TRUE_WORDS + FALSE_WORDS:
        return value.lower() in TRUE_WORDS
    raise ValueError("must be true or false")


def check_text(
    table: Mapping[str, Any],
    *keys: str,
    prefix: str = "",
) -> None:
    """Raise if the value of one of these keys is not a string."""
    for key in keys:
        value = table.get(key)
        if value is not None and not isinstance(value, str):
            raise ConfigFault(f"{prefix}{key} must be a text, got {shorten(value)}")


def _table(
    values: Mapping[str, Any],
    name: str,
) -> Mapping[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, Mapping):
        raise ConfigFault(f"{name} must be a table, got {shorten(table)}")
    return table


def _optional(
    table: Mapping[str, Any],
    section: str,
    key: str,
    read: Callable[[Any], T],
) -> T | None:
    """Return the value of a key, converted by `read`; None if the key is not set."""
    value = table.get(key)
    if value is None:
        return None
    try:
        return read(value)
    except ValueError as error:
        reason = f"{section}.{key} is {shorten(value)}"
        raise ConfigFault(f"{reason}: {error}") from error


def _number_or(
    table: Mapping[str, Any],
    section: str,
    key: str,
    usual: float,
) -> float:
    value = _optional(table, section, key, number)
    if value is None:
        return usual
    return float(value)


def _environment_variables(
    table: Mapping[str, Any],
    section: str,
) -> Mapping[str, str]:
    """Return the environment variables in the table `env` of a section."""
    env = table.get("env", {})
    if not isinstance(env, Mapping):
        raise ConfigFault(f"{section}.env must be a table, got {shorten(env)}")
    for name, value in env.items():
        check_text(env, name, prefix=f"{section}.env.")
        if value is None:
            raise ConfigFault(f"{section}.env.{name} has no value")
    return dict(env)


def _megabytes(
    table: Mapping[str, Any],
    kind: str,
) -> int | None:
    """Return a size in MB from the key `<kind>_mb`, or from the older key `<kind>`, whose value has a unit."""
    key = f"{kind}_mb"
    size: int | None = _optional(table, "environment", key, integer)
    older = table.get(kind)
    if not isinstance(older, str):
        return size
    text = older.strip().upper()
    try:
        converted = int(float(text[:-1]) * SIZES[text[-1:]])
    except (KeyError, ValueError) as error:
        reason = f"environment.{kind} is {shorten(older)}: write it as 1G or 512M"
        raise ConfigFault(reason) from error
    if table.get(key) is not None and table[key] != converted:
        raise ConfigFault(f"environment.{kind} and environment.{key} differ")
    return converted


def _check_package(table: Mapping[str, Any]) -> None:
    """Raise if the section `task`, which describes the package, is invalid, for example without a name."""
    if not table:
        return
    name = table.get("name")
    if (
        not isinstance(name, str)
        or not ORGANISATION_AND_NAME.match(name)
        or ".." in name
    ):
        raise ConfigFault(f"task.name must be ORGANISATION/NAME, got {shorten(name)}")
    check_text(table, "description", "version", prefix="task.")
    if table.get("version") == "":
        raise ConfigFault("task.version is empty")
    if not _is_list_of(table.get("keywords", []), str):
        raise ConfigFault("task.keywords must be a list of texts")
    authors = table.get("authors", [])
    if not _is_list_of(authors, Mapping):
        raise ConfigFault("task.authors must be a list of tables")
    for author in authors:
        if not isinstance(author.get("name"), str):
            raise ConfigFault("an author of task.authors has no name")
        check_text(author, "email", prefix="task.authors.")


def _check_network(
    table: Mapping[str, Any],
    section: str,
    *,
    may_be_unset: bool,
) -> None:
    """Raise if the network mode and the allowed hosts of a section contradict each other."""
    mode = table.get("network_mode")
    hosts = table.get("allowed_hosts")
    if mode is not None and mode not in NETWORK_MODES:
        raise ConfigFault(f"{section}.network_mode cannot be {shorten(mode)}")
    if hosts is None:
        return
    if not _is_list_of(hosts, str):
        raise ConfigFault(f"{section}.allowed_hosts must be a list of texts")
    for host in hosts:
        _check_host(host, section)
    if mode != "allowlist" and (hosts or (may_be_unset and mode is None)):
        raise ConfigFault(
            f"{section}.allowed_hosts is for network_mode = 'allowlist' only"
        )


def _check_host(host: str, section: str) -> None:
    """Raise if an entry of the allowed hosts is neither a host name nor an IP address or range."""
    from ipaddress import ip_address, ip_network

    text = host.strip().lower().rstrip(".")
    try:
        if "/" in text:
            ip_network(text, strict=True)
            return
        if ":" in text:
            ip_address(text)
            return
    except ValueError as error:
        reason = f"{section}.allowed_hosts: {shorten(host)} is not a range or address"
        raise ConfigFault(reason) from error
    bare = text.removeprefix("*.")
    labels = bare.split(".")
    pattern = re.compile(r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$")
    is_address = re.fullmatch(r"\d+(\.\d+){3}", bare) is not None
    if not all(map(pattern.match, labels)) or (bare != text and is_address):
        raise ConfigFault(
            f"{section}.allowed_hosts: {shorten(host)} is not a host name"
        )


def _check_user(
    table: Mapping[str, Any],
    section: str,
) -> None:
    user = table.get("user")
    if user is not None and not isinstance(user, (str, int)):
        if isinstance(user, float) and user.is_integer():
            return
        raise ConfigFault(f"{section}.user must be a name or a number")


def _user(table: Mapping[str, Any]) -> str:
    """Return the user that a section sets, as a string, even if it is a number; empty if there is none."""
    user = table.get("user")
    if user is None:
        return ""
    if isinstance(user, float):
        return str(int(user))
    return str(user)


def _healthcheck(value: object) -> HealthCheck | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not isinstance(value.get("command"), str):
        raise ConfigFault("environment.healthcheck needs a command")
    section = "environment.healthcheck"
    retries = _optional(value, section, "retries", integer)
    _number_or(value, section, "start_interval_sec", 5.0)
    return HealthCheck(
        value["command"],
        _number_or(value, section, "interval_sec", 5.0),
        _number_or(value, section, "timeout_sec", 30.0),
        3 if retries is None else retries,
        _number_or(value, section, "start_period_sec", 0.0),
    )


def _has_tpu(table: Mapping[str, Any]) -> bool:
    tpu = table.get("tpu")
    if tpu is None:
        return False
    if not isinstance(tpu, Mapping) or not tpu.get("type"):
        raise ConfigFault("environment.tpu needs a type")
    topology = tpu.get("topology")
    if not isinstance(topology, str) or not re.match(
        r"^[1-9]\d*(x[1-9]\d*)+$", topology.strip()
    ):
        raise ConfigFault(f"environment.tpu.topology cannot be {shorten(topology)}")
    return True


def _mcp_servers(table: Mapping[str, Any]) -> list[Any]:
    servers = table.get("mcp_servers", [])
    if not _is_list_of(servers, Mapping):
        raise ConfigFault("environment.mcp_servers must be a list of tables")
    for server in servers:
        if not isinstance(server.get("name"), str):
            raise ConfigFault("a server of environment.mcp_servers has no name")
        transport = server.get("transport", "sse")
        if transport not in ("stdio", "sse", "streamable-http", "http"):
            raise ConfigFault(f"an MCP server cannot use {shorten(transport)}")
        needed = "command" if transport == "stdio" else "url"
        if not server.get(needed) or not isinstance(server[needed], str):
            raise ConfigFault(f"the MCP server {server['name']!r} has no {needed}")
        if not _is_list_of(server.get("args", []), str):
            raise ConfigFault("args of an MCP server must be a list of texts")
    return list(servers)


def _has_steps(values: Mapping[str, Any]) -> bool:
    """Return True if the task has steps. Raise if the settings of a step are invalid."""
    steps = values.get("steps")
    if steps is None:
        return False
    if not _is_list_of(steps, Mapping):
        raise ConfigFault("steps must be a list of tables")
    names: set[str] = set()
    for step in steps:
        name = step.get("name")
        if not isinstance(name, str) or not _is_step_name(name):
            raise ConfigFault(f"a step cannot be called {shorten(name)}")
        names.add(unicodedata.normalize("NFC", name).casefold())
        _check_step(step)
    if len(names) < len(steps):
        raise ConfigFault("two steps have the same name")
    return bool(steps)


def _is_step_name(name: str) -> bool:
    """Return True if the name of a step is a valid folder name on every system."""
    is_device = DEVICE_NAME.fullmatch(name.partition(".")[0].rstrip(" "))
    if not name.strip() or name.endswith((".", " ")) or is_device:
        return False
    return not NOT_IN_NAMES.search(name) and len(name.encode("utf-8")) <= 255


def _check_step(step: Mapping[str, Any]) -> None:
    """Raise if the settings of a step are invalid."""
    agent = _table(step, "agent")
    verifier = _table(step, "verifier")
    for name, table in (("agent", agent), ("verifier", verifier)):
        _optional(table, f"steps.{name}", "timeout_sec", number)
        _check_network(table, f"steps.{name}", may_be_unset=True)
        _check_user(table, f"steps.{name}")
    _environment_variables(verifier, "steps.verifier")
    _is_separate(verifier)
    _healthcheck(step.get("healthcheck"))
    _check_artifacts(step.get("artifacts", []))
    least = step.get("min_reward")
    if isinstance(least, Mapping):
        rewards = list(least.values())
    else:
        rewards = [least]
    for reward in rewards:
        _optional({"min_reward": reward}, "steps", "min_reward", number)


def _check_artifacts(artifacts: object) -> None:
    """Raise if an artifact of the task has no source, or if its path is outside the artifacts folder."""
    if not isinstance(artifacts, list):
        raise ConfigFault("artifacts must be a list")
    for artifact in artifacts:
        if isinstance(artifact, str):
            artifact = {"source": artifact}
        if not isinstance(artifact, Mapping):
            raise ConfigFault(f"an artifact is a text or a table, got {artifact!r}")
        source, destination = artifact.get("source"), artifact.get("destination")
        if not isinstance(source, str) or ".." in PurePosixPath(source).parts:
            raise ConfigFault(f"artifacts: the source cannot be {shorten(source)}")
        if destination is None or destination == "":
            continue
        if not isinstance(destination, str) or not _is_inside(destination):
            reason = f"the destination cannot be {shorten(destination)}"
            raise ConfigFault(f"artifacts: {reason}")


def _is_inside(path: str) -> bool:
    """Return True if a path is inside the artifacts folder and is not that folder's `manifest.json`."""
    parts = PurePosixPath(path).parts
    if "\\" in path or path.startswith("/") or not parts or ".." in parts:
        return False
    return path.rstrip("/") != "manifest.json"


def _is_separate(verifier: Mapping[str, Any]) -> bool:
    """Return True if the tests run in a separate environment. Raise if the verifier's settings are invalid."""
    mode = verifier.get("environment_mode")
    environment = verifier.get("environment")
    if mode not in (None, "shared", "separate"):
        raise ConfigFault(f"verifier.environment_mode cannot be {shorten(mode)}")
    if environment is not None:
        if not isinstance(environment, Mapping):
            raise ConfigFault("verifier.environment must be a table")
        _environment_of(environment)
        if mode == "shared":
            raise ConfigFault("verifier.environment is for a separate verifier only")
    collect = verifier.get("collect", [])
    if not _is_list_of(collect, Mapping):
        raise ConfigFault("verifier.collect must be a list of tables")
    for entry in collect:
        service = entry.get("service", "main")
        if not isinstance(entry.get("command"), str):
            raise ConfigFault("an entry of verifier.collect has no command")
        if not isinstance(service, str) or not SERVICE_NAME.match(service.strip()):
            raise ConfigFault(f"verifier.collect: no service is called {service!r}")
    return mode == "separate" or environment is not None


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(entry, kind) for entry in value)
