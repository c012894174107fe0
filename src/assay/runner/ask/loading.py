"""The models of a run in memory. Each is loaded once, and its prompts are checked before the first request."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from ...core import Model, Prompt, Request
from ..events import TaskProgress
from ..options import RunOptions
from ..plan.planned_task import PlannedTask
from .calls import close_model, interrupt_model, load_model
from .executors.check import make_spread
from .executors.spread import Spread
from .threads import in_thread

Say = Callable[[str], None]


def prompt_faults(planned: PlannedTask, prompt: Prompt) -> tuple[str, ...]:
    """Return the warnings about a prompt; none if the model cannot check prompts."""
    options = planned.options_for(prompt)
    request = Request(prompt, options)
    return _faults(planned, request)


def _faults(planned: PlannedTask, request: Request) -> tuple[str, ...]:
    """Return the model's warnings about how it renders the prompt of a request; none if it cannot check prompts."""
    preflight = getattr(planned.model, "preflight", None)
    if preflight is None:
        return ()
    return tuple(
        str(fault) for fault in preflight(request.prompt, request.options.stop)
    )


class Preflight:
    """Checks how the model renders the first prompt of a task × model. Warnings do not stop the run."""

    def __init__(
        self,
        planned: PlannedTask,
        say: Say,
        whisper: Say,
    ) -> None:
        self._planned = planned
        self._say = say
        self._whisper = whisper
        self._has_looked = not hasattr(planned.model, "preflight")

    async def look(self, spread: Spread | None = None) -> None:
        """Check the prompt of the first sample. If only replicas have loaded the model, one of them checks it."""
        if self._has_looked:
            return
        try:
            prompt = self._planned.first_prompt()
        except Exception as error:  # noqa: BLE001 - what spoils this prompt is counted when it is asked
            self._not_looked_at(error)
            return
        if prompt is not None:
            await self.look_at(
                Request(prompt, self._planned.options_for(prompt)), spread
            )

    async def look_at(
        self,
        request: Request,
        spread: Spread | None = None,
    ) -> None:
        """Check the prompt of the first request of a driver. Later requests are not checked."""
        if self._has_looked:
            return
        self._has_looked = True
        loads = getattr(self._planned.model, "preflight_loads", False)
        if spread is None or not loads:
            looking = in_thread(_faults, self._planned, request)
            await self._tell(looking)
            return
        # The model is not loaded in this process, because its replicas need the memory.
        spread.greet = lambda replica: self._tell(replica.faults(request))

    async def _tell(self, looking: Awaitable[Sequence[str]]) -> None:
        """Wait for a prompt check and report its warnings."""
        try:
            faults = await looking
        except Exception as error:  # noqa: BLE001 - what spoils this prompt is counted when it is asked
            self._not_looked_at(error)
            return
        # A dry run cannot show the prompts of a driver.
        if self._planned.task.driver is not None:
            hint = ""
        else:
            hint = " (--dry_run shows the first prompt)"
        for fault in faults:
            name = self._planned.model_name
            self._say(f"warning: {name}: {fault}{hint}")

    def _not_looked_at(self, error: Exception) -> None:
        """Report that the prompts could not be checked, and why."""
        self._whisper(
            f"{self._planned.model_name}: the prompts of {self._planned.task.name} were not looked at: {error}"
        )


@dataclass(eq=False)
class LoadedModels:
    """Models that stay loaded until they are closed."""

    options: RunOptions
    say: Say
    whisper: Say
    helpers: dict[str, Model] = field(default_factory=dict, init=False)
    """Loaded helper models by role, which later tasks reuse."""
    _models: list[Model] = field(default_factory=list, init=False)
    _spread: Spread | None = field(default=None, init=False)
    """The replicas of the current model."""

    async def load(self, planned: PlannedTask) -> None:
        """Load a model before the first request, so that damaged weights stop the run
        instead of failing every sample.
        """
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
        """Interrupt all helper models, because the user stopped the run."""
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
