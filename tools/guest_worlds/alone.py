"""A process without a network beyond this machine, limits on what it computes, and what an error says was missing."""

import os
import re
import signal
import socket
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DATA = "LMUData"
_NETWORK = re.compile(
    r"offline|network|connection|huggingface|urlopen|resolve host|download|LocalEntryNotFound|getaddrinfo|modelscope",
    re.I,
)


def alone() -> None:
    """No network beyond this machine, and no waiting between tries."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> Any:
        host = address[0] if isinstance(address, tuple) else str(address)
        if self.family in (socket.AF_INET, socket.AF_INET6) and host not in (
            "127.0.0.1",
            "localhost",
            "::1",
        ):
            raise ConnectionError(f"no network in a survey: {host}")
        return connect(self, address)

    def nowhere(host: Any, *rest: Any, **more: Any) -> Any:
        raise ConnectionError(f"no network in a survey: {host}")

    socket.socket.connect = refuse  # type: ignore[method-assign, assignment]
    real = socket.getaddrinfo
    socket.getaddrinfo = lambda host, *rest, **more: (  # type: ignore[assignment]
        real(host, *rest, **more)
        if host in ("127.0.0.1", "localhost", None)
        else nowhere(host)
    )
    time.sleep = lambda seconds: None  # type: ignore[assignment]
    import huggingface_hub

    # What a class downloads is stood in for by a folder; the files it then looks for there are made.
    place = os.path.join(os.environ[DATA], "hub")
    os.makedirs(place, exist_ok=True)
    huggingface_hub.snapshot_download = lambda *given, **more: place  # type: ignore[assignment]
    huggingface_hub.login = lambda *given, **more: None  # type: ignore[assignment]
    huggingface_hub.hf_hub_download = lambda repo_id="", filename="", *given, **more: (
        os.path.join(place, filename)
    )  # type: ignore[assignment]


def stand_in_specialists() -> None:
    """Return a model of questions about images that always says yes, instead of modelscope's weights."""
    pipelines, constant = (
        types.ModuleType("modelscope.pipelines"),
        types.ModuleType("modelscope.utils.constant"),
    )
    pipelines.pipeline = lambda *given, **more: lambda asked: {"text": "yes"}  # type: ignore[attr-defined]
    constant.Tasks = types.SimpleNamespace(visual_question_answering="vqa")  # type: ignore[attr-defined]
    for name in ("modelscope", "modelscope.utils"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules |= {
        "modelscope.pipelines": pipelines,
        "modelscope.utils.constant": constant,
    }


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Stop code that computes for too long. Waiting counts, the time of other processes does not."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * 6)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def fault(error: BaseException) -> dict[str, str]:
    """Return the kind of a failure: a missing package, a network address, or a plain error."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    text = " | ".join(
        dict.fromkeys(f"{type(e).__name__}: {e}".splitlines()[0][:200] for e in chain)
    )
    for one in chain:
        spacy_data = re.search(r"nltk.download\\('(\w+)'\\)", str(one))
        if spacy_data:
            return {"state": "PACKAGE", "detail": f"nltk data {spacy_data[1]}"}
        if isinstance(one, ModuleNotFoundError) and str(one).startswith(
            "No module named"
        ):
            return {"state": "PACKAGE", "detail": str(one.name).partition(".")[0]}
    needed = next(
        (
            found
            for e in chain
            if (found := re.search(r"(?:install|requires?) [`'\"]?([\w-]+)", str(e)))
        ),
        None,
    )
    if any(isinstance(e, (ImportError,)) for e in chain) and needed:
        return {"state": "PACKAGE", "detail": needed[1]}
    hosts = re.search(r"no network in a survey: ([\w.-]+)", text)
    if (
        hosts
        or any(isinstance(e, (ConnectionError, socket.gaierror)) for e in chain)
        or _NETWORK.search(text)
    ):
        return {"state": "NETWORK", "detail": hosts[1] if hosts else text[:160]}
    return {"state": "FAILS", "detail": text[:300]}
