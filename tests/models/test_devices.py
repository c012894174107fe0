"""Devices are looked for without torch, before anything is loaded."""

import subprocess
import sys

import pytest

from assay.core import UsageError
from assay.models import devices
from assay.models.devices import missing_device
from assay.runner.options import RunOptions
from assay.runner.plan.checks import check_device


@pytest.fixture
def machine(monkeypatch):
    """A machine with a build of torch and so many cards."""

    def make(
        torch="2.9.0", cards=0, visible=None, system=("Linux", "x86_64"), rocm=False
    ):
        monkeypatch.setattr(devices, "_torch_version", lambda: torch)
        monkeypatch.setattr(devices, "_driver_count", lambda: cards)
        monkeypatch.setattr(devices.platform, "system", lambda: system[0])
        monkeypatch.setattr(devices.platform, "machine", lambda: system[1])
        monkeypatch.setattr(devices.os.path, "exists", lambda path: rocm)
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    return make


@pytest.mark.parametrize(
    ("device", "settings", "why"),
    [
        ("cpu", {}, None),
        ("cuda", {}, "this machine has no CUDA device"),
        (
            "cuda",
            {"torch": "2.9.0+cpu"},
            "the torch that is installed (2.9.0+cpu) computes on the CPU only",
        ),
        ("cuda", {"cards": 1}, None),
        ("cuda:1", {"cards": 1}, "this machine has 1 CUDA device, counted from 0"),
        ("cuda:1", {"cards": 2}, None),
        (
            "cuda:1",
            {"cards": 2, "visible": "1"},
            "this machine has 1 CUDA device, counted from 0",
        ),
        ("cuda", {"cards": 2, "visible": ""}, "this machine has no CUDA device"),
        ("cuda", {"cards": 2, "visible": "-1"}, "this machine has no CUDA device"),
        ("cuda", {"cards": None}, None),
        ("cuda", {"rocm": True}, None),
        ("mps", {}, "mps needs a Mac with an M chip, and this is not one"),
        ("mps", {"system": ("Darwin", "arm64")}, None),
        ("xpu", {}, None),
        ("no device at all", {}, None),
    ],
)
def test_a_device_that_is_not_here_is_named_with_the_reason(
    machine, device, settings, why
):
    machine(**settings)

    assert missing_device(device) == why


class Cell:
    model_name = "hf/x"

    def __init__(self, device, executor=None):
        self.model = type("Local", (), {"device": device})()
        self.run = RunOptions(executor=executor)


def test_the_plan_refuses_it_unless_the_model_is_loaded_elsewhere(machine):
    machine()

    with pytest.raises(
        UsageError,
        match="hf/x: device=cuda: this machine has no CUDA device; fix: --device cpu",
    ):
        check_device(Cell("cuda"))
    check_device(Cell("cuda", executor="ray"))
    check_device(Cell(None))


def test_looking_does_not_import_torch():
    code = (
        "import sys; from assay.models.devices import missing_device; missing_device('cuda');"
        " sys.exit('torch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Driver:
    """A driver library with cards of given sizes, by their UUIDs."""

    def __init__(self, cards):
        self.cards = cards
        self.is_open = False

    def nvmlInit_v2(self):
        self.is_open = True
        return 0

    def nvmlShutdown(self):
        self.is_open = False
        return 0

    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = len(self.cards)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, handle):
        if index >= len(self.cards):
            return 2
        handle._obj.value = index + 1
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid, handle):
        names = list(self.cards)
        if uuid.decode() not in names:
            return 6
        return self.nvmlDeviceGetHandleByIndex_v2(names.index(uuid.decode()), handle)

    def nvmlDeviceGetMemoryInfo(self, handle, memory):
        assert self.is_open
        memory._obj.total = list(self.cards.values())[handle.value - 1]
        return 0


@pytest.mark.parametrize(
    ("visible", "memory"),
    [
        (None, 2),
        ("0", 80),
        ("0,2", 40),
        ("GPU-c", 40),
        ("1,-1,0", 2),
        ("", None),
        ("7", None),
        ("0,7", None),
        ("GPU-unknown", None),
    ],
)
def test_memory_is_that_of_the_smallest_visible_card(monkeypatch, visible, memory):
    driver = Driver({"GPU-a": 80, "GPU-b": 2, "GPU-c": 40})
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda name: driver)
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    devices.cuda_memory.cache_clear()
    devices._driver_count.cache_clear()

    try:
        assert devices.cuda_memory() == memory
    finally:
        devices.cuda_memory.cache_clear()
        devices._driver_count.cache_clear()
    assert not driver.is_open
