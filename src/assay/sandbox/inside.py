"""Runs inside a sandbox, before anything a model wrote: sets limits, gives up what is left of privileges, goes on.

Executed by `python -I -S` with `settings` among its names. Standard library only, and the least of it, for every
execution pays for what is imported here: `posix` is there already, `os` is not.
"""

import builtins
import posix
import resource
import sys

settings: dict = globals()["settings"]  # type: ignore[type-arg]
OPEN_FILES = 256


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
    for name in posix.listdir("/proc"):
        try:
            if name.isdigit() and posix.stat(f"/proc/{name}").st_uid == uid:
                count += len(posix.listdir(f"/proc/{name}/task"))
        except OSError:
            pass  # it has ended meanwhile
    return count


def load(name: str) -> object:
    """A module of assay's, which lies in no file here."""
    module = type(sys)(name)
    sys.modules[name] = module
    exec(settings["modules"][name], module.__dict__)  # noqa: S102
    return module


def write_files() -> None:
    """The folder and the files that the command starts with, where the sandbox could not be given them."""
    posix.mkdir(settings["home"])
    posix.chdir(settings["home"])
    for name, data in settings["files"].items():
        place = ""
        for folder in name.split("/")[:-1]:
            place += f"{folder}/"
            try:
                posix.mkdir(place)
            except FileExistsError:
                pass
        with open(name, "wb") as file:
            file.write(data)
        posix.chmod(name, 0o444)


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


def set_limits() -> None:
    """Limits of the kernel, and another user where this is root."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    limit(resource.RLIMIT_FSIZE, settings["file"])
    limit(resource.RLIMIT_CPU, settings["cpu"], settings["cpu"] + 1)
    limit(resource.RLIMIT_AS, settings["memory"])
    uid, others = settings["uid"], 0
    if uid is not None:
        posix.setgroups([])
        posix.setresgid(uid, uid, uid)
        posix.setresuid(uid, uid, uid)
    elif settings.get("shares_uid"):
        others = tasks_of(posix.getuid())
    limit(resource.RLIMIT_NPROC, settings["processes"] + others)


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
                with open(posix.open(name, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK), "rb") as file:
                    data = file.read(settings["file"])
            except OSError:
                continue
            out.write(b"%d %d\n" % (number, len(data)) + data)
    posix._exit(posix.WEXITSTATUS(status) if posix.WIFEXITED(status) else 128 + posix.WTERMSIG(status))


def become_script(argv: list) -> None:  # type: ignore[type-arg]
    """Runs a Python file as `python FILE` would, in this interpreter: starting another costs more than all the rest."""
    import _sitebuiltins

    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    sys.argv = argv
    sys.path.insert(0, posix.getcwd())
    scope = sys.modules["__main__"].__dict__
    scope.clear()
    scope.update(__name__="__main__", __builtins__=builtins, __file__=argv[0], __doc__=None, __package__=None)
    with open(argv[0], "rb") as file:
        code = compile(file.read(), argv[0], "exec")
    exec(code, scope)  # noqa: S102 - what the sandbox is for


if settings.get("stdio") and settings["role"] in ("candidate", "tester"):
    separate_streams()
if "files" in settings:
    write_files()
set_limits()
if "calls" in settings:
    load("confine").confine(settings.get("readable"), settings.get("writable"), settings["calls"])  # type: ignore[attr-defined]
if settings["keep"]:
    run_and_hand_out(settings["keep"], settings["pipe"])
if settings["role"] == "program" and settings.get("by_name"):
    import os  # the one that looks along PATH

    own = settings["argv"][0] in ("python", "python3")
    os.execvp(sys.executable if own else settings["argv"][0], settings["argv"])
elif settings["role"] == "program":
    posix.execv(settings["argv"][0], settings["argv"])
elif settings["role"] == "script":
    become_script(settings["argv"])
else:
    load("values")
    exec(settings["own"], {"__name__": "__main__", "facts": settings["facts"]})  # noqa: S102
