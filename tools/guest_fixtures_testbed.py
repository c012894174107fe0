"""What ICLTestbed's own code gives for our inputs: `guest_fixtures_testbed.py CHECKOUT`, run in its environment.

Needs upstream's requirements (transformers 4.57, datasets 3.6, bytecode, nltk, inflection). Writes
`tests/dialects/testbed/upstream/cases.json`: the name of each case of `testbed_cases.py` and what came out.
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "tests" / "dialects" / "testbed"


def main(checkout: str) -> None:
    """Run every case through the checkout and write the file."""
    sys.path.insert(0, str(Path(checkout).resolve()))
    sys.path.insert(0, str(HERE))
    reference = importlib.import_module("testbed_cases")
    outcomes = {}
    for name, case in reference.cases().items():
        outcomes[name] = reference.digest(
            reference.outcome(case, importlib.import_module)
        )
    revision = subprocess.run(
        ["git", "-C", checkout, "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    document = {
        "upstream": "Kamichanw/ICLTestbed",
        "revision": revision or "fe03436",
        "cases": outcomes,
    }
    target = HERE / "upstream" / "cases.json"
    target.parent.mkdir(exist_ok=True)
    lines = json.dumps(document, indent=0, ensure_ascii=True, sort_keys=True)
    target.write_text(f"{lines}\n", encoding="utf-8")
    print(f"{len(outcomes)} cases in {target}")


if __name__ == "__main__":
    main(sys.argv[1])
