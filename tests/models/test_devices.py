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
