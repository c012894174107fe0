"""Runs inside a sandbox, before any code of a model: sets limits, drops privileges, then becomes the command.

Executed by `python -I -S`, with a predefined variable `settings`. It uses as little of the standard library as
possible, since every execution pays for the imports: `posix` is already loaded, `os` is not.
"""

import posix
import sys

MYPY = False  # importing `typing` would cost time
if MYPY:
    from typing import Any

settings: dict = globals()["settings"]  # type: ignore[type-arg]


def tasks_of(uid: int) -> int:
    """Return the number of threads of a user on this machine, all of which count towards the process limit."""
    count = 0
    for name in posix.listdir("/proc"):
        try:
            if name.isdigit() and posix.stat(f"/proc/{name}").st_uid == uid:
                count += len(posix.listdir(f"/proc/{name}/task"))
        except OSError:
            pass  # it has ended
    return count


def load(name: str) -> None:
    """Load a module of assay from compiled code in the settings, because the sandbox contains no files of assay."""
    module = type(sys)(name)
    sys.modules[name] = module
    exec(settings["modules"][name], module.__dict__)  # noqa: S102


def separate_streams() -> None:
    """Reserve standard output for verdicts. Redirect other output to standard error,
    and make standard input empty.
    """
    facts = settings["facts"]
    facts["verdict"] = posix.dup(1)
    nothing = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(nothing, 0)
    posix.dup2(2, 1)


def run_and_hand_out(names: list, pipe: int) -> None:  # type: ignore[type-arg]
    """Fork. The child returns and becomes the command; the parent then writes the kept files to a pipe.

    Each file is written as length, name and bytes.
    """
    posix.set_inheritable(pipe, False)
    child = posix.fork()
    if not child:
        posix.close(pipe)
        return
    status = posix.waitpid(child, 0)[1]
    with open(pipe, "wb") as out:
        for number, name in enumerate(names):
            try:
                with open(
                    posix.open(
                        name, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK
                    ),
                    "rb",
                ) as file:
                    data = file.read(settings["file"])
            except OSError:
                continue
            out.write(b"%d %d\n" % (number, len(data)) + data)
    posix._exit(
        posix.WEXITSTATUS(status)
        if posix.WIFEXITED(status)
        else 128 + posix.WTERMSIG(status)
    )


for module in settings["modules"]:
    load(module)
steps: "Any" = sys.modules["steps"]
if settings["role"] == "server":
    sys.modules["serving"].main(settings)
    raise SystemExit
if settings.get("stdio") and settings["role"] == "verdict":
    separate_streams()
if "files" in settings:
    steps.write_files(settings["home"], settings["files"])
if settings["uid"] is not None:
    posix.setgroups([])
    steps.become_user(settings["uid"])
steps.set_limits(
    settings,
    tasks_of(posix.getuid())
    if settings.get("shares_uid") and settings["uid"] is None
    else 0,
)
if "parent" in settings:
    sys.modules["confine"].end_with(settings["parent"])
if "calls" in settings:
    sys.modules["confine"].confine(
        settings.get("readable"),
        settings.get("writable"),
        settings["calls"],
    )
if settings["keep"]:
    run_and_hand_out(settings["keep"], settings["pipe"])
if settings["role"] == "program" and settings.get("by_name"):
    import os  # the function that searches PATH

    is_python = settings["argv"][0] in ("python", "python3")
    os.execvp(sys.executable if is_python else settings["argv"][0], settings["argv"])
elif settings["role"] == "program":
    posix.execv(settings["argv"][0], settings["argv"])
elif settings["role"] == "script":
    steps.become_script(settings["argv"])
elif settings["role"] == "workspace":
    sys.modules["workspace_inside"].main(settings)
else:
    steps.add_exit()
    sys.modules["harness"].main(settings)
