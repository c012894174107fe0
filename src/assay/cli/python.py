"""`assay python script.py …`: run a script with assay's versions of the toolkit modules
that it imports.

By naming the script, the user agrees to run it. The imports of the script determine
which toolkits it needs. assay's versions of these modules replace those of a checkout
or an installed package. All other modules are imported from there as usual. If the user
has an unrelated module with the same name, only `--dialect` hides it.
"""

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from ..core import UnknownName, UsageError
from ..dialects.guest import Guest
from ..dialects.protocol import OURS, UPSTREAM, choose
from ..dialects.recognise import DIALECTS, dialect_of, imported_names
from .explain import shown_traceback

USAGE = """\
usage: assay python [--dialect NAME] [--upstream] [--register FILE]
                    SCRIPT [ARGUMENTS …]

Run a script written for another toolkit. The script, and the modules beside it,
can import that toolkit's modules.

  --dialect NAME   the toolkit: testbed, vlmeval, pipeline, televal or ulmeval
                   (default: recognised by what the script imports)
  --upstream       follow the toolkit's own rule wherever assay's differs
  --register FILE  run a file of the toolkit first, such as one that registers a
                   model; this option may also follow the script
"""


def command(arguments: Sequence[str]) -> int:
    """Run the script as `python` does. Return the script's own exit code, or 1 if it fails."""
    words = list(arguments)
    dialect_name: str | None = None
    protocol = OURS
    register: list[str] = []
    while words and words[0].startswith(("--dialect", "--upstream", "--register")):
        first = words.pop(0)
        if first == "--upstream":
            protocol = UPSTREAM
            continue
        value = first.partition("=")[2] or (words.pop(0) if words else "")
        if first.startswith("--register"):
            register.append(value)
            continue
        dialect_name = value
        if dialect_name not in DIALECTS:
            raise UnknownName(
                "dialect",
                dialect_name,
                DIALECTS,
                hint=f"known: {', '.join(DIALECTS)}",
            )
    if not words or words[0] in ("-h", "--help"):
        from ..report.grid import write_lines

        write_lines(USAGE.split("\n"), sys.stdout)
        return 0 if words else 2
    script = Path(words[0]).expanduser()
    if not script.is_file():
        raise UsageError(
            "no such script",
            where=words[0],
            fix="check the path",
        )
    if "--register" not in script.read_text(encoding="utf-8", errors="replace"):
        register += _take_registered_files(words)
    names = names_for(script, dialect_name)
    for dialect in names:
        choose(dialect, protocol)
    for file in register:
        _register(Path(file).expanduser(), dialect_name)
    guest = Guest(
        "+".join(names) or "python",
        _merge(names),
        home_of(script, names),
        force=dialect_name is not None,
    )
    return _run(guest, script, words)


def _take_registered_files(words: list[str]) -> list[str]:
    """Remove `--register FILE` from the arguments after the script, and return the files."""
    files = []
    while "--register" in words[1:-1]:
        index = words.index("--register", 1)
        files.append(words[index + 1])
        del words[index : index + 2]
    return files


def _register(
    file: Path,
    dialect_name: str | None,
) -> None:
    """Run a file that registers names of a dialect, so that the script can use them."""
    dialect = dialect_of(str(file), dialect_name)
    if not file.is_file() or dialect is None:
        if not file.is_file():
            fault = "no such file"
        else:
            fault = "written for none of the dialects"
        raise UsageError(
            fault,
            where=f"--register {file}",
            fix=f"--dialect one of {', '.join(DIALECTS)}",
        )
    names: Mapping[str, str] = importlib.import_module(
        f"assay.dialects.{dialect[0]}.claims"
    ).NAMES
    Guest.of_file(dialect[0], names, file, force=dialect_name is not None).load(file)


def names_for(
    script: Path,
    dialect_name: str | None = None,
) -> dict[str, Mapping[str, str]]:
    """Return the module names of each dialect that a script needs.

    A script needs the dialects that it imports, and the one from `--dialect`.
    """
    imports = imported_names(script)
    names_of_dialects: dict[str, Mapping[str, str]] = {}
    for dialect in DIALECTS:
        home = Path(__file__).parent.parent / "dialects" / dialect / "claims.py"
        if not home.exists():
            continue
        names: Mapping[str, str] = importlib.import_module(
            f"assay.dialects.{dialect}.claims"
        ).NAMES
        if dialect == dialect_name or any(
            _covers(name, imported) for name in names for imported in imports
        ):
            names_of_dialects[dialect] = names
    return names_of_dialects


def home_of(
    script: Path,
    dialects: Iterable[str],
) -> Path:
    """Return the folder from which a script imports modules.

    It is the root of the toolkit that contains the script, or otherwise the script's
    folder.
    """
    for dialect in dialects:
        claims = importlib.import_module(f"assay.dialects.{dialect}.claims")
        if hasattr(claims, "home_of"):
            home: Path = claims.home_of(script.resolve())
            return home
    return script.resolve().parent


def _covers(name: str, imported: str) -> bool:
    """Return True if `import imported` concerns module `name`: the module itself, a submodule or a parent package."""
    return (
        imported == name
        or imported.startswith(f"{name}.")
        or name.startswith(f"{imported}.")
    )


def _merge(names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Merge the module names of several dialects. If two dialects have the same name, the first one gets it."""
    merged: dict[str, str] = {}
    for provided in names.values():
        merged = {**provided, **merged}
    return merged


def _run(
    guest: Guest,
    script: Path,
    argv: Sequence[str],
) -> int:
    before = sys.argv, list(sys.path)
    sys.argv = [str(script), *argv[1:]]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        guest.run_script(script)
    except SystemExit as leaving:
        return _exit_code(leaving.code)
    except Exception as error:  # noqa: BLE001 - the user's own script: shown as Python shows it
        frames = _user_frames(error.__traceback__, script)
        sys.stderr.write(shown_traceback(error, argv, frames))
        return 1
    finally:
        sys.argv, sys.path[:] = before[0], before[1]
    return 0


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _user_frames(
    trace: TracebackType | None,
    script: Path,
) -> TracebackType | None:
    """Return the traceback, starting at the script's first frame. If the script did not start, return all of it."""
    frame = trace
    while frame is not None and frame.tb_frame.f_code.co_filename != str(
        script.resolve()
    ):
        frame = frame.tb_next
    return frame or trace
