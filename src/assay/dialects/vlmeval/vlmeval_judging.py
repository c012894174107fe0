"""The judge for a user's `evaluate`: plain blocking calls. Each answer is stored in the run's journal."""

import inspect
from dataclasses import fields, is_dataclass

from ...code.userfiles import is_reference, load_attribute, split_reference
from ...core import UsageError
from ...core.request import OPTION_NAMES
from ...registry import models as registry
from ..kits.judging import Judge, assay_name
from ..kits.message_lists import message_turns
from ..kits.state import current
from ..shapes import Fields, Record

EVALUATES_OWN = frozenset(
    {
        "nproc",
        "verbose",
        "retry",
        "timeout",
        "use_verifier",
        "use_vllm",
        "model",
        *OPTION_NAMES,
    }
)
"""Judge arguments that are for `evaluate` and its requests, and never for building the model."""


class GuestJudge(Judge):
    """A model behind `generate(prompt, **options)`, the interface of judges in user code."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, settings: Fields) -> None:
        """Use the run's judge; in a standalone script, the model that the settings name."""
        wished = str(settings.get("model", "judge"))
        run = current()
        if run.judge_pool is not None and run.judge is None:
            raise UsageError(
                f"`evaluate` asks for a judge ({wished!r}) and none is given",
                fix="--judge MODEL",
            )
        super().__init__(run.judge or assay_name(wished), settings)
        self._system = settings.get("system_prompt")

    def working(self) -> bool:
        """Return True. A judge that cannot answer reports this for each question."""
        return True

    def generate(self, message: object, **options: object) -> str:
        """Return the answer, or `fail_msg` if there is none after the usual attempts."""
        return self.generate_inner(message, **options)[1]

    def generate_inner(
        self,
        message: object,
        **options: object,
    ) -> tuple[int, str, str]:
        """Return code, answer and log, as API classes do."""
        if self._system is None:
            system = None
        else:
            system = str(self._system)
        output = self.ask(message_turns(message), system, options)
        if output.error is None:
            return (0, output.text, "")
        return (-1, self.fail_msg, output.error.message)


def OpenAIWrapper(model: str = "gpt-3.5-turbo-0613", **settings: object) -> GuestJudge:
    """Return the judge of the documented revision: the run's judge, or in a script the model called `model`."""
    return GuestJudge({"model": model, **settings})


OpenAIWrapperInternal = OpenAIWrapper


def model_args(judge: str, args: Fields) -> Record:
    """Return the judge arguments that build the model; all others belong to `evaluate`."""
    arguments = {
        name: value for name, value in args.items() if name not in EVALUATES_OWN
    }
    accepted: set[str] = set()
    if is_reference(judge):
        if split_reference(judge)[1] is not None:
            kind = load_attribute(judge)
        else:
            kind = None
        if inspect.isclass(kind):
            accepted = set(inspect.signature(kind).parameters)
        else:
            accepted = set()
    elif (scheme := judge.partition("/")[0]) in registry and is_dataclass(
        kind := registry.get(scheme)
    ):
        accepted = {field.name for field in fields(kind)}
    return {name: value for name, value in arguments.items() if name in accepted}


DEBUG_MESSAGE = "The judge did not answer: give a model with --judge, and its key in the environment."


def build_judge(**kwargs: object) -> GuestJudge:
    """Return the model given by `--judge`.

    The requested name is only a hint. Its options are sent with the questions.
    """
    return GuestJudge(kwargs)
