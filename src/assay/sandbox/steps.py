"""Runs inside a sandbox: sets limits, changes the user and writes files, before the program of an execution starts.

Shared by two programs. `inside` turns its own process into one execution; `serving`
forks a process for each. Imports as little of the standard library as possible: `posix`
is already loaded, `os` is not.
"""

import builtins
import posix
import resource
import sys

OPEN_FILES = 128
"""Maximum number of descriptors of each process. Each may be a socket, whose buffers are kernel memory."""

PENDING_SIGNALS = 4096
"""Maximum number of timers and pending signals of one user."""


def limit(
    kind: int,
    soft: int,
    hard: int | None = None,
) -> None:
    """Set a kernel limit of this process. Keep the current hard limit if it is lower."""
    most = resource.getrlimit(kind)[1]
    hard = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def become_user(uid: int) -> None:
    """Change the user of this process. If it was root, it loses its capabilities."""
    posix.setresgid(uid, uid, uid)
    posix.setresuid(uid, uid, uid)


def set_limits(settings: dict, others: int = 0) -> None:  # type: ignore[type-arg]
    """Set the kernel limits. `others` is added to the process limit: other processes of the same user."""
    seconds = settings["cpu"]
    processes = settings["processes"] + others
    limit(resource.RLIMIT_CORE, 0)
    # Timers and pending signals use kernel memory that is not counted for any process.
    limit(resource.RLIMIT_SIGPENDING, PENDING_SIGNALS)
    limit(resource.RLIMIT_NOFILE, settings.get("open_files", OPEN_FILES))
    limit(resource.RLIMIT_FSIZE, settings["file"])
    limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    limit(resource.RLIMIT_AS, settings["memory"])
    limit(resource.RLIMIT_NPROC, processes)


def write_files(home: str, files: dict) -> None:  # type: ignore[type-arg]
    """Create the home folder of the command, and write its initial files there. Some sandboxes do this themselves."""
    posix.mkdir(home)
    posix.chdir(home)
    for name, data in files.items():
        path = ""
        for folder in name.split("/")[:-1]:
            path += f"{folder}/"
            try:
                posix.mkdir(path)
            except FileExistsError:
                pass
        with open(name, "wb") as file:
            file.write(data)
        posix.chmod(name, 0o444)


def add_exit() -> None:
    """Define `exit` and `quit` as Python's `site` module would."""
    import _sitebuiltins

    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))


def become_script(argv: list) -> None:  # type: ignore[type-arg]
    """Run a Python file in this interpreter as `python FILE` would, which is faster than starting another one."""
    add_exit()
    sys.argv = argv
    sys.path.insert(0, posix.getcwd())
    scope = sys.modules["__main__"].__dict__
    scope.clear()
    scope.update(
        __name__="__main__",
        __builtins__=builtins,
        __file__=argv[0],
        __doc__=None,
        __package__=None,
    )
    with open(argv[0], "rb") as file:
        code = compile(file.read(), argv[0], "exec")
    exec(code, scope)  # noqa: S102 - what the sandbox is for
