"""What the two kits' surveys have in common: their files by kind, and workers that load and run each."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.guest_worlds.outcome import Outcome, State
from tools.guest_worlds.processes import Job, outcomes

SECONDS = 240
WORKER = "tools.guest_worlds.kit_worker"
KEEP = "GUEST_WORLD_KEEP"
"""The variable that names a folder to keep what workers leave in, such as the recipes of numbers."""


def survey(
    folder: Path, dialect: str, kinds: dict[str, str], only: Sequence[str] = ()
) -> Iterator[Outcome]:
    """Return the outcome of every file of each kind.

    `kinds` are folders by what they hold, `only` names files or kinds.
    """
    keep = os.environ.get(KEEP)
    jobs = [
        (
            kind,
            file,
            Job(
                WORKER,
                (dialect, kind, str(file)),
                file,
                Path(keep) / dialect / file.stem if keep else None,
            ),
        )
        for kind, place in kinds.items()
        for file in sorted((folder / dialect / place).glob("*.py"))
        if file.name != "__init__.py"
        and (not only or file.stem in only or kind in only)
    ]
    said = outcomes(
        [job for _, _, job in jobs],
        SECONDS,
        {file.stem for _, file, _ in jobs} & {*only},
    )
    for (kind, file, _), (_, found) in zip(jobs, said, strict=True):
        yield Outcome(kind, file.stem, State[found["state"]], found["detail"])
