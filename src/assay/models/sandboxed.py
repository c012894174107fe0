"""The sandbox as a helper model of scorers: a request contains a program, the answer its verdict.

Running a program is therefore a request like any other. Its key covers the program, the
tests, the limits and the tier. The verdict is stored in the journal, and the program
runs again only if one of these changes. If the sandbox itself fails, the output is an
error without a verdict.
"""

import asyncio
import json
import os
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from ..core import Abilities, Output, Request, UsageError
from ..core.output import INTERRUPTED
from ..sandbox import (
    Engine,
    SandboxError,
    StoppedError,
    Stopper,
    TestsError,
    Tier,
    best_tier,
)
from ..sandbox.launch import own_python
from ..sandbox.verdict import ToRun, perform


@dataclass
class SandboxModel:
    """Runs programs in the strongest sandbox tier of this machine, or in a named tier: `sandbox/TIER`."""

    tier: str = "auto"
    """`auto`, `bubblewrap`, `landlock`, `container`; `none` runs programs with your own privileges, never as root."""
    engine: str = ""
    """The engine of the tier `container`: docker, podman or apptainer. By default the first usable one."""
    image: str = ""
    """The image of the tier `container`. By default the official image of this Python's version."""
    template: str = ""
    """A command line up to the image, to replace the default command of the container engine."""
    concurrency: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    reference: ClassVar[str] = "tier"
    accepts: ClassVar[frozenset[str]] = frozenset({"text"})

    def __post_init__(self) -> None:
        self._stopper = Stopper()
        self._tier: Tier = best_tier(
            self.tier, Engine(self.engine, self.image, self.template)
        )

    @property
    def abilities(self) -> Abilities:
        """Abilities: text in, text out."""
        return Abilities(self.accepts, self.accepts)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the tier and the interpreter, because
        others may give other verdicts.
        """
        version = f"{platform.python_version()} ({own_python().name})"
        return {
            "sandbox": self._tier.name,
            "python": getattr(self._tier, "image", "") or version,
        }

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the verdict on each program."""
        loop = asyncio.get_running_loop()
        return await asyncio.gather(
            *(
                loop.run_in_executor(self._threads, self._run, request)
                for request in requests
            )
        )

    def interrupt(self) -> None:
        """Terminate the programs that are still running, without a verdict, and start no more."""
        self._stopper.stop()

    async def close(self) -> None:
        """End running programs, and start no more."""
        self._stopper.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.concurrency, "sandbox")

    def _run(self, request: Request) -> Output:
        try:
            execution = ToRun.from_text(request.prompt.messages[-1].text)
        except (ValueError, KeyError, TypeError):
            return Output.failed(
                "data",
                "the sandbox is asked by scorers, with programs",
                retryable=False,
            )
        try:
            verdict = perform(self._tier, execution, self._stopper)
        except StoppedError as error:
            return Output.failed(INTERRUPTED, str(error), retryable=False)
        except (UsageError, TestsError) as error:
            return Output.failed("data", str(error), retryable=False)
        except (SandboxError, OSError) as error:
            return Output.failed("sandbox", f"{self._tier.name}: {error}")
        return Output.of(json.dumps({**asdict(verdict), "tier": self._tier.name}))
