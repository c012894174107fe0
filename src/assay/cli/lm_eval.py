"""`assay lm-eval`: lm-eval's command line, in which task names need no prefix."""

from collections.abc import Sequence
from pathlib import Path

from ..core import UsageError

TASK_FLAGS = ("--tasks", "-t")
ACTIONS = ("run", "ls", "list", "validate")
HELP = """\
usage: assay lm-eval run --tasks NAME,… --model MODEL [options of assay run]
       assay lm-eval ls [BEGINNING]

Run tasks of lm-eval through the installed `lm_eval` package, with lm-eval's own
flags. Same as `assay run lm_eval/NAME`; `assay run --help` lists all options."""


def command(arguments: Sequence[str]) -> int:
    """Run tasks of lm-eval, or list them."""
    words = list(arguments)
    if not words or words[0] in ("-h", "--help"):
        print(HELP)
        return 0
    action = words.pop(0) if words[0] in ACTIONS else "run"
    if action in ("ls", "list"):
        from .ls import command as list_names

        names = [word for word in words if not word.startswith("-") and word != "tasks"]
        flags = [word for word in words if word == "--json"]
        return list_names([f"lm_eval/{names[0]}" if names else "lm_eval", *flags])
    if action == "validate":
        raise UsageError(
            "lm-eval's `validate` is `--dry_run` here",
            fix="assay lm-eval run --tasks NAME --dry_run",
        )
    from .run import command as run_tasks

    return run_tasks(with_prefixes(words))


def with_prefixes(words: Sequence[str]) -> list[str]:
    """Return the arguments for `assay run`, with lm-eval's prefix added to every task name."""
    translated: list[str] = []
    is_task = False
    folder = _include_path(words)
    for word in words:
        flag, equals, value = word.partition("=")
        if flag in TASK_FLAGS and equals:
            translated.append(f"{flag}={_add_prefix(value, folder)}")
            is_task = False
        elif word.startswith("-"):
            is_task = word in TASK_FLAGS
            translated.append(word)
        else:
            translated.append(_add_prefix(word, folder) if is_task else word)
    return translated


def _include_path(words: Sequence[str]) -> Path | None:
    for position, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag.replace("-", "_") == "__include_path":
            if equals:
                folder_name = value
            else:
                folder_name = "".join(words[position + 1 : position + 2])
            return Path(folder_name).expanduser()
    return None


def _add_prefix(
    names: str,
    folder: Path | None,
) -> str:
    own_names = _names_in(folder)
    prefixed = []
    for name in names.split(","):
        is_elsewhere = not name or "/" in name or Path(name).exists()
        if is_elsewhere or name.partition("|")[0] in own_names:
            prefixed.append(name)
        else:
            prefixed.append(f"lm_eval/{name}")
    return ",".join(prefixed)


def _names_in(folder: Path | None) -> set[str]:
    if folder is None or not folder.is_dir():
        return set()
    from ..dialects.harness.index_building import index_of_folder
    from ..dialects.lm_eval.claims import LIBRARY

    return set(index_of_folder(folder, LIBRARY))
