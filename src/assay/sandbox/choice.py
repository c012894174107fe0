"""Choose the sandbox tier of this machine: the best one that passes a self-test; and say why no better one."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ..core import UsageError
from .box import Tier
from .bubblewrap import Bubblewrap, find_bubblewraps
from .container import Container, find_containers
from .landlock import Landlock, Unconfined
from .running import SandboxError
from .selftest import why_not

TIERS = ("bubblewrap", "landlock", "container", "none")
_FIXES = (
    ("bwrap is not installed", "pip install 'assay[sandbox]'"),
    (
        "Unknown option",
        "pip install 'assay[sandbox]' brings a bubblewrap that is new enough",
    ),
    (
        "namespace",
        "sysctl user.max_user_namespaces=999 kernel.unprivileged_userns_clone=1, or Linux 6.12 for landlock",
    ),
    (
        "uid map",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or Linux 6.12 for landlock",
    ),
    (
        "no Landlock",
        "Linux 6.12 or newer with Landlock on, or bubblewrap: pip install 'assay[sandbox]'",
    ),
    ("of Landlock", "Linux 6.12 or newer, or bubblewrap: pip install 'assay[sandbox]'"),
    ("temporary folder", "set TMPDIR to a folder that can be written"),
    (
        "does not answer",
        "start the engine's service, or name another: --judge_args sandbox.engine=podman",
    ),
    ("has no image", "pull it, or name another: --judge_args sandbox.image=NAME"),
    ("may not enter", "do not be root, or bubblewrap: pip install 'assay[sandbox]'"),
)
"""Fixes by words in the reason. The first one that matches the best tier's reason is shown."""
_ELSE = "`assay doctor` says what each tier lacks"


@dataclass(frozen=True)
class Engine:
    """The container engine and image of the tier `container`; empty to search for them."""

    program: str = ""
    image: str = ""
    template: str = ""


@dataclass(frozen=True)
class Choice:
    """A tier, or none, with the reasons why others were refused."""

    tier: Tier | None
    refused: tuple[tuple[str, str], ...] = ()
    no_forks: str = ""
    """Why each execution starts a separate sandbox, if the tier could fork them from a running one."""

    @property
    def reasons(self) -> str:
        """One line with the reason why each better tier was refused."""
        return "; ".join(f"{name}: {why}" for name, why in self.refused)

    @property
    def fix(self) -> str:
        """The fix for the best of the refused tiers that has one."""
        fixes = [
            fix for _, why in self.refused for words, fix in _FIXES if words in why
        ]
        return "; ".join([*fixes[:1], _ELSE])


_choices: dict[tuple[str, Engine], Choice] = {}
_choosing = threading.Lock()


def choose(wanted: str = "auto", engine: Engine = Engine()) -> Choice:
    """Return the best tier (`auto`), or the named one.

    It is tested once per process. `none` is never chosen by `auto`.
    """
    with _choosing:
        return _chosen(wanted, engine)


def _chosen(wanted: str, engine: Engine) -> Choice:
    """Return the choice, made on the first call."""
    if (wanted, engine) not in _choices:
        _choices[wanted, engine] = (
            _best(engine) if wanted == "auto" else _choose(wanted, engine)
        )
    return _choices[wanted, engine]


def best_tier(wanted: str = "auto", engine: Engine = Engine()) -> Tier:
    """Return the tier. Raise `SandboxError` if none passes the self-test."""
    choice = choose(wanted, engine)
    if choice.tier is None:
        problem = (
            "no sandbox holds on this machine"
            if wanted == "auto"
            else f"the sandbox {wanted} does not hold here"
        )
        raise SandboxError(f"{problem} ({choice.reasons})", fix=choice.fix)
    return choice.tier


def _best(engine: Engine) -> Choice:
    """Return the first tier that passes. Tests of tiers are remembered for choices by name."""
    refused: tuple[tuple[str, str], ...] = ()
    for name in TIERS[:-1]:
        choice = _chosen(name, engine)
        refused += choice.refused
        if choice.tier is not None:
            return replace(choice, refused=refused)
    return Choice(None, refused)


def _choose(name: str, engine: Engine) -> Choice:
    """Test the tiers of one name."""
    if name not in TIERS:
        raise UsageError(
            f"there is no sandbox tier {name!r}", fix=f"auto, {', '.join(TIERS)}"
        )
    if name == "none":
        return Choice(Unconfined())
    tiers = list(_candidates(name, engine))
    refused: list[tuple[str, str]] = [] if tiers else [(name, _MISSING[name])]
    for tier in tiers:
        why, choice = _tried(tier)
        if choice is not None:
            return replace(choice, refused=tuple(refused))
        refused.append((name, why))
    return Choice(None, tuple(refused))


def _tried(tier: Tier) -> tuple[str, Choice | None]:
    """Return why the tier failed its self-test, or the tier, with forks if they pass as well.

    Both are tested at once.
    """
    forking = replace(tier, forks=True) if isinstance(tier, Bubblewrap) else tier
    with ThreadPoolExecutor(1) as beside:
        of_forks = beside.submit(why_not, forking) if forking is not tier else None
        why = (tier.why_not_there() if isinstance(tier, Container) else "") or why_not(
            tier
        )
    if why:
        return why, None
    no_forks = of_forks.result() if of_forks is not None else ""
    return "", Choice(tier if no_forks else forking, no_forks=no_forks)


_MISSING = {
    "bubblewrap": "bwrap is not installed",
    "container": "neither docker nor podman nor apptainer is installed",
}


def _candidates(name: str, engine: Engine) -> Iterator[Tier]:
    """Yield the tiers with a name that this machine may support."""
    if name == "bubblewrap":
        yield from map(Bubblewrap, find_bubblewraps())
    elif name == "landlock":
        yield Landlock()
    else:
        yield from find_containers(engine.program, engine.image, engine.template)
