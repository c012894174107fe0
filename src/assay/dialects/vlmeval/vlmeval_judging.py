"""The judge for a user's `evaluate`. Its calls block, and each answer is stored in the run's journal."""

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
"""Judge arguments for `evaluate` or its requests, which are not passed to the judge's model."""


class GuestJudge(Judge):
    """The run's judge, with the method `generate(prompt, **options)` that user code calls."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, settings: Fields) -> None:
        """Use the judge of the run. In a script without a run, use the model that `settings` names."""
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
        """Return True without sending a request. If the judge is unavailable, each question reports an error."""
        return True

    def generate(self, message: object, **options: object) -> str:
        """Return the answer, or `fail_msg` if there is none after the usual attempts."""
        return self.generate_inner(message, **options)[1]

    def generate_inner(
        self,
        message: object,
        **options: object,
    ) -> tuple[int, str, str]:
        """Return code, answer and log, like VLMEvalKit's API classes.

        The code is 0 for an answer and -1 for a failure.
        """
        if self._system is None:
            system = None
        else:
            system = str(self._system)
        output = self.ask(message_turns(message), system, options)
        if output.error is None:
            return (0, output.text, "")
        return (-1, self.fail_msg, output.error.message)


def OpenAIWrapper(model: str = "gpt-3.5-turbo-0613", **settings: object) -> GuestJudge:
    """Return the judge, with the interface of VLMEvalKit's documented revision.

    This is the run's judge or, in a script, the model named `model`.
    """
    return GuestJudge({"model": model, **settings})


OpenAIWrapperInternal = OpenAIWrapper


def model_args(judge: str, args: Fields) -> Record:
    """Return the arguments for building the judge's model. The arguments that only `evaluate` uses are left out."""
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
    """Return the judge for a user's `evaluate`: the run's judge, even if the arguments specify another model.

    Options such as the temperature are sent with the questions. In a script, the model
    in the arguments is the judge.
    """
    return GuestJudge(kwargs)
