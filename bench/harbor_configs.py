"""`task.toml` read by assay and by harbor itself: the files of a git repository, and broken ones made of them.

    python bench/harbor_configs.py GIT_DIRECTORY [--broken 2000]

The environment needs assay and harbor 0.25. Every file must be valid for both or for neither, with the same values.
"""

import argparse
import random
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

VALUES = (
    "-1",
    "0",
    "1.5",
    '"10"',
    '"x"',
    "true",
    "[]",
    "{}",
    "nan",
    "inf",
    '""',
    '"8G"',
    '"windows"',
    "[1]",
    '{ A = "b" }',
    "{ A = 1 }",
    '"60.0"',
    "1e9",
    '"no-network"',
    "2026-01-01",
)
KEYS = (
    "timeout_sec", "memory_mb", "storage_mb", "cpus", "gpus", "build_timeout_sec", "env", "docker_image", "workdir",
    "os", "memory", "storage", "network_mode", "allow_internet", "user", "schema_version", "version", "name", "steps",
    "healthcheck", "mcp_servers", "skills_dir", "environment_mode", "tags", "difficulty", "artifacts", "source",
)  # fmt: skip


def files_of(repository: Path) -> dict[str, str]:
    """Return the settings files of a repository by path."""
    git = ["git", "-C", str(repository)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "HEAD"], capture_output=True, text=True, check=True
    )
    digests = {}
    for line in listed.stdout.splitlines():
        details, path = line.split("\t", 1)
        if path.endswith("/task.toml"):
            digests[path] = details.split()[2]
    question = "".join(f"{digest}\n" for digest in digests.values())
    answer = subprocess.run(
        [*git, "cat-file", "--batch"],
        input=question.encode(),
        capture_output=True,
        check=True,
    ).stdout
    texts = {}
    start = 0
    for path in digests:
        end = answer.index(b"\n", start)
        size = int(answer[start:end].split()[2])
        texts[path] = answer[end + 1 : end + 1 + size].decode()
        start = end + 2 + size
    return texts


def broken(text: str, draw: random.Random) -> str:
    """Return a file with one or two changes, most of which break it."""
    lines = text.splitlines()
    for _ in range(draw.choice((1, 1, 2))):
        number = draw.randrange(len(lines))
        way = draw.randrange(6)
        line = lines[number]
        if way == 0:
            del lines[number]
        elif way == 1 and "=" in line:
            lines[number] = f"{line.split('=')[0]}= {draw.choice(VALUES)}"
        elif way == 2:
            lines.insert(number, f"{draw.choice(KEYS)} = {draw.choice(VALUES)}")
        elif way == 3:
            lines[number] = line[: len(line) // 2]
        elif way == 4:
            section = draw.choice(("agent", "verifier", "environment", "solution"))
            lines.append(f"[{section}.env]")
            lines.append(f"{draw.choice(KEYS)} = {draw.choice(VALUES)}")
        elif line.startswith("["):
            at = min(number + 1, len(lines))
            lines.insert(at, f"{draw.choice(KEYS)} = {draw.choice(VALUES)}")
        if not lines:
            break
    return "\n".join(lines)


def by_assay(text: str) -> list[Any] | None:
    """Return the values that decide how a task runs; None if assay refuses the file."""
    from assay.dialects.harbor.task_config import ConfigFault, config_of

    try:
        config = config_of(tomllib.loads(text))
    except (ConfigFault, tomllib.TOMLDecodeError):
        return None
    return [
        config.agent_seconds,
        config.verifier_seconds,
        config.build_seconds,
        config.memory_mb,
        config.storage_mb,
        config.gpus or None,
        config.docker_image,
        config.operating_system,
        config.workdir,
        dict(config.environment_env),
        dict(config.verifier_env),
        dict(config.solution_env),
    ]


def by_harbor(text: str) -> list[Any] | None:
    """Return the same values as harbor reads them; None if harbor refuses the file."""
    from harbor.models.task.config import TaskConfig

    try:
        config = TaskConfig.model_validate_toml(text)
    except (ValueError, TypeError, tomllib.TOMLDecodeError):
        return None
    place = config.environment
    system = str(getattr(place.os, "value", place.os))
    return [
        config.agent.timeout_sec,
        config.verifier.timeout_sec,
        place.build_timeout_sec,
        place.memory_mb,
        place.storage_mb,
        place.gpus or None,
        place.docker_image,
        system,
        place.workdir,
        dict(place.env),
        dict(config.verifier.env),
        dict(config.solution.env),
    ]


def main() -> None:
    """Compare all files and the broken ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--broken", type=int, default=2000)
    arguments = parser.parse_args()
    texts = files_of(arguments.repository)
    draw = random.Random(0)
    whole = sorted(texts.values())
    changed = [broken(draw.choice(whole), draw) for _ in range(arguments.broken)]
    different = []
    refused = 0
    for label, group in (("folders", list(texts.values())), ("changed", changed)):
        for text in group:
            ours, theirs = by_assay(text), by_harbor(text)
            refused += theirs is None
            if repr(ours) != repr(theirs):  # so that nan equals nan
                different.append((label, text, ours, theirs))
        print(
            f"{len(group)} files ({label}), {refused} refused by harbor, {len(different)} differ"
        )
    for label, text, ours, theirs in different[:10]:
        print(f"--- {label}\n{text}\nassay: {ours}\nharbor: {theirs}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
