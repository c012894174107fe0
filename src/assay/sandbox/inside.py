"""Runs inside a sandbox, before anything a model wrote: sets limits, gives up what is left of privileges, goes on.

Executed by `python -I -S` with `settings` among its names. Standard library only, and the least of it, for every
execution pays for what is imported here: `posix` is there already, `os` is not.
"""

import posix
import sys

MYPY = False  # `typing` would be imported for nothing else
if MYPY:
    from typing import Any

settings: dict = globals()["settings"]  # type: ignore[type-arg]


def tasks_of(uid: int) -> int:
    """Threads of one user on this machine: the limit on processes counts them all."""
    count = 0
    for name in posix.listdir("/proc"):
        try:
            if name.isdigit() and posix.stat(f"/proc/{name}").st_uid == uid:
                count += len(posix.listdir(f"/proc/{name}/task"))
        except OSError:
            pass  # it has ended meanwhile
    return count


def load(name: str) -> None:
    """A module of assay's, which lies in no file here."""
    module = type(sys)(name)
    sys.modules[name] = module
    exec(settings["modules"][name], module.__dict__)  # noqa: S102


def separate_streams() -> None:
    """Where all that is said goes over standard streams: what is printed must not mix with it."""
    facts = settings["facts"]
    facts["reading"], facts["writing"] = posix.dup(0), posix.dup(1)
    nothing = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(nothing, 0)
    if settings["role"] == "tester":
        facts["verdict"] = posix.dup(2)
        posix.dup2(nothing, 1)
        posix.dup2(nothing, 2)
    else:
        posix.dup2(2, 1)


def run_and_hand_out(names: list, pipe: int) -> None:  # type: ignore[type-arg]
    """Goes on in a child, then writes the files that were asked for to a pipe: their length, name and bytes."""
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
if settings.get("stdio") and settings["role"] in ("candidate", "tester"):
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
if "calls" in settings:
    sys.modules["confine"].confine(
        settings.get("readable"), settings.get("writable"), settings["calls"]
    )
if settings["keep"]:
    run_and_hand_out(settings["keep"], settings["pipe"])
if settings["role"] == "program" and settings.get("by_name"):
    import os  # the one that looks along PATH

    is_python = settings["argv"][0] in ("python", "python3")
    os.execvp(sys.executable if is_python else settings["argv"][0], settings["argv"])
elif settings["role"] == "program":
    posix.execv(settings["argv"][0], settings["argv"])
elif settings["role"] == "script":
    steps.become_script(settings["argv"])
else:
    sys.modules[settings["role"]].main(settings["facts"])
