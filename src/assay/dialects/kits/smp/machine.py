"""The machine and its environment: devices, ranks, versions, the hub's cache, commands."""

import operator
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "get_cache_path",
    "get_cuda_visible_devices",
    "get_gpu_memory",
    "get_rank_and_world_size",
    "githash",
    "load_env",
    "modelscope_flag_set",
    "pip_install_robust",
    "proxy_set",
    "run_command",
    "version_cmp",
    "youtube_dl",
]

_CACHES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


def modelscope_flag_set() -> bool:
    """Whether `$VLMEVALKIT_USE_MODELSCOPE` asks for ModelScope in place of the hub."""
    return os.environ.get("VLMEVALKIT_USE_MODELSCOPE") in ("1", "True")


def HFCacheRoot() -> str:
    """Where the hub's downloads are kept."""
    for name in _CACHES:
        place = os.environ.get(name)
        if place and os.path.exists(place):
            return (
                place if place.split("/")[-1] == "hub" else os.path.join(place, "hub")
            )
    root = os.path.join(os.path.expanduser("~"), ".cache", "huggingface", "hub")
    os.makedirs(root, exist_ok=True)
    return root


def get_cache_path(
    repo_id: str, branch: str | None = "main", repo_type: str = "datasets"
) -> str | None:
    """The newest snapshot of a repository in the hub's cache; `None` if it was never downloaded."""
    repo = Path(HFCacheRoot()) / f"{repo_type}--{repo_id.replace('/', '--')}"
    if branch is not None:
        reference = repo / "refs" / branch
        if not reference.is_file():
            return None
        found = repo / "snapshots" / reference.read_text("utf-8").strip()
        return str(found) if found.is_dir() else None
    snapshots = [place for place in (repo / "snapshots").glob("*") if place.is_dir()]
    return (
        str(max(snapshots, key=lambda place: place.stat().st_mtime))
        if snapshots
        else None
    )


def proxy_set(s: str) -> None:
    """All web traffic goes through this proxy from now on."""
    for key in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        os.environ[key] = s


def get_rank_and_world_size() -> tuple[int, int]:
    """Which process of how many this is, as the environment says; assay spreads work by itself."""
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def get_cuda_visible_devices() -> list[int] | None:
    """The devices of `$CUDA_VISIBLE_DEVICES`; `None` if it is not set."""
    devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    return None if devices is None else [int(device) for device in devices.split(",")]


def get_gpu_memory() -> list[int]:
    """The free memory of each GPU in MiB; empty without one."""
    command = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, timeout=30, check=True
        ).stdout
        return [int(line) for line in found.split()]
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def githash(fallback: str = "unknown", digits: int | None = 8) -> str:
    """The commit of the folder one works in; `fallback` outside a repository."""
    if digits is not None and not isinstance(digits, int):
        raise TypeError("digits must be None or an integer")
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return fallback
    return done.stdout.strip()[:digits]


def run_command(cmd: str | Sequence[str]) -> str:
    """What a command prints; a text is split at its spaces, no shell reads it."""
    return subprocess.check_output(
        cmd.split() if isinstance(cmd, str) else list(cmd)
    ).decode()


def youtube_dl(idx: str) -> None:
    """A video by youtube-dl, where that is installed."""
    subprocess.run(
        ["youtube-dl", "-f", "best", "-f", "mp4", idx, "-o", f"{idx}.mp4"], check=False
    )


def load_env() -> None:
    """Nothing: keys come from the environment, never from a file beside a package."""


def pip_install_robust(package: str) -> bool:
    """Whether a package can be imported; assay installs nothing by itself."""
    import importlib.util

    try:
        return (
            importlib.util.find_spec(package.split("=")[0].strip("<>!~ ")) is not None
        )
    except (ImportError, ValueError):
        return False


def version_cmp(v1: str, v2: str, op: str = "eq") -> bool:
    """Whether two versions stand to each other as `eq`, `ge`, `lt` … say."""
    from packaging import version

    return bool(getattr(operator, op)(version.parse(v1), version.parse(v2)))


def gpt_key_set() -> bool:
    """Whether a judge can be asked: one was given to this run, or the environment has a key."""
    from ..state import current

    if current().judge is not None:
        return True
    key = os.environ.get("OPENAI_API_KEY")
    return (
        key.startswith("sk-")
        if key is not None
        else "AZURE_OPENAI_API_KEY" in os.environ
    )


def apiok(wrapper: Any) -> bool:
    """Whether a model behind an API answers."""
    return wrapper.fail_msg not in wrapper.generate("Hello!")


def default_set(self: Any, args: Any, name: str, default: Any) -> None:
    """An attribute from parsed arguments, or its default."""
    setattr(self, name, getattr(args, name, default))


def fnp(model: Any, input: Any = None) -> tuple[Any, Any]:
    """Parameters and, for an input, floating point operations of a model, counted by fvcore."""
    from fvcore.nn import FlopCountAnalysis, parameter_count  # type: ignore[import-not-found, unused-ignore]

    params = parameter_count(model)[""]
    print(f"Parameter Size: {params / 1024 / 1024:.4f} M")
    if input is None:
        return params, None
    flops = FlopCountAnalysis(model, input).total()
    print(f"FLOPs: {flops / 1024 / 1024 / 1024:.4f} G")
    return params, flops
