"""Which devices this machine has, found without importing torch: a plan is made in milliseconds."""

import ctypes
import os
import platform
import re
from ctypes.util import find_library
from functools import lru_cache
from importlib import metadata

NAME = re.compile(r"(?P<kind>[a-z]+)(?::(?P<index>\d+))?")
LIBRARIES = ("libnvidia-ml.so.1", "nvml.dll")
ROCM = "/dev/kfd"


def missing_device(device: str) -> str | None:
    """Why a device cannot be computed on here; `None` where it can, or where only torch can tell."""
    named = NAME.fullmatch(device.strip().lower())
    if named is None or named["kind"] == "cpu":
        return None
    kind, index = named["kind"], int(named["index"] or 0)
    if kind == "mps":
        is_apple = platform.system() == "Darwin" and platform.machine() == "arm64"
        return None if is_apple else "mps is Apple's, and this is no Mac with an M chip"
    if kind != "cuda":
        return None
    if _torch_version().endswith("+cpu"):
        return (
            f"the torch that is installed ({_torch_version()}) computes on the CPU only"
        )
    if os.path.exists(ROCM):
        return None  # AMD's cards are called cuda by torch, and only torch counts them
    count = _cuda_devices()
    if count == 0:
        return "this machine has no CUDA device"
    if count is not None and index >= count:
        return (
            f"this machine has {count} CUDA device{'s' * (count > 1)}, counted from 0"
        )
    return None


def _torch_version() -> str:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def _cuda_devices() -> int | None:
    """How many CUDA devices this process may use; 0 without a driver, `None` where nobody says."""
    count = _driver_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or count is None:
        return count
    devices = [one.strip() for one in visible.split(",") if one.strip()]
    if "-1" in devices:
        devices = devices[
            : devices.index("-1")
        ]  # what follows an index that is no device is not seen
    return min(count, len(devices))


@lru_cache(maxsize=1)
def _driver_count() -> int | None:
    """What the driver's own library counts. It opens no device, so that a process may still be forked."""
    for name in LIBRARIES:
        try:
            driver = ctypes.CDLL(name)
            count = ctypes.c_uint(0)
            if driver.nvmlInit_v2() != 0:
                return 0
            try:
                return (
                    count.value
                    if driver.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
                    else None
                )
            finally:
                driver.nvmlShutdown()
        except (OSError, AttributeError):
            continue
    return None if find_library("cuda") else 0
