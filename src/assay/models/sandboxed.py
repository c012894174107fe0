"""The sandbox as a helper of scorers: it is asked to run a program, and answers with the verdict.

So an execution is a request like any other: keyed by program, tests, limits and tier, kept in the journal, not made
again while none of these has changed, and failed without a verdict where the sandbox itself fails.
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
from ..sandbox import Engine, SandboxError, TestsError, Tier, best_tier
from ..sandbox.asking import ToRun, perform
from ..sandbox.interpreters import own_python


@dataclass
class SandboxModel:
    """Runs programs by the best tier of this machine; `sandbox/TIER` names another."""

    tier: str = "auto"
    """`auto`, `bubblewrap`, `landlock`, `container`; `none` runs programs with your own rights, never as root."""
    engine: str = ""
    """The engine of the tier `container`: docker, podman or apptainer; without it, the first that answers."""
    image: str = ""
    """The image of the tier `container`; without it, the official one of this Python's version."""
    template: str = ""
    """The command line of the tier `container` up to the image, in place of the engine's own."""
    concurrency: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    reference: ClassVar[str] = "tier"
    accepts: ClassVar[frozenset[str]] = frozenset({"text"})

    def __post_init__(self) -> None:
        self._tier: Tier = best_tier(
            self.tier, Engine(self.engine, self.image, self.template)
        )

    @property
    def abilities(self) -> Abilities:
        """Text in, text out."""
        return Abilities(self.accepts, self.accepts)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The tier and the interpreter: another may give another verdict."""
        version = f"{platform.python_version()} ({own_python().name})"
        return {
            "sandbox": self._tier.name,
            "python": getattr(self._tier, "image", "") or version,
        }

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """The verdict on each program."""
        loop = asyncio.get_running_loop()
        return await asyncio.gather(
            *(loop.run_in_executor(self._threads, self._run, one) for one in requests)
        )

    async def close(self) -> None:
        """Starts nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.concurrency, "sandbox")

    def _run(self, request: Request) -> Output:
        try:
            verdict = perform(
                self._tier, ToRun.from_text(request.prompt.messages[-1].text)
            )
        except (ValueError, KeyError, TypeError):
            return Output.failed(
                "data",
                "the sandbox is asked by scorers, with programs",
                retryable=False,
            )
        except (UsageError, TestsError) as error:
            return Output.failed("data", str(error), retryable=False)
        except (SandboxError, OSError) as error:
            return Output.failed("sandbox", f"{self._tier.name}: {error}")
        return Output.of(json.dumps({**asdict(verdict), "tier": self._tier.name}))
