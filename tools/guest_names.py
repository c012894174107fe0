"""Counts the names that a checkout's own files import from each of its packages, and how many assay serves by itself.

    python tools/guest_names.py CHECKOUT [--missing]

A name counts as served if the façade has it without any checkout. Names of a dataset's or a model's own helper module
are not counted: they come from the checkout, or from a user's own file, and assay stands for none of them.
"""

import argparse
import importlib
from collections import defaultdict
from pathlib import Path

from assay.dialects.overlay import replacement, stands_for
from assay.dialects.placing import absolute_name
from assay.dialects.recognise import DIALECTS
from assay.dialects.source_names import names_in


def imported(root: Path, top: str) -> dict[str, dict[str, int]]:
    """By module of the package: the names that its files import from it, and in how many files."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for file in sorted((root / top).rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        package = ".".join(parts[:-1])
        for node in names_in(file).imports:
            module = (
                absolute_name(package, node.module, node.level)
                if node.level
                else node.module
            )
            if module is None or module.partition(".")[0] != top:
                continue
            for name, _ in node.names:
                found[module][name] += 1
    return found


def is_served(module: str, name: str, names: dict[str, str]) -> bool | None:
    """Whether the façade has a name; `None` for a module that assay does not stand for."""
    real = stands_for(module, names)
    ours = replacement(real)
    if ours is None:
        return None
    inner = stands_for(f"{module}.{name}", names)
    return name == "*" or hasattr(ours, name) or replacement(inner) is not None


def main() -> None:
    """Print a line for each module, and the sum at the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument(
        "--missing", action="store_true", help="name what is not served"
    )
    given = parser.parse_args()
    served_all = asked_all = 0
    for dialect in DIALECTS:
        names: dict[str, str] = importlib.import_module(
            f"assay.dialects.{dialect}.claims"
        ).NAMES
        for top in sorted(
            {
                name.partition(".")[0]
                for name in names
                if (given.checkout / name.partition(".")[0]).is_dir()
            }
        ):
            for module, wanted in sorted(imported(given.checkout, top).items()):
                verdicts = {name: is_served(module, name, names) for name in wanted}
                known = {
                    name: verdict
                    for name, verdict in verdicts.items()
                    if verdict is not None
                }
                if not known:
                    continue
                served = sum(known.values())
                served_all, asked_all = served_all + served, asked_all + len(known)
                print(f"{module:45} {served:4} of {len(known)}")
                if given.missing:
                    for name in sorted(
                        n for n, verdict in known.items() if not verdict
                    ):
                        print(f"    {name} ({wanted[name]} files)")
    print(f"{'all':45} {served_all:4} of {asked_all}")


if __name__ == "__main__":
    main()
