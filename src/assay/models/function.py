"""Use a user's function or class as a model: `file.py:generate`.

One failing sample does not affect the others: an exception becomes the failed output of
its sample. If a whole batch raises, it is split in halves until the failing sample is
found.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..code.data_files import digest_of_data
from ..code.sources import behind, digest_behind
from ..code.typed_code import digest_of_code, digest_of_state, file_of
from ..code.userfiles import file_digest, split_reference
from ..core import (
    EMPTY,
    Abilities,
    Candidate,
    DataError,
    ModelError,
    Output,
    Prompt,
    Request,
    Text,
    UsageError,
    digest_of,
)
from ..core.reasoning import THINK_TAGS, read_think_tags
from ..core.secrets import redact_options
from ..media import fitted
from ..registry import check_options, fit_options
from .answers import as_answer, as_likelihoods, failure
from .calling import (
    Builder,
    Call,
    as_count,
    check_declared,
    check_needs,
    check_same_style,
    check_settings,
    inspect_call,
    is_async,
    method_of,
    produced_kinds,
)
from .carrying import Carrier
from .draws import generator_for
from .shapes import WrongShape, matched

ALL_KINDS = frozenset({"text", "image", "audio", "video"})


class FunctionModel:
    """A function of messages, or a class with `generate`, used as a model.

    `generate` is `async` if the user's is. Without a declaration, a function of text accepts only text, and any other
    accepts everything; its return annotation determines what it produces. A class declares its abilities by class
    attributes, because only `load` or the first request builds it and loads its weights.
    """

    generate: Callable[[Sequence[Request]], Any]
    likelihood: Callable[[Sequence[Request]], Any]
    prompt: Callable[..., Any]
    report_to: Callable[..., Any]
    batch_size: int | None
    abilities: Abilities
    identity: Mapping[str, Any]
    declares: frozenset[str]
    """Which of `accepts` and `produces` the user's code declares. Assay guesses the others."""
    written: Mapping[str, Any]
    """The options as the user wrote them. They may contain secrets, which must not be stored."""

    def __init__(
        self,
        target: Any,
        reference: str,
        args: Mapping[str, Any] = EMPTY,
    ) -> None:
        self.reference = reference
        is_plain = inspect.isclass(target) or inspect.isroutine(target)
        args = fit_options(
            target if is_plain else getattr(target, "generate", target), args
        )
        self.written = args
        self._builder = (
            Builder(target, args, reference) if inspect.isclass(target) else None
        )
        description = f"model {reference!r}"
        function = method_of(
            target,
            "generate" if hasattr(target, "generate") else "__call__",
            self._builder,
            description,
        )
        call = inspect_call(function, description)
        if self._builder is None:
            check_settings(args, call.settings, description)
            check_needs(call, args, description)
        else:
            check_options(target, args, description)
            check_needs(call, None, f"`generate` of {description}")
        check_declared(target, description, is_ready=False)
        bound = args if self._builder is None else EMPTY
        self.think_tags = read_think_tags(
            getattr(target, THINK_TAGS, None), description
        )
        self.batch_size = as_count(getattr(target, "batch_size", None))
        if hasattr(target, "concurrency"):
            self.concurrency = as_count(target.concurrency)
        if callable(getattr(target, "prompt", None)):
            self.prompt = method_of(target, "prompt", self._builder, description)
        if callable(getattr(target, "report_to", None)):
            self.report_to = method_of(target, "report_to", self._builder, description)
        if callable(getattr(target, "likelihood", None)):
            weigh = method_of(target, "likelihood", self._builder, description)
            check_same_style(function, weigh, description)
            check_needs(
                replace(inspect_call(weigh, description), takes="requests"),
                None,
                f"`likelihood` of {description}",
            )
            self.likelihood = _batched(weigh, reference, EMPTY, as_likelihoods)
        self.abilities, self.declares = _abilities(
            target,
            call,
            hasattr(self, "likelihood"),
        )
        self._takes_text_only = call.takes == "text"
        self.identity = _identity(target, reference, args)
        if call.takes == "requests":
            self.generate = _batched(function, reference, bound, as_answer)
        else:
            self.generate = _one_by_one(
                call.caller(function, bound),
                function,
                reference,
            )
        self.generate = _repeat_until_complete(self.generate)
        if (
            self.abilities.audio_rate is not None
            or self.abilities.audio_channels is not None
        ):
            self.generate = _convert_audio(self.generate, self.abilities, reference)

    def refusal(self, prompt: Prompt) -> DataError | None:
        """Return the error if a text-only function cannot receive every part of a prompt; None otherwise."""
        if not self._takes_text_only:
            return None
        fix = "write it as def generate(messages): …"
        return Carrier(f"{self.reference}, a function of text,", fix=fix).refusal(
            prompt
        )

    def load(self) -> None:
        """Build the user's class now, so that errors in its constructor are reported early."""
        if self._builder is not None:
            self._builder.build()

    def close(self) -> object:
        """Call `close` of the user's object, if it was built and has this method."""
        built: Any = self._builder.built if self._builder is not None else None
        if hasattr(built, "close"):
            return built.close()
        return None

    def __repr__(self) -> str:
        return f"FunctionModel({self.reference!r})"


def _abilities(
    target: object,
    call: Call,
    likelihood: bool,
) -> tuple[Abilities, frozenset[str]]:
    """Return the abilities of a model, and the names of those (`accepts`, `produces`)
    that the user's code declares.
    """
    declared = getattr(target, "abilities", None)
    if isinstance(declared, Abilities):
        return declared, frozenset({"accepts", "produces"})
    accepts = _kinds(target, "accepts")
    produces = _kinds(target, "produces")
    by_return = produced_kinds(call.returns)
    is_declared = {
        "accepts": accepts is not None or call.takes == "text",
        "produces": produces is not None or len(by_return) == 1,
    }
    accepts = accepts or (frozenset({"text"}) if call.takes == "text" else ALL_KINDS)
    abilities = Abilities(
        accepts=accepts,
        produces=produces or by_return,
        likelihood=likelihood,
        tools=True,
    )
    return abilities, frozenset(
        name for name, is_said in is_declared.items() if is_said
    )


def _kinds(target: object, name: str) -> frozenset[str] | None:
    declared = getattr(target, name, None)
    if declared is None:
        return None
    kinds = frozenset({declared} if isinstance(declared, str) else declared)
    if unknown := kinds - ALL_KINDS:
        raise UsageError(
            f"`{name}` names {sorted(unknown)[0]!r}",
            fix=f"known kinds: {', '.join(sorted(ALL_KINDS))}",
        )
    return kinds


def _identity(
    target: object,
    reference: str,
    args: Mapping[str, Any],
) -> Mapping[str, Any]:
    declared = getattr(target, "identity", None)
    if isinstance(declared, Mapping):
        return with_options(declared, args)
    path, attribute = split_reference(reference)
    bound: list[Any] = []
    while isinstance(target, partial):
        bound.append([target.args, target.keywords])
        target = target.func
    if inspect.isroutine(target) or inspect.isclass(target):
        kind = target
    else:
        kind = type(target)
    if not path.endswith(".py"):
        path = file_of(kind)
        attribute = kind.__qualname__
    file = Path(path).expanduser()
    identity = {
        "file": file.name,
        "attribute": attribute,
        "sha256": "",
        "args": redact_options(dict(args)),
    }
    if state := digest_of_state(target):
        identity["state"] = state
    if not path:
        identity["sha256"] = digest_of_code(kind)  # in a notebook there is no file
    else:
        identity["sha256"] = file_digest(file)
        if len(behind(file)[0]) > 1:
            identity["imports"] = digest_behind(file, libraries=False)
    if data := digest_of_data(kind):
        identity["data"] = data
    if bound:
        # Record a digest, since bound values may hold a key. Values that are not plain data count by their class only.
        identity["bound"] = digest_of(
            json.dumps(
                bound,
                sort_keys=True,
                default=_class_name,
            ).encode()
        )
    return identity


def _class_name(value: object) -> str:
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value)).__repr__()
    return type(value).__qualname__


def with_options(
    declared: Mapping[str, Any],
    args: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Return the identity declared by a class, extended by the options of this object."""
    if args:
        return {"declared": dict(declared), "args": redact_options(dict(args))}
    return declared


def _one_by_one(
    call: Callable[[Request], Any],
    function: Callable[..., Any],
    reference: str,
) -> Callable[[Sequence[Request]], Any]:
    def generate(requests: Sequence[Request]) -> list[Output]:
        outputs = []
        for request in requests:
            try:
                value = call(request)
                # By far the most common answer; `as_output` would take longer.
                is_text = type(value) is str
                outputs.append(
                    Output((Candidate((Text(value),)),))
                    if is_text
                    else as_answer(value, request, reference)
                )
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code: becomes the failure of one sample
                outputs.append(failure(error, reference))
        return outputs

    async def generate_async(requests: Sequence[Request]) -> list[Output]:
        outputs = []
        for request in requests:
            try:
                outputs.append(as_answer(await call(request), request, reference))
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code: becomes the failure of one sample
                outputs.append(failure(error, reference))
        return outputs

    return generate_async if is_async(function) else generate


def _repeat_until_complete(
    generate: Callable[[Sequence[Request]], Any],
) -> Callable[[Sequence[Request]], Any]:
    """Wrap `generate` so that it repeats a request with new seeds until it has all `n` requested candidates."""

    def incomplete_requests(
        requests: Sequence[Request],
        outputs: Sequence[Output],
    ) -> list[int]:
        indexes = []
        pairs = zip(requests, outputs, strict=True)
        for index, (request, output) in enumerate(pairs):
            requested = request.options.n
            has_some = 0 < len(output.candidates) < requested
            if requested > 1 and output.error is None and has_some:
                indexes.append(index)
        return indexes

    def once_more(request: Request, output: Output) -> Request:
        number = generator_for(request, len(output.candidates)).getrandbits(31)
        if request.seed is None:
            seed = None
        else:
            seed = number
        return replace(
            request,
            seed=seed,
            options=request.options.set(n=1),
            draw=f"{request.draw}/{number}",
        )

    def add_candidates(
        requests: Sequence[Request],
        outputs: list[Output],
        incomplete: Sequence[int],
        more: Sequence[Output],
    ) -> None:
        for index, output in zip(incomplete, more, strict=True):
            count = requests[index].options.n
            outputs[index] = _join_candidates(outputs[index], output, count)

    def ask(requests: Sequence[Request]) -> list[Output]:
        outputs: list[Output] = list(generate(requests))
        while incomplete := incomplete_requests(requests, outputs):
            again = [once_more(requests[index], outputs[index]) for index in incomplete]
            add_candidates(requests, outputs, incomplete, generate(again))
        return outputs

    async def ask_async(requests: Sequence[Request]) -> list[Output]:
        outputs: list[Output] = list(await generate(requests))
        while incomplete := incomplete_requests(requests, outputs):
            again = [once_more(requests[index], outputs[index]) for index in incomplete]
            add_candidates(requests, outputs, incomplete, await generate(again))
        return outputs

    return ask_async if is_async(generate) else ask


def _join_candidates(
    first: Output,
    second: Output,
    wanted: int,
) -> Output:
    """Add the second output's candidates to the first, up to `wanted`.

    Return the second output instead if it failed, or without candidates if it has none.
    """
    if second.error is not None or not second.candidates:
        if second.error is not None:
            return second
        return replace(second, candidates=())
    return replace(first, candidates=(*first.candidates, *second.candidates)[:wanted])


def _convert_audio(
    generate: Callable[[Sequence[Request]], Any],
    abilities: Abilities,
    reference: str,
) -> Callable[[Sequence[Request]], Any]:
    """Wrap `generate` to convert audio to the declared rate and channels.

    The output's details record the changes.
    """

    def convert(
        requests: Sequence[Request],
    ) -> tuple[list[Request], list[tuple[str, ...]]]:
        converted = []
        changes = []
        for request in requests:
            prompt, prompt_changes = fitted(request.prompt, abilities)
            converted.append(replace(request, prompt=prompt))
            changes.append(prompt_changes)
        return converted, changes

    def add_notes(
        outputs: Sequence[Output],
        done: Sequence[tuple[str, ...]],
    ) -> list[Output]:
        return [
            replace(output, details={**output.details, "audio": list(changes)})
            if changes
            else output
            for output, changes in zip(outputs, done, strict=True)
        ]

    def ask(requests: Sequence[Request]) -> list[Output]:
        fitting, done = convert(requests)
        return add_notes(generate(fitting), done)

    async def ask_async(requests: Sequence[Request]) -> list[Output]:
        fitting, done = convert(requests)
        return add_notes(await generate(fitting), done)

    return ask_async if is_async(generate) else ask


def _batched(
    function: Callable[..., Any],
    reference: str,
    options: Mapping[str, Any],
    read: Callable[[Any, Request, str], Output],
) -> Callable[[Sequence[Request]], Any]:
    def ask(requests: Sequence[Request]) -> list[Output]:
        try:
            return _matched(function(requests, **options), requests, reference, read)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code: raised again, or one sample's failure
            return _failed(error, requests, reference)

    async def ask_async(requests: Sequence[Request]) -> list[Output]:
        try:
            return _matched(
                await function(requests, **options),
                requests,
                reference,
                read,
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code: raised again, or one sample's failure
            return _failed(error, requests, reference)

    return ask_async if is_async(function) else ask


def _matched(
    values: object,
    requests: Sequence[Request],
    reference: str,
    read: Callable[[Any, Request, str], Output],
) -> list[Output]:
    values = matched(values, requests, reference)
    return [
        read(value, request, reference)
        for value, request in zip(values, requests, strict=True)
    ]


def _failed(
    error: Exception | SystemExit,
    requests: Sequence[Request],
    reference: str,
) -> list[Output]:
    """Return the failure of a batch with one request; for a larger batch, re-raise so that the caller splits it.

    If the function returned the wrong number of answers, the whole batch fails: a half
    batch would not show which answer belongs to which request.
    """
    if isinstance(error, WrongShape):
        return [Output.failed("exception", str(error), retryable=False)] * len(requests)
    if len(requests) == 1:
        return [failure(error, reference)]
    if isinstance(error, UsageError):
        raise ModelError(
            str(error)
        ) from error  # an error of the user's code, not of the run's settings
    raise error
