"""Nothing gets out of a sandbox, and no wrong program passes, on every tier that the self-test accepts.

`make test` tries the attacks that take no time, `make faults` all of them.
"""

import json
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fault_counts import COUNTS, NIGHT

sys.path.insert(0, str(Path(__file__).parent))

from attacks import (
    FORGED,
    GREEDY,
    LEFT,
    LIMITS,
    NOT_STARTED,
    OUTSIDE,
    TAMPERED,
    TESTS,
    escape,
    escape_by_any,
    forgery,
    host,
    leftover,
    server_pid,
    tampering,
)
from system_python import by_system_python
from ways import STARTED, ways

from assay.sandbox import choose, judge_functions

WAYS = ways()
pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("sandbox")]
SLOW = {
    "computes without end",
    "computes without end and hears no signal",
    "sleeps without end",
    "never returns",
    "never loads",
    "closes its outputs and stays",
    "forks in its children",
    "allocates in many processes",
    "fills the disk",
    "fills the buffers of sockets",
    "returns something deep",
    "returns a huge number",
    "answers in advance",
    "stops the first process",
    "stops all it sees",
}
QUICK_STARTED = {
    "is wrong",
    "equals everything",
    "writes a verdict to every descriptor",
    "leaves a daemon",
    "writes 100 MB",
    "writes one large file",
}


def tried(way: str, attacks: Iterable[str]) -> list[str]:
    """All of them in every way at night; else those that need no deadline to end them, and in other ways a few."""
    if COUNTS is NIGHT:
        return [
            name
            for name in attacks
            if not (way.endswith(STARTED) and name in NOT_STARTED)
        ]
    quick = [name for name in attacks if name not in SLOW]
    return (
        quick
        if way == next(iter(WAYS))
        else [name for name in quick if name in QUICK_STARTED]
    )


def that_succeed(names: Iterable[str], attack: Callable[[str], str]) -> dict[str, str]:
    """Those that get through, with why; three at a time, for most of an attack is waiting."""
    names = list(names)
    with ThreadPoolExecutor(3) as threads:
        return {
            name: why
            for name, why in zip(names, threads.map(attack, names), strict=True)
            if why
        }


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "ASSAY_SECRET", ""
        )  # which the host sets, and later tests are not to find
        yield host(tmp_path_factory.mktemp("host"))


def test_a_tier_holds_on_this_machine():
    if not WAYS:
        pytest.skip(f"no sandbox holds here: {choose().reasons}")

    assert choose().tier == next(iter(WAYS.values()))


@pytest.mark.parametrize("way", WAYS)
def test_no_attack_gets_out(way: str, there):
    if COUNTS is NIGHT:
        found = that_succeed(
            tried(way, OUTSIDE), lambda name: escape(WAYS[way], name, there)
        )
    else:
        found = that_succeed([""], lambda _: escape_by_any(WAYS[way], OUTSIDE, there))

    assert found == {}


@pytest.mark.parametrize("way", WAYS)
def test_no_attack_exceeds_its_resource_limits(way: str, there):
    assert (
        that_succeed(tried(way, GREEDY), lambda name: escape(WAYS[way], name, there))
        == {}
    )


@pytest.mark.parametrize("way", WAYS)
def test_no_wrong_program_passes(way: str):
    assert that_succeed(tried(way, FORGED), lambda name: forgery(WAYS[way], name)) == {}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_that_tampers_with_its_process_fails_or_is_suspect(way: str):
    names = tried(way, TAMPERED)

    assert that_succeed(names, lambda name: tampering(WAYS[way], name)) == {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("beside", [False, True])
def test_no_program_finds_what_another_leaves(way: str, beside: bool, there):
    if way == "landlock" and beside:
        pytest.skip("names of processes are not hidden by this tier")
    names = (
        LEFT
        if COUNTS is NIGHT or (way == next(iter(WAYS)) and not beside)
        else ["a file"]
    )

    found = {name: leftover(WAYS[way], name, there, beside=beside) for name in names}

    assert {name: why for name, why in found.items() if why} == {}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_that_leaves_a_process_does_not_answer_for_the_next(way: str):
    leaves = (
        FORGED["answers in advance"]
        + "\nif not os.fork():\n    while True:\n        for n in range(3, 256):\n"
    )
    leaves += "            try: os.write(n, struct.pack('!I', len(d)) + d)\n            except OSError: pass"

    verdicts = [
        judge_functions(WAYS[way], code, TESTS, LIMITS)
        for code in (leaves, "def double(x): return x")
    ]

    assert [verdict.passed for verdict in verdicts] == [False, False]


@pytest.mark.parametrize("way", WAYS)
def test_a_right_program_passes_after_all_that(way: str):
    before = server_pid(WAYS[way])

    assert judge_functions(
        WAYS[way], "def double(x): return x * 2", TESTS, LIMITS
    ).passed
    assert server_pid(WAYS[way]) == before


def test_the_attacks_are_at_least_forty():
    assert len(OUTSIDE) + len(GREEDY) + len(FORGED) + len(LEFT) >= 40


@pytest.mark.parametrize(
    "tier",
    ["bubblewrap", *(["bubblewrap" + STARTED] if COUNTS is NIGHT else []), "landlock"],
)
def test_no_attack_gets_out_of_the_sandbox_of_an_ordinary_user(tier: str):
    done = by_system_python(
        "attacks.py", tier, *(["all"] if COUNTS is NIGHT else ["quick"])
    )
    if "no sandbox holds" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])

    found = json.loads(done.stdout)

    name = tier.removesuffix(STARTED)
    assert found == {
        "tier": name,
        "forks": tier == "bubblewrap",
        "right": True,
        "misjudged": {},
        "got_through": {},
    }


def test_without_a_sandbox_the_attacks_do_get_through():
    done = by_system_python(
        "attacks.py",
        "none",
        "reads the users of the host",
        "sends by UDP",
        "sends to a socket in a file by a pair",
        "changes the mode of a secret",
    )

    found = json.loads(done.stdout)["got_through"]

    assert set(found) == {
        "reads the users of the host",
        "sends by UDP",
        "sends to a socket in a file by a pair",
        "changes the mode of a secret",
    }
