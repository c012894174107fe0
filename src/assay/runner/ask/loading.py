"""Loading: the models of a run in memory, each once; the replicas of one model at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...core import Model
from ..events import CellProgress
from ..options import RunOptions
from ..plan.cell import Cell
from .calls import close_model, load_model
from .executors.check import make_spread
from .executors.spread import Spread
from .threads import in_thread

Say = Callable[[str], None]


@dataclass(eq=False)
class LoadedModels:
    """What was loaded, until it is closed."""

    options: RunOptions
    say: Say
    whisper: Say
    helpers: dict[str, Model] = field(default_factory=dict, init=False)
    """By role: helper models that were built, and are asked again by a later cell."""
    _models: list[Model] = field(default_factory=list, init=False)
    _spread: Spread | None = field(default=None, init=False)
    """The replicas of the model that is asked now."""

    async def load(self, cell: Cell) -> None:
        """Loads a cell's model before it is first asked: damaged weights stop the run and do not fail each sample."""
        model = cell.model
        if any(loaded is model for loaded in self._models):
            return
        self._models.append(model)
        await load_model(
            model, f"model {cell.model_name!r} could not be loaded", in_thread
        )

    async def replicas(self, cell: Cell, progress: CellProgress) -> Spread:
        """The replicas of a cell's model; those of another model make room first."""
        if self._spread is None or self._spread.model is not cell.model:
            await self._close_replicas()
            self._spread = await make_spread(cell, self.options, self.say, self.whisper)
        self._spread.watched_by(progress)
        return self._spread

    async def close(self) -> None:
        """Lets all of them go."""
        await self._close_replicas()
        for model in (*self._models, *self.helpers.values()):
            await close_model(model)

    async def _close_replicas(self) -> None:
        if self._spread is not None:
            spread, self._spread = self._spread, None
            await spread.close()
