"""What tells a TELEVAL registry or user file from others; standard library only, nothing of a file is run."""

from collections.abc import Iterator
from pathlib import Path

FACADE = "assay.dialects.televal.facade"
NAMES: dict[str, str] = {
    name: f"{FACADE}.{name.removeprefix('src.')}"
    for name in (
        "src.config",
        "src.dataset",
        "src.utils",
        "src.prompt",
        "src.models.base",
        "src.models.model_utils",
        "src.evaluator",
        "src.summarizer",
        "src.registry",
        "src.task",
    )
}
"""Parts of the guest's package that assay stands for; every other `src.…` is the user's own."""
NEAR = 3
"""How many folders up from a script its tree is looked for."""
KINDS = (
    "infer_task",
    "eval_task",
    "dataset",
    "template",
    "model",
    "evaluator",
    "summarizer",
)


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """A registry tree by its folders, one of its YAML files by its classes, a Python file by what it imports."""
    if path.is_dir():
        found = kinds_in(path) or kinds_in(path / "registry")
        return (
            f"a TELEVAL registry of {', '.join(found)}"
            if len(found) > 1 or "infer_task" in found
            else None
        )
    if path.suffix in (".yaml", ".yml"):
        return _claims_yaml(path)
    used = sorted(
        name
        for name in imports
        if any(name == module or name.startswith(f"{module}.") for module in NAMES)
    )
    return f"imports {used[0]}, a TELEVAL module" if used else None


def home_of(script: Path) -> Path:
    """The folder a script's `src.…` is read from: around `tools/` it is the one with the registry or with `src/`."""
    around = [script.parent, *script.parent.parents][:NEAR]
    return next(
        (f for f in around if kinds_in(f / "registry") or (f / "src").is_dir()),
        script.parent,
    )


def kinds_in(folder: Path) -> list[str]:
    """Which kinds of entries a folder holds, in the order of `KINDS`."""
    return [kind for kind in KINDS if next(yaml_files(folder / kind), None) is not None]


def yaml_files(folder: Path) -> Iterator[Path]:
    """The YAML files of one kind, by name."""
    return (
        iter(sorted(p for p in folder.glob("*") if p.suffix in (".yaml", ".yml")))
        if folder.is_dir()
        else iter(())
    )


def _claims_yaml(path: Path) -> str | None:
    if path.resolve().parent.name not in KINDS:
        return None
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    return (
        "a YAML file of a TELEVAL registry"
        if "class:" in text and "src." in text
        else None
    )
