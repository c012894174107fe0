"""Runs our inputs through the `smp` of a VLMEvalKit or ULMEvalKit checkout and writes what it said as a fixture.

    VENV/bin/python tools/guest_fixtures_smp.py CHECKOUT

Run it in an environment that has what upstream wants. The cases stand in `tests/dialects/kits/upstream/smp_cases.py`,
the outcomes beside them; `tests/dialects/kits/test_smp.py` gives the same cases to assay.
"""

import importlib
import json
import sys
import types
from pathlib import Path

CASES = Path(__file__).parents[1] / "tests" / "dialects" / "kits" / "upstream"
sys.path.insert(0, str(CASES))

import smp_cases  # noqa: E402 - the cases lie beside the tests


def main() -> None:
    """Write the outcomes of one kit."""
    checkout = Path(sys.argv[1]).resolve()
    kit = "vlmeval" if (checkout / "vlmeval").is_dir() else "ulmeval"
    sys.path.insert(0, str(checkout))
    package = types.ModuleType(kit)
    package.__path__ = [str(checkout / kit)]
    sys.modules[kit] = package
    outcomes = smp_cases.outcomes(importlib.import_module(f"{kit}.smp"))
    (CASES / f"smp_{kit}.json").write_text(
        json.dumps(outcomes, indent=1, ensure_ascii=False, sort_keys=True) + "\n",
        "utf-8",
    )
    print(f"{len(outcomes)} cases of {kit}.smp")


if __name__ == "__main__":
    main()
