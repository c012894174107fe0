"""Runs inside a sandbox, before anything a model wrote: sets limits, gives up what is left of privileges, goes on.

`python -I -S inside.py SETTINGS PROGRAM ARGUMENTS…`: standard library only, and little of it, for every execution pays
for what is imported here.
"""

import json
import os
import resource
import sys

settings = json.loads(sys.argv[1])


def limit(kind: int, soft: int, hard: int | None = None) -> None:
    """A limit, or a lower one that is in force already."""
    most = resource.getrlimit(kind)[1]
    hard = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def tasks_of(uid: int) -> int:
    """Threads of one user on this machine: the limit on processes counts them all."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            pass  # it has ended meanwhile
    return count


limit(resource.RLIMIT_CORE, 0)
limit(resource.RLIMIT_NOFILE, 256)
limit(resource.RLIMIT_FSIZE, settings["file"])
limit(resource.RLIMIT_CPU, settings["cpu"], settings["cpu"] + 1)
limit(resource.RLIMIT_AS, settings["memory"])
others = 0
if settings["uid"] is not None:
    os.setgroups([])
    os.setresgid(settings["uid"], settings["uid"], settings["uid"])
    os.setresuid(settings["uid"], settings["uid"], settings["uid"])
elif settings.get("shares_uid"):
    others = tasks_of(os.getuid())
limit(resource.RLIMIT_NPROC, settings["processes"] + others)
if "readable" in settings:
    sys.path.insert(0, __file__.rpartition("/")[0])
    import confine  # type: ignore[import-not-found]

    sys.path.pop(0)
    confine.confine(settings["readable"], settings["writable"], settings["calls"])


def run_and_hand_out(argv: list, names: list, pipe: int) -> None:  # type: ignore[type-arg]
    """Runs the command, then writes the files that were asked for to a pipe: a line of JSON, and the bytes."""
    os.set_inheritable(pipe, False)
    child = os.fork()
    if not child:
        os.execv(argv[0], argv)
    status = os.waitpid(child, 0)[1]
    with open(pipe, "wb") as out:
        for name in names:
            try:
                with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                    data = file.read(settings["file"])
            except OSError:
                continue
            out.write(json.dumps([name, len(data)]).encode() + b"\n" + data)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


if settings.get("keep"):
    run_and_hand_out(sys.argv[2:], settings["keep"], settings["pipe"])
if not settings["same"]:
    os.execv(sys.argv[2], sys.argv[2:])
# The command is this very interpreter with a file of assay's: starting it again would cost more than all the rest.
sys.argv = sys.argv[3:]
with open(sys.argv[0], encoding="utf-8") as file:
    code = compile(file.read(), sys.argv[0], "exec")
exec(code, {"__name__": "__main__", "__file__": sys.argv[0], "__builtins__": __builtins__})  # noqa: S102
