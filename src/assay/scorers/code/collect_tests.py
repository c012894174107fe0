"""Add the calls that run the tests in test code, as pytest and unittest would run them.

A test file defines functions named `test…` or classes of tests. Merely executing the
file runs none of them, so every program would pass. Code that already calls its tests
is not changed.
"""

import ast
import builtins
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CATCHES_FAILURES = ("", "Exception", "BaseException", "AssertionError")
"""The exceptions of `except` blocks that catch a failed assertion."""
ENDS = re.compile(r"\b(?:_?exit|quit|fail)\Z")
"""Functions that end a program or a test as failed: `sys.exit`, `pytest.fail`."""
SKIPS = re.compile(r"\bskip\b|\bskipTest\b|\bSkipTest\b")
"""Marks that skip a test under every condition."""
FILLED_BY_DECORATORS = ("patch", "given")
"""Parts of the names of decorators that provide the arguments of a test."""

RUN_TESTS = """
def _assay_run_tests(function_names, class_names):
    import asyncio
    import inspect
    import sys
    import unittest

    def is_of_program(error):
        # The tests may skip one of themselves, but the program may not.
        library = inspect.__file__.rpartition("inspect")[0]
        trace = getattr(error, "__traceback__", None)
        while trace is not None:
            if not trace.tb_frame.f_code.co_filename.startswith(("<assay tests>", library)):
                return True
            trace = trace.tb_next
        return False

    def call(function, *optional):
        wanted = len(inspect.signature(function).parameters) if optional else 0
        try:
            result = function(*optional[:wanted])
        except unittest.SkipTest as skip:
            if is_of_program(skip):
                raise AssertionError("the program skips its test") from skip
            return
        if inspect.iscoroutine(result):
            asyncio.run(result)

    def hook(owner, name, *optional):
        function = owner.get(name) if isinstance(owner, dict) else getattr(owner, name, None)
        if function is not None:
            call(function, *optional)

    class Result(unittest.TestResult):
        passed = 0

        def addSuccess(self, test):
            self.passed += 1

        def addSkip(self, test, reason):
            if is_of_program(sys.exc_info()[1]):
                self.addFailure(test, sys.exc_info())
            else:
                super().addSkip(test, reason)

    def run_case(kind):
        names = [name for name in dir(kind) if name.startswith("test")]
        names = names or [name for name in ["runTest"] if hasattr(kind, name)]
        result = Result()
        unittest.TestSuite([kind(name) for name in names]).run(result)
        for test, trace in result.errors + result.failures:
            raise AssertionError(f"{test.id()}: {trace.strip().splitlines()[-1]}")
        for test in result.unexpectedSuccesses:
            raise AssertionError(f"{test.id()}: passed, but should fail")
        ended = result.passed + len(result.skipped) + len(result.expectedFailures)
        if result.testsRun > ended or kind.failureException is not AssertionError:
            raise AssertionError(f"{kind.__name__}: a test neither passed nor failed")

    def is_collected(kind):
        if not isinstance(kind, type):
            return False
        is_pytest = kind.__name__.startswith("Test") and kind.__init__ is object.__init__
        return is_pytest or issubclass(kind, unittest.TestCase)

    scope = globals()
    functions = [scope[name] for name in function_names if name in scope]
    kinds = [scope[name] for name in class_names if name in scope]
    hook(scope, "setup_module", None)
    for function in functions:
        hook(scope, "setup_function", function)
        call(function)
        hook(scope, "teardown_function", function)
    for kind in filter(is_collected, kinds):
        if issubclass(kind, unittest.TestCase):
            run_case(kind)
            continue
        hook(kind, "setup_class")
        for name in dir(kind):
            if name.startswith("test"):
                instance = kind()
                method = getattr(instance, name)
                hook(instance, "setup_method", method)
                call(method)
                hook(instance, "teardown_method", method)
        hook(kind, "teardown_class")
    hook(scope, "teardown_module", None)
"""


class NothingRuns(ValueError):
    """Raised for test code that every program would pass, because nothing in the code can fail."""


def runnable(parts: Sequence[str]) -> str:
    """Return the parts of test code as one text that runs all tests when it is executed.

    Several parts may define tests with the same names. Code that already runs its tests
    is unchanged. Raise `NothingRuns` for code that would pass every program.
    """
    whole = "\n".join(parts)
    try:
        pieces = [TestCode(ast.parse(part)) for part in parts]
    except SyntaxError:
        try:
            # The parts are the lines of one code.
            pieces = [TestCode(ast.parse(whole))]
        except SyntaxError:
            return whole  # the sandbox says where
    if not any(map(can_fail, pieces)):
        raise NothingRuns(_describe(pieces))
    if not any(piece.tests or piece.is_changed for piece in pieces):
        return whole
    return "\n".join([RUN_TESTS, *(piece.written() for piece in pieces)])


@dataclass
class TestCode:
    """One piece of test code: its statements, and the tests that it defines without calling them."""

    __test__ = False  # not a test of this repository, despite its name

    tree: ast.Module
    statements: list[ast.stmt] = field(init=False)
    """The statements of the code, excluding calls to test runners.

    The content of a block `if __name__ == "__main__":` takes the place of the block.
    """
    functions: list[str] = field(init=False)
    """The names of test functions that nothing calls."""
    kinds: list[str] = field(init=False)
    """The names of test classes, or of classes that may inherit tests."""
    is_changed: bool = field(init=False)

    def __post_init__(self) -> None:
        before = ast.dump(self.tree)
        unguarded = ast.Module(list(_without_guards(self.tree.body)), [])
        runners = _names_of_runners(unguarded)
        statements = _WithoutRunners(runners).visit(unguarded).body
        self.statements = list(_without_exits(statements))
        self.is_changed = ast.dump(ast.Module(self.statements, [])) != before
        definitions = list(_definitions(self.statements))
        names_used = _names_used(self.statements)
        self.functions = []
        for definition in definitions:
            is_test = definition.name.startswith("test")
            if (
                is_test
                and isinstance(definition, FUNCTIONS)
                and definition.name not in names_used
            ):
                _check_arguments(definition)
                self.functions.append(definition.name)
        self.kinds = [
            line.name for line in definitions if isinstance(line, ast.ClassDef)
        ]

    @property
    def tests(self) -> bool:
        """True if there are tests to run. A class has tests if it has a test method or may inherit one."""
        return bool(self.functions) or any(
            isinstance(line, ast.ClassDef) and _may_have_tests(line)
            for line in _definitions(self.statements)
        )

    def written(self) -> str:
        """Return the code with calls to its tests at the end."""
        code = ast.unparse(ast.Module(self.statements, []))
        if not self.tests:
            return code
        return f"{code}\n_assay_run_tests({self.functions!r}, {self.kinds!r})\n"


def can_fail(piece: TestCode) -> bool:
    """Return True if the tests can fail: they assert, raise, or use a name that they do not define.

    Code that never runs is ignored: tests that are always skipped, coroutines that are
    not awaited, and functions that are not called. A comparison whose result is not
    used cannot fail. Neither can code in a `try` block that ignores failures.
    """
    definitions = {line.name: line for line in _definitions(piece.statements)}
    other_names = {*dir(builtins), *_names_bound(piece.statements), *definitions}
    coroutines = {
        name
        for name, line in definitions.items()
        if isinstance(line, ast.AsyncFunctionDef)
    }
    own_definitions = set(definitions.values())
    unread = dict(definitions)
    waiting: list[ast.AST] = list(piece.statements)
    for name in piece.functions + piece.kinds:
        line = unread[name]
        if not isinstance(line, ast.ClassDef) or _may_have_tests(line):
            waiting += _bodies(unread.pop(name))
    while waiting:
        node = waiting.pop()
        if node in own_definitions:
            continue
        if isinstance(node, ast.Expr) and _is_discarded(node.value, coroutines):
            continue
        if isinstance(node, ast.Name) and node.id in unread:
            waiting += _bodies(unread.pop(node.id))
        if _fails(node, other_names):
            return True
        waiting += _children(node)
    return False


def _bodies(definition: ast.stmt) -> list[ast.stmt]:
    """Return the statements of a function, or of the methods of a class that are run."""
    decorators = getattr(definition, "decorator_list", [])
    if any(SKIPS.search(ast.unparse(decorator)) for decorator in decorators):
        return []
    if isinstance(definition, FUNCTIONS):
        first = [line for line in definition.body if not _is_text(line)][:1]
        is_skipped = any(SKIPS.search(ast.unparse(line)) for line in first)
        return [] if is_skipped else definition.body
    if not isinstance(definition, ast.ClassDef):
        return []
    # unittest awaits the tests of no other class.
    bases = " ".join(map(ast.unparse, definition.bases))
    is_awaited = "TestCase" not in bases or "IsolatedAsyncio" in bases
    is_test = _may_have_tests(definition) or definition.name.startswith("Test")
    statements = []
    for line in definition.body:
        if not isinstance(line, FUNCTIONS) or (is_test and line.name[:4] != "test"):
            continue
        if isinstance(line, ast.FunctionDef) or is_awaited:
            statements += _bodies(line)
    return statements


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_discarded(value: ast.expr, coroutines: Container[str]) -> bool:
    """Return True for a statement without effect: a comparison such as `f(1) == 2`, or
    a coroutine that is not awaited.
    """
    match value:
        case ast.Compare():
            return True
        case ast.Call(func=ast.Name(id=name)) if name in coroutines:
            return True
        case ast.Call(func=ast.Name(id=name), args=[part, *_]):
            return hasattr(builtins, name) and _is_discarded(part, coroutines)
        case ast.UnaryOp(operand=part) | ast.BoolOp(values=[*_, part]):
            return _is_discarded(part, coroutines)
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part):
            return _is_discarded(part, coroutines)
    return False


def _fails(node: ast.AST, other_names: Container[str]) -> bool:
    """Return True for a statement or call that can fail. A called function is recognized by its name only."""
    match node:
        case ast.Raise():
            return True
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Assert():
            return True
        case ast.Call(func=function):
            root = _root_of(function)
            is_other = root is None or root not in other_names
            return is_other or ENDS.search(ast.unparse(function)) is not None
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the child nodes. The body of a `try` that ignores failed assertions is left out."""
    if isinstance(node, ast.Try) and any(map(_passes_over, node.handlers)):
        yield from (*node.handlers, *node.orelse, *node.finalbody)
    else:
        yield from ast.iter_child_nodes(node)


def _passes_over(handler: ast.ExceptHandler) -> bool:
    """Return True for an `except` block that catches a failed assertion and neither raises nor exits."""
    caught = handler.type
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    names = [ast.unparse(kind) if kind else "" for kind in kinds]
    return any(name in CATCHES_FAILURES for name in names)


def _without_guards(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements. The content of a block `if __name__ == "__main__":` takes the place of the block."""
    for statement in statements:
        if isinstance(statement, ast.If) and _is_guard(statement.test):
            yield from statement.body
        else:
            yield statement


def _is_guard(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return text in ("__name__ == '__main__'", "'__main__' == __name__")


def _names_of_runners(tree: ast.Module) -> frozenset[str]:
    """Return the names under which the code can call `unittest.main` and `pytest.main`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in ("unittest", "pytest"):
                    names.add(f"{alias.asname or alias.name}.main")
        elif isinstance(node, ast.ImportFrom) and node.module in ("unittest", "pytest"):
            for alias in node.names:
                if alias.name == "main":
                    names.add(alias.asname or "main")
    return frozenset(names | {"unittest.main", "pytest.main"})


class _WithoutRunners(ast.NodeTransformer):
    """Removes calls to test runners. A runner would search for a test file and then exit."""

    def __init__(self, runners: frozenset[str]) -> None:
        self.runners = runners

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Replace a call to a test runner with `pass`, including one inside `sys.exit(…)`."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and ast.unparse(part.func) in self.runners:
                return ast.Pass()
        return node


def _without_exits(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements before the first `sys.exit(status)`, and replace this call
    with an assertion that `status` means success.
    """
    for statement in statements:
        call = statement.value if isinstance(statement, ast.Expr) else None
        names = ("sys.exit", "exit", "quit", "os._exit")
        if not isinstance(call, ast.Call) or ast.unparse(call.func) not in names:
            yield statement
            continue
        if call.args:
            fails = ast.UnaryOp(ast.Not(), call.args[0])
            yield ast.fix_missing_locations(ast.Assert(fails))
        return


def _definitions(
    statements: Iterable[ast.stmt],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield the functions and classes that the statements define, including those within `if`, `try` and loops."""
    for statement in statements:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            yield statement
            continue
        for name in ("body", "orelse", "handlers", "finalbody"):
            for inner in getattr(statement, name, ()):
                yield from _definitions([inner])


def _executed(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes that are executed when the module is: all except the bodies of functions, classes and lambdas."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _names_used(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that the code reads anywhere."""
    names = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
    return names


def _names_bound(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that the executed statements import or assign."""
    names = set()
    for node in _executed(statements):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                names.add((alias.asname or alias.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _root_of(function: ast.expr) -> str | None:
    """Return the first name of `a.b.c`; None for any other expression."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None


def _check_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Raise if a test needs arguments that only fixtures of pytest provide."""
    decorators = " ".join(map(ast.unparse, function.decorator_list))
    if any(name in decorators for name in FILLED_BY_DECORATORS):
        return
    signature = function.args
    positional = [*signature.posonlyargs, *signature.args]
    required_count = len(positional) - len(signature.defaults)
    names = [argument.arg for argument in positional[:required_count]]
    if names:
        listed = ", ".join(names)
        raise NothingRuns(f"the test {function.name} takes arguments ({listed})")


def _may_have_tests(statement: ast.ClassDef) -> bool:
    """Return True for a class with test methods, or one that may inherit them from a class of tests."""
    has_tests = any(
        isinstance(line, FUNCTIONS) and line.name.startswith("test")
        for line in statement.body
    )
    bases = " ".join(map(ast.unparse, statement.bases))
    return has_tests or "Test" in bases


def _describe(pieces: Iterable[TestCode]) -> str:
    names = [line.name for piece in pieces for line in _definitions(piece.statements)]
    listed = f" ({', '.join(names[:3])})" if names else ""
    return (
        f"every program passes the tests{listed}: they call nothing, assert nothing, catch each failure, "
        "are skipped or are not awaited"
    )
