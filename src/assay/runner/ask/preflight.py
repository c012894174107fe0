"""Preflight: what is wrong with how a model renders the prompts of a task, as it says itself."""

from collections.abc import Awaitable, Callable, Sequence

from ...core import Prompt, Request
from ..plan.cell import Cell
from .executors.spread import Spread
from .threads import in_thread

Say = Callable[[str], None]


def prompt_faults(cell: Cell, prompt: Prompt) -> tuple[str, ...]:
    """The faults of a prompt; none where the model has no tokenizer of its own to look with."""
    return _faults(cell, Request(prompt, cell.options_for(prompt)))


def _faults(cell: Cell, request: Request) -> tuple[str, ...]:
    preflight = getattr(cell.model, "preflight", None)
    if preflight is None:
        return ()
    return tuple(
        str(fault) for fault in preflight(request.prompt, request.options.stop)
    )


class Preflight:
    """Looks at the first prompt of a cell before it is asked, and says what is wrong with it; the run goes on."""

    def __init__(self, cell: Cell, say: Say, whisper: Say) -> None:
        self._cell = cell
        self._say = say
        self._whisper = whisper
        self._has_looked = not hasattr(cell.model, "preflight")

    async def look(self, spread: Spread | None = None) -> None:
        """Looks at the prompt of the first sample; where only replicas have the means, through the first of them."""
        if self._has_looked:
            return
        try:
            prompt = self._cell.first_prompt()
        except Exception as error:  # noqa: BLE001 - what spoils this prompt is counted when it is asked
            self._not_looked_at(error)
            return
        if prompt is not None:
            await self.look_at(Request(prompt, self._cell.options_for(prompt)), spread)

    async def look_at(self, request: Request, spread: Spread | None = None) -> None:
        """The same for what a driver asks first; what it asks later is not looked at."""
        if self._has_looked:
            return
        self._has_looked = True
        if spread is None or not getattr(self._cell.model, "preflight_loads", False):
            await self._tell(in_thread(_faults, self._cell, request))
            return
        # The model here is not loaded, nor is there room for it beside its replicas.
        spread.greet = lambda replica: self._tell(replica.faults(request))

    async def _tell(self, looking: Awaitable[Sequence[str]]) -> None:
        try:
            faults = await looking
        except Exception as error:  # noqa: BLE001 - what spoils this prompt is counted when it is asked
            self._not_looked_at(error)
            return
        # A dry run does not know what a driver will ask.
        hint = (
            ""
            if self._cell.task.driver is not None
            else " (--dry_run shows the first prompt)"
        )
        for fault in faults:
            self._say(f"warning: {self._cell.model_name}: {fault}{hint}")

    def _not_looked_at(self, error: Exception) -> None:
        self._whisper(
            f"{self._cell.model_name}: the prompts of {self._cell.task.name} were not looked at: {error}"
        )
