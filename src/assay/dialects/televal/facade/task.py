"""`src.task`: the two stages as scripts call them. They run like `assay televal`, with the same files."""

from pathlib import Path
from typing import Any

from ...shapes import Record


class BaseTask:
    """One mode of one infer_task, with the options of `main.py`."""

    def __init__(
        self,
        mode: str,
        task: str,
        save_dir: str,
        *,
        registry: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.mode, self.task, self.save_dir = mode, task, save_dir
        self.registry = registry or str(Path.cwd() / "registry")
        self.kwargs = kwargs

    def run(self) -> Any:
        """Run the stage and return the result; its files are under `save_dir`."""
        from ....runner.events import Silent
        from ....runner.options import RunOptions
        from ...option_tables import truth
        from ..televal_command import Asked, execute

        options = {
            name: value for name, value in self.kwargs.items() if value is not None
        }
        for name in ("save_pred_audio", "keep_meta_info"):
            if isinstance(options.get(name), str):
                options[name] = truth(options[name])
        if "bsz" in options:
            options["bsz"] = int(options["bsz"])
        command_line = Asked(
            self.mode,
            self.task,
            self.registry,
            save_dir=self.save_dir or ".",
            **options,
        )
        return execute(command_line, RunOptions(), Silent())[0]


class InferenceTask(BaseTask):
    """Asks the model."""


class EvalTask(BaseTask):
    """Judges the predictions."""


class Pipeline:
    """Creates a stage by its mode."""

    @staticmethod
    def create(
        mode: str,
        task: str,
        save_dir: str,
        **kwargs: Any,
    ) -> BaseTask:
        """Return the stage of a mode."""
        if mode not in STAGES:
            raise ValueError(f"mode is infer or eval, not {mode!r}")
        return STAGES[mode](mode, task, save_dir, **kwargs)


STAGES: dict[str, type[BaseTask]] = {"infer": InferenceTask, "eval": EvalTask}


def names_for(guest: Any) -> Record:
    """Return `Pipeline` for one user's checkout, whose registry is next to its `src/`."""

    class OwnPipeline(Pipeline):
        @staticmethod
        def create(
            mode: str,
            task: str,
            save_dir: str,
            **kwargs: Any,
        ) -> BaseTask:
            return Pipeline.create(
                mode,
                task,
                save_dir,
                **{"registry": str(guest.root / "registry"), **kwargs},
            )

    return {"Pipeline": OwnPipeline}
