"""Runs inside a sandbox: executes a program and its tests in one process and one namespace, as official runners do.

Called by `inside`, or by `serving` in a fork. Imports only the standard library, and as
little of it as possible.

The verdict is written by an audit hook (`sys.addaudithook`), which Python code can
neither remove nor find without another audit event. The hook writes "passed" only if
the frame of `judge`, in the original process, executed every part of the tests and then
reached its last line. So a program cannot pass by exiting, by printing, or through
files, forks and other descriptors.

The same hook reports a program that inspects its own process, before the inspection
happens. At the end, the harness checks whether the program replaced builtins or library
functions. Either finding makes the verdict suspect.
"""

import _thread
import builtins
import posix
import sys
from _operator import eq, is_, ne, sub

MYPY = False  # importing `typing` costs more than all else here
if MYPY:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType
    from typing import Any

MODULE = "program"
"""Name of the program's module. As in the official runners, it is not `__main__`."""
NEXT, PASSED, FAILED, CHECKED = (
    "assay.next",
    "assay.passed",
    "assay.failed",
    "assay.checked",
)
"""Audit events that `judge` raises to report its progress to the hook."""
LONGEST_REASON = 2000
MOST_REASONS = 5
ASSAY_MODULES = ("harness", "steps", "serving", "namespaces", "confine")
STANDARD_LIBRARY = str(sys.modules["encodings"].__file__).rpartition("encodings")[0]
TRUSTED_FILES = (STANDARD_LIBRARY, "<frozen ", "<assay ")
"""Files whose code may inspect the process: the standard library and the tests."""
DOCTEST = f"{STANDARD_LIBRARY}doctest.py"
ALWAYS_REPORTED = (
    "sys.settrace",
    "sys.setprofile",
    "sys.addaudithook",
    "sys.monitoring.",
)
"""Audit events that let a program manipulate its tests. They are always reported."""
REPORTED = ("sys._getframe", "sys._current_", "gc.get_", "code.__new__", "marshal.")
"""Prefixes of audit events that inspect the process. They are reported unless trusted code raises them."""
COMPARISONS = frozenset({"__eq__", "__ne__", "__sub__", "__rsub__"})
"""Methods by which tests compare a result."""
FRAME_ATTRIBUTES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_code")
FRAME_READS = (b".f_back", b".f_globals", b".f_locals", b".f_builtins")
"""Bytecode that reads attributes of frames. It is searched for, because reading them raises no audit event."""
HEAP_TYPE = 1 << 9
"""The type flag that distinguishes classes created by Python code from built-in classes."""
PATH_EVENTS = ("open", "os.chdir", "os.symlink", "os.link", "os.rename")
LOADED: "dict[str, dict[str, Any]]" = {}
REPLACEABLE = ("stdin", "stdout", "stderr", "excepthook", "displayhook")
"""Attributes of the module `sys` that a program may replace without becoming suspect."""


def main(settings: "dict[str, Any]") -> None:
    """Judge a program, then end the process without waiting for threads or exit handlers of the program."""
    try:
        judge(settings)
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - a program can break its streams
        sys.excepthook(*sys.exc_info())
    posix._exit(0)


def judge(settings: "dict[str, Any]") -> None:
    """Execute a program and its tests.

    `settings["facts"]` contains both, and the descriptor to which the verdict is written.
    """
    facts = settings.pop("facts")
    tests, program = facts.pop("tests"), facts.pop("program")
    entry = tests["entry"]
    execute, audit, compare_modules = exec, sys.audit, compare_with
    module = type(sys)(MODULE)
    scope = module.__dict__
    test_scope: dict[str, Any] = {"__name__": "tests", "__builtins__": builtins}
    say = writer(facts.pop("verdict"), facts.pop("nonce"))
    try:
        setup = compile(tests["before"], "<assay setup>", "exec")
        test = compile(tests["test"], "<assay tests>", "exec")
        call = compile(tests["call"], "<assay tests>", "exec")
        execute(setup, test_scope)
        check_imports(facts.pop("imports"))
        used = sorted(names_used(test) | names_used(call))
        uses_mock = any("mock" in name for name in names_used(setup) | {*used})
    except BaseException as error:  # noqa: BLE001 - the program has not begun
        say("fault", describe(error))
        return
    for name in ASSAY_MODULES:
        sys.modules.pop(name, None)
    # Tests find the program by either name, as in `patch("__main__.now")` and `unittest.main()`.
    sys.modules[MODULE] = sys.modules["__main__"] = module
    scope["__builtins__"] = builtins
    loaded = remember_modules()
    has_loaded = False
    shadowed: list[str] = []
    part: list[CodeType] = []
    say("ready", "")
    sys.addaudithook(hook_for(sys._getframe(), [test, call], say))
    del say, tests, test, call
    try:
        text = program.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        execute(compile(text, "program.py", "exec"), scope)
        has_loaded = True
        if entry:
            test_scope["candidate"] = find_entry(scope, entry)
        else:
            scope.update({k: v for k, v in test_scope.items() if k not in scope})
            shadowed = names_shadowed(scope, used, loaded["builtins"])
        audit(NEXT, part)
        execute(part.pop(), scope)
        audit(NEXT, part)
        execute(part.pop(), test_scope if entry else scope)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the tests did not pass
        before = "" if has_loaded else "the program does not load: "
        audit(FAILED, before + describe(error))
        return
    audit(PASSED)
    reasons = shadowed or compare_modules(loaded, scope, program)
    if not uses_mock and "unittest.mock" in sys.modules:
        reasons.append("the program loads unittest.mock, whose objects equal anything")
    audit(CHECKED, reasons)


def check_imports(names: "list[str]") -> None:
    """Raise if the tests import a module that is not installed here, because then the program is not at fault."""
    for name in names:
        is_here = name in sys.modules or name == MODULE
        if not is_here and not any(
            finder.find_spec(name, None) for finder in sys.meta_path
        ):
            raise ModuleNotFoundError(
                f"they import {name!r}, which the sandbox lacks; the program's own names need no import"
            )


def remember_modules() -> "dict[str, dict[str, Any]]":
    """Return the names and values of every loaded module. The forking process calls this once."""
    for name, module in sys.modules.items():
        if name not in LOADED:
            LOADED[name] = dict(getattr(module, "__dict__", {}))
    return LOADED


def names_used(code: "CodeType") -> "set[str]":
    """Return the global names and attributes that code and its nested functions use."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            names |= names_used(constant)
    return names


def names_shadowed(
    scope: "dict[str, Any]",
    used: "list[str]",
    builtin: "dict[str, Any]",
) -> "list[str]":
    """Return a finding for each builtin that the tests use and the program replaced.

    If the tests use no other name of the program, return none: then the task was to
    define that builtin.
    """
    defined = [name for name in used if name in scope and name[:2] != "__"]
    builtin_names = [name for name in defined if name in builtin]
    if builtin_names == defined:
        return []
    return [f"the program defines {n}, which its tests use" for n in builtin_names]


def find_entry(scope: "dict[str, Any]", name: str) -> "object":
    """Return the function under test."""
    if name not in scope:
        raise NameError(f"name {name!r} is not defined")
    return scope[name]


def describe(error: BaseException) -> str:
    """Return the type and the text of an error, cut to `LONGEST_REASON` characters."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"[:LONGEST_REASON]
    except BaseException:  # noqa: BLE001 - its text may be the program's own doing
        return name


def writer(pipe: int, nonce: str) -> "Callable[[str, str], None]":
    """Return a function that writes verdict lines.

    Each line begins with the secret number `nonce`, by which the host recognises it.
    """
    write = posix.write
    posix.set_inheritable(pipe, False)

    def say(kind: str, text: str) -> None:
        data = text.encode("utf-8", "replace").hex()
        write(pipe, f"{nonce} {kind} {data}\n".encode())

    return say


def hook_for(
    frame: "FrameType",
    parts: "list[CodeType]",
    say: "Callable[[str, str], None]",
) -> "Callable[[str, tuple[Any, ...]], None]":
    """Return the audit hook that writes the verdict, once `frame` has executed all `parts` in order.

    Only the hook refers to the parts, so that the program cannot read the tests in a
    frame.
    """
    process, get_process, get_thread = posix.getpid(), posix.getpid, _thread.get_ident
    get_frame, find_tampering = sys._getframe, describe_tampering
    busy: set[int] = set()
    reported: set[str] = set()

    def handle(event: str, args: "tuple[Any, ...]") -> None:
        caller = get_frame(2)
        if event == "exec":
            if parts and caller is frame and args[0] is parts[0]:
                parts.pop(0)
        elif caller is frame and event == NEXT:
            if type(args[0]) is list:
                args[0].append(parts[0])
        elif caller is frame and event == PASSED:
            if not parts:
                say("passed", "")
        elif caller is frame and event == FAILED:
            say("failed", args[0] if type(args[0]) is str else "")
        elif caller is frame and event == CHECKED:
            for reason in args[0]:
                say("suspect", reason)
            say("checked", "")
        elif event not in reported:
            reason = find_tampering(event, args, caller)
            if reason:
                reported.add(event)
                say("suspect", reason)

    def hook(event: str, args: "tuple[Any, ...]") -> None:
        thread = get_thread()
        if thread in busy or get_process() != process:
            return
        busy.add(thread)
        try:
            handle(event, args)
        finally:
            busy.discard(thread)

    return hook


def describe_tampering(
    event: str,
    args: "tuple[Any, ...]",
    caller: "FrameType",
) -> str:
    """Return what an audit event shows about tampering with the tests; empty if it is harmless.

    This runs in the hook, so it must not call methods of the program's objects. It
    inspects only built-in strings and bytes.
    """
    if event == "sys.settrace" and caller.f_code.co_filename == DOCTEST:
        return ""  # doctest saves and restores the trace function
    if event.startswith(ALWAYS_REPORTED):
        return f"the program uses {event}"
    if event.startswith("ctypes."):
        return "" if is_importing(caller) else f"the program uses {event}"
    if str.startswith(caller.f_code.co_filename, TRUSTED_FILES):
        return ""
    if event.startswith(REPORTED):
        return f"the program uses {event}"
    texts = [arg for arg in args if type(arg) is str]
    texts += [arg.decode("latin-1") for arg in args if type(arg) is bytes]
    for text in texts:
        if event == "object.__getattr__" and text in FRAME_ATTRIBUTES:
            return f"the program reads {text}"
        if event == "object.__setattr__" and text == "__code__":
            return "the program replaces the code of a function"
        if event == "compile" and text.startswith(TRUSTED_FILES):
            return "the program compiles code under the name of another file"
        if event in PATH_EVENTS and is_own_memory(text):
            return f"the program opens {text}"
    return ""


def is_own_memory(path: str) -> bool:
    """Return True if a path may refer to the memory of this process."""
    return "/proc" in path or path.endswith("mem")


def is_importing(frame: "FrameType | None") -> bool:
    """Return True if an import is in progress. Importing `ctypes` raises events that are otherwise suspicious."""
    while frame is not None:
        if str.startswith(frame.f_code.co_filename, "<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def compare_with(
    loaded: "dict[str, dict[str, Any]]",
    scope: "dict[str, Any]",
    program: bytes,
) -> "list[str]":
    """Return the names that the program replaced: builtins, standard library functions, or `__eq__` methods."""
    reasons = []
    for key, value in loaded["builtins"].items():
        # This loop uses no builtin, because any of them may be the program's.
        if builtins.__dict__[key] is not value and key != "_":
            builtins.__dict__[key] = value
            reasons.append(f"the program replaced builtins.{key}")
    if scope.get("__builtins__") is not builtins:
        reasons.append("the program replaced its builtins")
    for name, module in list(sys.modules.items()):
        if name in sys.stdlib_module_names and is_counterfeit(module):
            reasons.append(f"the program puts another module in the place of {name}")
        before = loaded.get(name, {})
        values = getattr(module, "__dict__", {})
        is_same = len(before) == len(values) and all(
            map(is_, before.values(), values.values())
        )
        if values is not scope and not is_same and is_of_library(module):
            for key in names_replaced(before, values, scope):
                if name != "sys" or key not in REPLACEABLE:
                    reasons.append(f"the program replaced {name}.{key}")
    reasons += inspect_classes(scope)
    reasons += [
        f"the program reads {name.decode()} of a frame"
        for name in FRAME_READS
        if name in program
    ]
    if b"mock" in program and b"ANY" in program:
        reasons.append("the program uses unittest.mock.ANY, which equals everything")
    return reasons[:MOST_REASONS]


def is_of_library(module: "object") -> bool:
    """Return True for modules of the standard library, including those compiled into Python."""
    file = getattr(module, "__file__", None) or STANDARD_LIBRARY
    return str(file).startswith(STANDARD_LIBRARY)


def is_counterfeit(module: "object") -> bool:
    """Return True for a module named like one of the standard library that was loaded from elsewhere."""
    is_imported = getattr(module, "__spec__", None) is not None
    return not is_imported or not is_of_library(module)


def names_replaced(
    before: "dict[str, Any]",
    values: "dict[str, Any]",
    scope: "dict[str, Any]",
) -> "Iterator[str]":
    """Yield the names in a module whose functions the program replaced or added. `values` has the names."""
    for name, value in list(values.items()):
        is_other = callable(before.get(name)) and value is not before[name]
        if is_other or getattr(value, "__globals__", None) is scope:
            yield name


def inspect_classes(scope: "dict[str, Any]") -> "Iterator[str]":
    """Yield the program's classes that claim to equal any value, and methods that it added to other classes."""
    function = type(inspect_classes)
    waiting: list[type] = [object]
    visited: set[int] = set()
    while waiting:
        kind = waiting.pop()
        if id(kind) in visited:
            continue
        visited.add(id(kind))
        waiting += type.__subclasses__(kind)
        if not kind.__flags__ & HEAP_TYPE:
            continue  # a type of C, which cannot be changed
        owned = [
            name
            for name, value in kind.__dict__.items()
            if type(value) is function and value.__globals__ is scope
        ]
        is_of_program = owned or kind.__module__ == MODULE
        compares = is_of_program and not COMPARISONS.isdisjoint(kind.__dict__)
        if compares and is_lying(kind):
            yield f"{kind.__name__} equals everything"
        package = str(kind.__module__).partition(".")[0]
        if owned and package in sys.stdlib_module_names:
            yield f"the program replaced {kind.__module__}.{kind.__name__}.{owned[0]}"


def is_lying(kind: type) -> bool:
    """Return True if an object of a class equals two different values, as in a class whose `__eq__` returns True."""
    try:
        thing = make_empty(kind)
    except BaseException:  # noqa: BLE001 - not every class has empty instances
        return False
    number = int.from_bytes(posix.urandom(4), "big")
    makers = (int, float, str, lambda n: (n,), lambda n: [n], lambda n: {n: n})
    for make in (*makers, lambda n: {n}, lambda n: object()):
        if agrees(thing, make(number)) and agrees(thing, make(number + 1)):
            return True
    return False


def make_empty(kind: type) -> "object":
    """Return an instance of a class without calling code of the program; for a metaclass, a class."""
    if issubclass(kind, type):
        return type.__new__(kind, "thing", (), {})
    built_in = [base for base in kind.__mro__ if not base.__flags__ & HEAP_TYPE]
    make: Any = built_in[0].__new__
    return make(kind)


def agrees(thing: object, value: object) -> bool:
    """Return True if a test would accept an object as equal to a value, exactly or within a tolerance."""
    comparisons = (eq, lambda a, b: not ne(a, b), lambda a, b: abs(sub(a, b)) < 0.001)
    for compare in comparisons:
        try:
            if compare(thing, value):
                return True
        except BaseException:  # noqa: BLE001 - most things can only be compared with some values
            continue
    return False
