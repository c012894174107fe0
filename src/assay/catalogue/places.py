"""How the catalogue is written: what all names of a table have in common stands once above them."""

from collections.abc import Mapping


def under(
    package: str, targets: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    """`name: (module:attribute, one line)` of targets that are written from their package on."""
    return {
        name: (f"{package}.{target}", line) for name, (target, line) in targets.items()
    }


def by_module(
    package: str, modules: Mapping[str, Mapping[str, str]]
) -> dict[str, tuple[str, str]]:
    """The same of names that stand under their modules and are attributes of them: `module: {name: one line}`."""
    return {
        name: (f"{package}.{module}:{name}", line)
        for module, lines in modules.items()
        for name, line in lines.items()
    }
