"""Helper models in a trial: the judges of `--judge`, or a substitute that shows its question."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import GenerateOptions, Model, Output, Prompt, Request
from ..core.request import DEFAULT_OPTIONS
from ..runner.options import RunOptions
from ..scorers.given_models import GivenModel, ModelsByRole


class WouldAsk(BaseException):
    """Raised instead of a reply, with the question, if the model was not given.

    It is not an `Exception`, so that a scorer that catches those does not hide it.
    """

    def __init__(self, role: str, prompt: Prompt) -> None:
        super().__init__(role)
        self.role, self.prompt = role, prompt


class TrialModel(GivenModel):
    """A helper model for a trial. Nothing is recorded."""

    def __init__(self, role: str, model: Model | None) -> None:
        self.role, self.model = role, model

    async def answer(
        self,
        prompt: Prompt,
        options: GenerateOptions | None = None,
    ) -> Output:
        """Return the model's answer. Raise `WouldAsk` if no model was given."""
        if self.model is None:
            raise WouldAsk(self.role, prompt)
        chosen = options or prompt.options or DEFAULT_OPTIONS
        reply = self.model.generate([Request(prompt, chosen, id="check")])
        outputs: Sequence[Output] = await reply if inspect.isawaitable(reply) else reply
        return outputs[0]


class TrialModels:
    """The models of a trial by role. Each is built and loaded once."""

    def __init__(self, run: RunOptions) -> None:
        self._run = run
        self._built: dict[str, Model | None] = {}

    def give(self, scorer: Any) -> Any:
        """Return the scorer with a helper model for each of its roles."""
        roles = tuple(getattr(scorer, "needs", ()))
        if not roles:
            return scorer
        return replace(scorer, models=self.models(roles))

    def models(self, roles: Sequence[str]) -> Mapping[str, TrialModel]:
        """Return a model for each role. For a role without a model, a substitute only shows its question."""
        return ModelsByRole(
            {role: TrialModel(role, self._model(role)) for role in roles}
        )

    def _model(self, role: str) -> Model | None:
        from ..runner.plan.models import judge_model

        if role not in self._built:
            model = None
            if self._run.helper_of(role) is not None:
                model = judge_model(self._run, role)
                load = getattr(model, "load", None)
                if load is not None:
                    load()
            self._built[role] = model
        return self._built[role]
