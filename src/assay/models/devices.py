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
FUNCTIONS = (
    "nvmlInit_v2",
    "nvmlShutdown",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetMemoryInfo",
)
"""The functions of the driver library that are called."""
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
    count = _count_visible_devices()
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
    return _count_visible_devices() or 0


@lru_cache(maxsize=1)
def cuda_memory() -> int | None:
    """Return the memory in bytes of the smallest CUDA device that this process may use.

    Return None if the driver does not report it. Devices are numbered as with
    `CUDA_DEVICE_ORDER=PCI_BUS_ID`.
    """
    count = _driver_count() or 0
    devices = _visible_devices()
    if devices is None:
        devices = [str(index) for index in range(count)]
    driver = _load_driver()
    if driver is None or driver.nvmlInit_v2() != 0:
        return None
    try:
        sizes = [_memory_of(driver, device) for device in devices[:count]]
    finally:
        driver.nvmlShutdown()
    known_sizes = [size for size in sizes if size is not None]
    if not sizes or len(known_sizes) < len(sizes):
        return None
    return min(known_sizes)


class _Memory(ctypes.Structure):
    """The sizes that the driver library reports for a device, in bytes."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def _memory_of(driver: ctypes.CDLL, device: str) -> int | None:
    """Return the memory of a device in bytes, given its number or UUID; None if the driver does not know it."""
    handle = ctypes.c_void_p()
    memory = _Memory()
    if device.isdecimal():
        status = driver.nvmlDeviceGetHandleByIndex_v2(int(device), ctypes.byref(handle))
    else:
        status = driver.nvmlDeviceGetHandleByUUID(device.encode(), ctypes.byref(handle))
    if status != 0:
        return None
    if driver.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) != 0:
        return None
    return int(memory.total)


def _torch_version() -> str:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def _count_visible_devices() -> int | None:
    """Return the number of CUDA devices that this process may use: 0 without a driver, None if unknown."""
    count = _driver_count()
    devices = _visible_devices()
    if devices is None or count is None:
        return count
    return min(count, len(devices))


def _visible_devices() -> list[str] | None:
    """Return the numbers or UUIDs in `CUDA_VISIBLE_DEVICES`; None if it is not set."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return None
    devices = [entry.strip() for entry in visible.split(",") if entry.strip()]
    if "-1" in devices:
        # CUDA ignores everything after the first invalid index.
        return devices[: devices.index("-1")]
    return devices


@lru_cache(maxsize=1)
def _driver_count() -> int | None:
    """Return the device count that the CUDA driver reports. No device is opened, so the process can still fork."""
    driver = _load_driver()
    if driver is None:
        return None if find_library("cuda") else 0
    if driver.nvmlInit_v2() != 0:
        return 0
    count = ctypes.c_uint(0)
    try:
        if driver.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0:
            return count.value
        return None
    finally:
        driver.nvmlShutdown()


def _load_driver() -> ctypes.CDLL | None:
    """Load NVIDIA's driver library (NVML); None if there is none, or one without the functions used here."""
    for name in LIBRARIES:
        try:
            driver = ctypes.CDLL(name)
            if all(hasattr(driver, function) for function in FUNCTIONS):
                return driver
        except OSError:
            continue
    return None


def missing_for_videos() -> list[str]:
    """Return the libraries required for videos that are not installed."""
    return [name for name in VIDEO_LIBRARIES if importlib.util.find_spec(name) is None]
