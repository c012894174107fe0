"""Recognise a TELEVAL registry or user file, with the standard library only. No file is run."""

from collections.abc import Iterator
from pathlib import Path

from ..placing import facade_names

NAMES = facade_names("televal")
NEAR = 3
"""Number of parent folders of a script that are searched for its registry or `src/`."""
KINDS = (
    "infer_task",
    "eval_task",
    "dataset",
    "template",
    "model",
    "evaluator",
    "summarizer",
)


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return why a path is for TELEVAL, by the folders of a registry, the classes in a YAML file, or Python imports."""
    if path.is_dir():
        kinds = kinds_in(path) or kinds_in(path / "registry")
        if len(kinds) > 1 or "infer_task" in kinds:
            return f"a TELEVAL registry of {', '.join(kinds)}"
        return None
    if path.suffix in (".yaml", ".yml"):
        return _claims_yaml(path)
    used = sorted(
        name
        for name in imports
        if any(name == module or name.startswith(f"{module}.") for module in NAMES)
    )
    if used:
        return f"imports {used[0]}, a TELEVAL module"
    return None


def home_of(script: Path) -> Path:
    """Return the folder that contains a script's `src` package.

    For a script in `tools/`, this is the folder with the registry or `src/`.
    """
    around = [script.parent, *script.parent.parents][:NEAR]
    return next(
        (f for f in around if kinds_in(f / "registry") or (f / "src").is_dir()),
        script.parent,
    )


def kinds_in(folder: Path) -> list[str]:
    """Return the kinds (`model`, `dataset`, …) for which a registry folder has YAML files."""
    return [kind for kind in KINDS if next(yaml_files(folder / kind), None) is not None]


def yaml_files(folder: Path) -> Iterator[Path]:
    """Return an iterator over the YAML files in a folder, sorted by name. A missing folder has none."""
    if folder.is_dir():
        return iter(
            sorted(p for p in folder.glob("*") if p.suffix in (".yaml", ".yml"))
        )
    return iter(())


def _claims_yaml(path: Path) -> str | None:
    if path.resolve().parent.name not in KINDS:
        return None
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    if "class:" in text and "src." in text:
        return "a YAML file of a TELEVAL registry"
    return None
