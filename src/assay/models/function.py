"""A user's function or class as a model: `file.py:generate`.

A failing sample never hurts its neighbours: what a function raises becomes the failed output of that sample alone, and
a batch that raises is asked again in halves until the culprit is found.
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
    ModelError,
    Output,
    Request,
    Text,
    UsageError,
    digest_of,
)
from ..core.secrets import veiled
from ..media import fitted
from ..registry import check_options
from .answers import as_answer, as_weighed, failure
from .building import (
    Builder,
    as_count,
    check_alike,
    check_declared,
    is_async,
    method_of,
)
from .calling import Call, check_needs, check_settings, inspect_call, made_kinds
from .draws import generator_for
from .shapes import WrongShape, matched

ALL_KINDS = frozenset({"text", "image", "audio", "video"})


class FunctionModel:
    """Any function of messages, or a class with `generate`, as a model.

    `generate` is `async` when the user's is. Where nothing is declared, a function of text takes text only and any
    other takes everything; what it makes is read off its return annotation. A class declares itself by class
    attributes, because it is built, and so its weights are read, only by `load` or the first question.
    """

    generate: Callable[[Sequence[Request]], Any]
    likelihood: Callable[[Sequence[Request]], Any]
    prompt: Callable[..., Any]
    report_to: Callable[..., Any]
    batch_size: int | None
    abilities: Abilities
    identity: Mapping[str, Any]
    declares: frozenset[str]
    """Which of `accepts` and `produces` the user's code says, by attributes or annotations; the others are guessed."""
    written: Mapping[str, Any]
    """What may hold secrets, for whoever keeps them out of records."""

    def __init__(
        self, target: Any, reference: str, args: Mapping[str, Any] = EMPTY
    ) -> None:
        self.reference = reference
        self.written = args
        self._builder = (
            Builder(target, args, reference) if inspect.isclass(target) else None
        )
        what = f"model {reference!r}"
        function = method_of(
            target,
            "generate" if hasattr(target, "generate") else "__call__",
            self._builder,
            what,
        )
        call = inspect_call(function, what)
        if self._builder is None:
            check_settings(args, call.settings, what)
            check_needs(call, args, what)
        else:
            check_options(target, args, what)
            check_needs(call, None, f"`generate` of {what}")
        check_declared(target, what, is_ready=False)
        bound = args if self._builder is None else EMPTY
        self.batch_size = as_count(getattr(target, "batch_size", None))
        if hasattr(target, "concurrency"):
            self.concurrency = as_count(target.concurrency)
        if callable(getattr(target, "prompt", None)):
            self.prompt = method_of(target, "prompt", self._builder, what)
        if callable(getattr(target, "report_to", None)):
            self.report_to = method_of(target, "report_to", self._builder, what)
        if callable(getattr(target, "likelihood", None)):
            weigh = method_of(target, "likelihood", self._builder, what)
            check_alike(function, weigh, what)
            check_needs(
                replace(inspect_call(weigh, what), takes="requests"),
                None,
                f"`likelihood` of {what}",
            )
            self.likelihood = _batched(weigh, reference, EMPTY, as_weighed)
        self.abilities, self.declares = _abilities(
            target, call, hasattr(self, "likelihood")
        )
        self.identity = _identity(target, reference, args)
        if call.takes == "requests":
            self.generate = _batched(function, reference, bound, as_answer)
        else:
            self.generate = _one_by_one(
                call.caller(function, bound), function, reference
            )
        self.generate = _as_often_as_asked(self.generate)
        if (
            self.abilities.audio_rate is not None
            or self.abilities.audio_channels is not None
        ):
            self.generate = _hearing(self.generate, self.abilities, reference)

    def load(self) -> None:
        """Builds the user's class; whoever calls this learns at once that it cannot be built."""
        if self._builder is not None:
            self._builder.build()

    def close(self) -> Any:
        """Closes what the user's class opened, if it was built and can be closed."""
        built: Any = self._builder.built if self._builder is not None else None
        return built.close() if hasattr(built, "close") else None

    def __repr__(self) -> str:
        return f"FunctionModel({self.reference!r})"


def _abilities(
    target: Any, call: Call, likelihood: bool
) -> tuple[Abilities, frozenset[str]]:
    """What a model takes and makes, and which of the two its code says."""
    declared = getattr(target, "abilities", None)
    if isinstance(declared, Abilities):
        return declared, frozenset({"accepts", "produces"})
    accepts, produces = _kinds(target, "accepts"), _kinds(target, "produces")
    by_return = made_kinds(call.returns)
    is_declared = {
        "accepts": accepts is not None or call.takes == "text",
        "produces": produces is not None or len(by_return) == 1,
    }
    accepts = accepts or (frozenset({"text"}) if call.takes == "text" else ALL_KINDS)
    abilities = Abilities(
        accepts=accepts, produces=produces or by_return, likelihood=likelihood
    )
    return abilities, frozenset(
        name for name, is_said in is_declared.items() if is_said
    )


def _kinds(target: Any, name: str) -> frozenset[str] | None:
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
    target: Any, reference: str, args: Mapping[str, Any]
) -> Mapping[str, Any]:
    declared = getattr(target, "identity", None)
    if isinstance(declared, Mapping):
        return with_options(declared, args)
    path, attribute = split_reference(reference)
    bound: list[Any] = []
    while isinstance(target, partial):
        bound.append([target.args, target.keywords])
        target = target.func
    kind = (
        target if inspect.isroutine(target) or inspect.isclass(target) else type(target)
    )
    if not path.endswith(".py"):
        path, attribute = file_of(kind), kind.__qualname__
    file = Path(path).expanduser()
    identity = {
        "file": file.name,
        "attribute": attribute,
        "sha256": "",
        "args": veiled(dict(args)),
    }
    if state := digest_of_state(target):
        identity["state"] = state
    if not path:
        identity["sha256"] = digest_of_code(
            kind
        )  # as in a notebook: there is no file to look into
    else:
        identity["sha256"] = file_digest(file)
        if len(behind(file)[0]) > 1:
            identity["imports"] = digest_behind(file, libraries=False)
    if data := digest_of_data(kind):
        identity["data"] = data
    if bound:
        # By digest, since they may hold a key; what is no plain data by its class, since it has no lasting value.
        identity["bound"] = digest_of(
            json.dumps(bound, sort_keys=True, default=_class_name).encode()
        )
    return identity


def _class_name(value: Any) -> str:
    return (
        sorted(map(str, value)).__repr__()
        if isinstance(value, (set, frozenset))
        else type(value).__qualname__
    )


def with_options(
    declared: Mapping[str, Any], args: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The identity a class declares once for all its objects, told apart by the options of this one."""
    return (
        {"declared": dict(declared), "args": veiled(dict(args))} if args else declared
    )


def _one_by_one(
    call: Callable[[Request], Any], function: Callable[..., Any], reference: str
) -> Callable[[Sequence[Request]], Any]:
    def generate(requests: Sequence[Request]) -> list[Output]:
        outputs = []
        for request in requests:
            try:
                value = call(request)
                # By far the most common answer; `as_output` would find out more slowly.
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


def _as_often_as_asked(
    generate: Callable[[Sequence[Request]], Any],
) -> Callable[[Sequence[Request]], Any]:
    """`generate` asked again, each time for one answer with a seed of its own, while it gives fewer than are wanted."""

    def lacking(requests: Sequence[Request], outputs: Sequence[Output]) -> list[int]:
        return [
            place
            for place, (request, output) in enumerate(
                zip(requests, outputs, strict=True)
            )
            if request.options.n > 1
            and output.error is None
            and 0 < len(output.candidates) < request.options.n
        ]

    def once_more(request: Request, output: Output) -> Request:
        number = generator_for(request, len(output.candidates)).getrandbits(31)
        seed = None if request.seed is None else number
        return replace(
            request,
            seed=seed,
            options=request.options.set(n=1),
            draw=f"{request.draw}/{number}",
        )

    def ask(requests: Sequence[Request]) -> list[Output]:
        outputs: list[Output] = list(generate(requests))
        while places := lacking(requests, outputs):
            more = generate(
                [once_more(requests[place], outputs[place]) for place in places]
            )
            for place, output in zip(places, more, strict=True):
                outputs[place] = _together(
                    outputs[place], output, requests[place].options.n
                )
        return outputs

    async def ask_async(requests: Sequence[Request]) -> list[Output]:
        outputs: list[Output] = list(await generate(requests))
        while places := lacking(requests, outputs):
            more = await generate(
                [once_more(requests[place], outputs[place]) for place in places]
            )
            for place, output in zip(places, more, strict=True):
                outputs[place] = _together(
                    outputs[place], output, requests[place].options.n
                )
        return outputs

    return ask_async if is_async(generate) else ask


def _together(first: Output, second: Output, wanted: int) -> Output:
    """Candidates of two calls as those of one, no more than wanted; a call that failed or gave none fails both."""
    if second.error is not None or not second.candidates:
        return second if second.error is not None else replace(second, candidates=())
    return replace(first, candidates=(*first.candidates, *second.candidates)[:wanted])


def _hearing(
    generate: Callable[[Sequence[Request]], Any], abilities: Abilities, reference: str
) -> Callable[[Sequence[Request]], Any]:
    """`generate` with the clips of the requests as the model declares it wants them; the answer's details say how."""

    def heard(
        requests: Sequence[Request],
    ) -> tuple[list[Request], list[tuple[str, ...]]]:
        pairs = [fitted(request.prompt, abilities) for request in requests]
        return [
            replace(r, prompt=p) for r, (p, _) in zip(requests, pairs, strict=True)
        ], [done for _, done in pairs]

    def noted(
        outputs: Sequence[Output], done: Sequence[tuple[str, ...]]
    ) -> list[Output]:
        return [
            replace(output, details={**output.details, "audio": list(what)})
            if what
            else output
            for output, what in zip(outputs, done, strict=True)
        ]

    def ask(requests: Sequence[Request]) -> list[Output]:
        fitting, done = heard(requests)
        return noted(generate(fitting), done)

    async def ask_async(requests: Sequence[Request]) -> list[Output]:
        fitting, done = heard(requests)
        return noted(await generate(fitting), done)

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
                await function(requests, **options), requests, reference, read
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code: raised again, or one sample's failure
            return _failed(error, requests, reference)

    return ask_async if is_async(function) else ask


def _matched(
    values: Any,
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
    error: Exception | SystemExit, requests: Sequence[Request], reference: str
) -> list[Output]:
    """The failure of one request; of several, the error goes on: the caller asks in halves, and learns what fits.

    Of a wrong shape halves would not tell which answer belongs to which request, so the whole batch fails.
    """
    if isinstance(error, WrongShape):
        return [Output.failed("exception", str(error), retryable=False)] * len(requests)
    if len(requests) == 1:
        return [failure(error, reference)]
    if isinstance(error, UsageError):
        raise ModelError(
            str(error)
        ) from error  # of a user's code it is no fault of the run's settings
    raise error
