"""The options of a run that affect the requests of a library's task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core import UsageError
from ...runner.options import RunOptions
from .library import Library
from .loaded import TaskConfig
from .random_state import OTHER_SEED

REFUSED: dict[str, str] = {
    "template": "the prompts are the library's; write a YAML task that includes this one",
    "scorers": "the metrics are the library's; write a YAML task that includes this one",
    "epochs": "set `repeats` in a YAML task that includes this one",
    "reducer": "the filters of the task choose among repeated answers",
    "measure": "the output type is the task's; other tasks of its family may generate",
    "shuffle_choices": "the order of the options is the task's",
    "columns": "name the columns of --data as the task does",
    "split": "the splits are the task's; --data names other rows",
}
"""Options of a run that a task's code would ignore, and what to do instead."""


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The options of a run that change the requests of a task."""

    data: str | None = None
    fewshot_data: str | None = None
    num_fewshot: int | None = None
    seed: int = OTHER_SEED
    """Seed of the few-shot draws."""
    chat: bool = False
    multiturn: bool = False
    system: str | None = None
    generation: tuple[tuple[str, Any], ...] = ()
    """Generation options of the run, which replace those of the task."""

    @classmethod
    def of(
        cls,
        run: RunOptions,
        shots: int | None,
        library: Library,
        chat: bool = False,
    ) -> "TaskSettings":
        """Return the settings of a run. Raise for options that are not supported.

        `chat` is the default for whether prompts are chats.
        """
        for name, fix in REFUSED.items():
            value = getattr(run, name)
            if value is not None and value not in ((), {}) and len_or_one(value):
                raise UsageError(
                    f"--{name} does not apply to {library.title} tasks", fix=fix
                )
        if run.apply_chat_template is not None:
            chat = bool(run.apply_chat_template)
        if run.fewshot_as_multiturn and not chat:
            raise UsageError(
                "--fewshot_as_multiturn needs a chat", fix="add --apply_chat_template"
            )
        # As in lm-eval: chats show their examples as turns unless the run says otherwise.
        if run.fewshot_as_multiturn is None:
            multiturn = chat
        else:
            multiturn = bool(run.fewshot_as_multiturn)
        return cls(
            data=run.data,
            fewshot_data=run.fewshot_data,
            num_fewshot=shots if run.num_fewshot is None else run.num_fewshot,
            seed=OTHER_SEED if run.seed is None else run.seed,
            chat=chat,
            multiturn=multiturn,
            system=run.system or None,
            generation=tuple(sorted(run.generation.items())),
        )


def len_or_one(value: object) -> int:
    """Return the number of values in an option: its length, or 1."""
    if hasattr(value, "__len__"):
        return len(value)
    return 1


def planned_shots(config: TaskConfig, settings: TaskSettings) -> int:
    """Return the number of examples of a task. A task that requires 0 examples keeps that number."""
    task_shots: int | None = config.num_fewshot
    if settings.num_fewshot is None or task_shots == 0:
        return task_shots or 0
    return settings.num_fewshot


def set_shots(
    tasks: Mapping[str, Any],
    settings: TaskSettings,
    where: str,
) -> dict[str, int]:
    """Set the number of examples as the library does. A task that requires 0 examples keeps that number."""
    fixed = [task.get_config("num_fewshot") == 0 for task in tasks.values()]
    if settings.num_fewshot and all(fixed):
        raise UsageError(
            f"--num_fewshot {settings.num_fewshot}: the task fixes 0 examples",
            where=where,
            fix="leave it out, or set num_fewshot in a YAML task that includes this one",
        )
    shots: dict[str, int] = {}
    for name, task in tasks.items():
        shots[name] = planned_shots(task.config, settings)
        task.set_config(
            key="num_fewshot",
            value=shots[name],
        )
    return shots
