"""The device a model was told to compute on: one that this machine does not have is refused before anything loads."""

from ...core import OnDevice, UsageError
from ...models.devices import missing_device
from .cell import Cell


def check_device(cell: Cell) -> None:
    """Refuses a device that is not here; on a Ray cluster the model is loaded elsewhere, and nothing is said."""
    model = cell.model
    if cell.run.executor == "ray" or not isinstance(model, OnDevice) or not isinstance(model.device, str):
        return
    if why := missing_device(model.device):
        fix = "--device cpu, or leave it out to take what there is"
        raise UsageError(f"device={model.device}: {why}", where=cell.model_name, fix=fix)
