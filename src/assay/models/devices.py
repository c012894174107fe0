"""Detect the devices and libraries of this machine without importing torch, so that planning takes milliseconds."""

import ctypes
import importlib.util
import os
import platform
import re
from ctypes.util import find_library
from functools import lru_cache
from importlib import metadata

NAME = re.compile(r"(?P<kind>[a-z]+)(?::(?P<index>\d+))?")
LIBRARIES = ("libnvidia-ml.so.1", "nvml.dll")
ROCM = "/dev/kfd"
VIDEO_LIBRARIES = ("torchvision", "av")
"""The libraries required for videos: transformers' video processors use torchvision, and av decodes the files."""


def missing_device(device: str) -> str | None:
    """Return the reason why a device cannot be used here; None if it can, or if only torch can check that."""
    named = NAME.fullmatch(device.strip().lower())
    if named is None or named["kind"] == "cpu":
        return None
    kind = named["kind"]
    index = int(named["index"] or 0)
    if kind == "mps":
        is_apple = platform.system() == "Darwin" and platform.machine() == "arm64"
        if is_apple:
            return None
        return "mps needs a Mac with an M chip, and this is not one"
    if kind != "cuda":
        return None
    if _torch_version().endswith("+cpu"):
        return (
            f"the torch that is installed ({_torch_version()}) computes on the CPU only"
        )
    if os.path.exists(ROCM):
        return None  # torch also calls AMD's cards cuda, and only torch can count them
    count = _cuda_devices()
    if count == 0:
        return "this machine has no CUDA device"
    if count is not None and index >= count:
        return (
            f"this machine has {count} CUDA device{'s' * (count > 1)}, counted from 0"
        )
    return None


def cuda_devices() -> int:
    """Return the number of CUDA devices that torch would find; 0 if unknown."""
    if missing_device("cuda") is not None:
        return 0
    return _cuda_devices() or 0


@lru_cache(maxsize=1)
def cuda_memory() -> int | None:
    """Return the memory of the smallest CUDA device in bytes; None if the driver does not report it."""

    class Memory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

    for name in LIBRARIES:
        try:
            driver = ctypes.CDLL(name)
            if driver.nvmlInit_v2() != 0:
                return None
            sizes = []
            for index in range(_driver_count() or 0):
                handle = ctypes.c_void_p()
                memory = Memory()
                driver.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
                if driver.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0:
                    sizes.append(int(memory.total))
            driver.nvmlShutdown()
            return min(sizes, default=None)
        except (OSError, AttributeError):
            continue
    return None


def _torch_version() -> str:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def _cuda_devices() -> int | None:
    """Return the number of CUDA devices that this process may use: 0 without a driver, None if unknown."""
    count = _driver_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or count is None:
        return count
    devices = [entry.strip() for entry in visible.split(",") if entry.strip()]
    if "-1" in devices:
        devices = devices[
            : devices.index("-1")
        ]  # CUDA ignores everything after the first invalid index
    return min(count, len(devices))


@lru_cache(maxsize=1)
def _driver_count() -> int | None:
    """Return the device count that the CUDA driver reports. No device is opened, so the process can still fork."""
    for name in LIBRARIES:
        try:
            driver = ctypes.CDLL(name)
            count = ctypes.c_uint(0)
            if driver.nvmlInit_v2() != 0:
                return 0
            try:
                if driver.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0:
                    return count.value
                return None
            finally:
                driver.nvmlShutdown()
        except (OSError, AttributeError):
            continue
    return None if find_library("cuda") else 0


def missing_for_videos() -> list[str]:
    """Return the libraries required for videos that are not installed."""
    return [name for name in VIDEO_LIBRARIES if importlib.util.find_spec(name) is None]
