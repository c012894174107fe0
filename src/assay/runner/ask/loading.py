"""The models of a run in memory, each loaded once, and the replicas of one model at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...core import Model
from ..events import TaskProgress
from ..options import RunOptions
from ..plan.planned_task import PlannedTask
from .calls import close_model, interrupt_model, load_model
from .executors.check import make_spread
from .executors.spread import Spread
from .threads import in_thread

Say = Callable[[str], None]


@dataclass(eq=False)
class LoadedModels:
    """Models that are loaded, until they are closed."""

    options: RunOptions
    say: Say
    whisper: Say
    helpers: dict[str, Model] = field(default_factory=dict, init=False)
    """Helper models that were built, by role. Later tasks use them again."""
    _models: list[Model] = field(default_factory=list, init=False)
    _spread: Spread | None = field(default=None, init=False)
    """The replicas of the current model."""

    async def load(self, planned: PlannedTask) -> None:
        """Load a model before the first request, because damaged weights must stop the run, not fail every sample."""
        model = planned.model
        if any(loaded is model for loaded in self._models):
            return
        self._models.append(model)
        await load_model(
            model,
            f"model {planned.model_name!r} could not be loaded",
            in_thread,
        )

    async def replicas(self, planned: PlannedTask, progress: TaskProgress) -> Spread:
        """Return the replicas of a model. Those of another model are closed first, to free memory."""
        if self._spread is None or self._spread.model is not planned.model:
            await self._close_replicas()
            self._spread = await make_spread(
                planned,
                self.options,
                self.say,
                self.whisper,
            )
        self._spread.watched_by(progress)
        return self._spread

    def interrupt(self) -> None:
        """Tell all helper models that the user stopped the run."""
        for model in list(self.helpers.values()):
            interrupt_model(model)

    async def close(self) -> None:
        """Close all models."""
        await self._close_replicas()
        models = (*self._models, *self.helpers.values())
        for model in models:
            await close_model(model)

    async def _close_replicas(self) -> None:
        """End the replicas of the current model, if there are any."""
        if self._spread is not None:
            spread = self._spread
            self._spread = None
            await spread.close()
