"""Nothing gets out of a sandbox, and no wrong program passes, on every tier that the self-test accepts.

`make test` tries the attacks that take no time, `make faults` all of them.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from fault_counts import COUNTS, NIGHT

sys.path.insert(0, str(Path(__file__).parent))

from attacks import FORGED, GREEDY, LIMITS, OUTSIDE, TESTS, escape, forgery, host

from assay.sandbox import choose, judge_functions

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("sandbox")]
SLOW = {"computes without end", "computes without end and hears no signal", "sleeps without end", "never returns",
        "never loads", "closes its outputs and stays", "forks in its children", "allocates in many processes",
        "fills the disk", "returns something deep", "returns a huge number", "answers in advance"}  # fmt: skip
TIERS = [name for name in ("bubblewrap", "landlock") if choose(name).tier is not None]
NOBODY = 65534


def tried(attacks: dict[str, str]) -> list[str]:
    """All of them at night, else those that need no deadline to end them."""
    return [name for name in attacks if COUNTS is NIGHT or name not in SLOW]


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    return host(tmp_path_factory.mktemp("host"))


def test_a_tier_holds_on_this_machine():
    if not TIERS:
        pytest.skip(f"no sandbox holds here: {choose().reasons}")

    assert choose().tier.name == TIERS[0]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", tried({**OUTSIDE, **GREEDY}))
def test_no_attack_gets_out(tier: str, name: str, there):
    assert escape(choose(tier).tier, name, there) == ""


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", tried(FORGED))
def test_no_wrong_program_passes(tier: str, name: str):
    assert forgery(choose(tier).tier, name) == ""


@pytest.mark.parametrize("tier", TIERS)
def test_a_right_program_passes(tier: str):
    assert judge_functions(choose(tier).tier, "def double(x): return x * 2", TESTS, LIMITS).passed


def test_the_attacks_are_at_least_forty():
    assert len(OUTSIDE) + len(GREEDY) + len(FORGED) >= 40


def as_nobody(*argv: str) -> subprocess.CompletedProcess[str]:
    """Runs the attacks as a user without rights, by the system's Python, which that user may read."""
    python = shutil.which("python3", path="/usr/bin")
    if os.geteuid() != 0 or python is None:
        pytest.skip("needs root, to become another user, and the system's Python")
    version = subprocess.run([python, "-V"], capture_output=True, text=True).stdout
    source, site = Path(judge_functions.__code__.co_filename).parents[2], sysconfig.get_path("purelib")
    if not version.startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}."):
        pytest.skip(f"the system has {version.strip()}, the packages here are for another")
    return subprocess.run(
        [python, "-B", str(Path(__file__).parent / "attacks.py"), *argv], capture_output=True, text=True,
        user=NOBODY, group=NOBODY, extra_groups=[], env={"PYTHONPATH": f"{source}:{site}", "HOME": "/nonexistent"},
    )  # fmt: skip


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_no_attack_gets_out_of_the_sandbox_of_an_ordinary_user(tier: str):
    done = as_nobody(tier, *(["all"] if COUNTS is NIGHT else ["quick"]))
    if "no sandbox holds" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])

    found = json.loads(done.stdout)

    assert found == {"tier": tier, "right": True, "got_through": {}}


def test_without_a_sandbox_the_attacks_do_get_through():
    done = as_nobody("none", "reads the users of the host", "sends by UDP", "changes the mode of a secret")

    found = json.loads(done.stdout)["got_through"]

    assert set(found) == {"reads the users of the host", "sends by UDP", "changes the mode of a secret"}
