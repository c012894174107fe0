"""Tests as a test file has them: functions named `test…`, `unittest` classes, a block for `__main__`.

Executing such a file defines tests and runs none, so every program would pass. The calls that pytest or unittest
would make are added here.
"""

import ast
from collections.abc import Iterable, Iterator

DEFINITIONS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Pass,
    ast.Assign,
    ast.AnnAssign,
)
"""Statements that run no test."""
RUNNERS = ("unittest.main", "pytest.main")
"""Calls that collect the tests of a file and run them."""

RUN_TESTS = """
def _assay_run_tests(functions, classes):
    import asyncio
    import inspect
    import unittest

    def call(function):
        result = function()
        if inspect.iscoroutine(result):
            asyncio.run(result)

    for function in functions:
        call(function)
    for kind in classes:
        if issubclass(kind, unittest.TestCase):
            suite = unittest.defaultTestLoader.loadTestsFromTestCase(kind)
            result = unittest.TestResult()
            suite.run(result)
            for test, trace in result.errors + result.failures:
                raise AssertionError(f"{test.id()}: {trace.strip().splitlines()[-1]}")
            for test in result.unexpectedSuccesses:
                raise AssertionError(f"{test.id()}: passed, but should fail")
            continue
        for name in dir(kind):
            if name.startswith("test"):
                instance = kind()
                getattr(instance, "setup_method", lambda: None)()
                call(getattr(instance, name))
"""


class NothingRuns(ValueError):
    """The test code defines functions, but neither calls them nor names them as tests."""


def runnable(code: str) -> str:
    """Return test code that runs its tests when it is executed.

    Code that calls what it tests is returned as it is. Raise `NothingRuns` for code that would pass every program.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code  # the sandbox says where
    unguarded = list(_without_guards(tree.body))
    statements = [line for line in unguarded if not _is_runner(line)]
    has_runner = len(statements) < len(unguarded)
    has_call = any(_acts(statement) for statement in statements)
    if statements != tree.body:
        code = ast.unparse(ast.Module(statements, []))
    if has_call and not has_runner:
        return code
    functions, classes = _tests_in(statements)
    if has_call:
        functions = []  # the code calls its functions itself, and leaves the classes to unittest
    if functions or classes:
        tests = f"[{', '.join(functions)}], [{', '.join(classes)}]"
        return f"{code}\n{RUN_TESTS}\n_assay_run_tests({tests})\n"
    if has_call or any(_calls(statement) for statement in statements):
        return code
    raise NothingRuns(_describe(statements))


def _without_guards(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, with the content of `if __name__ == "__main__":` in place of the block."""
    for statement in statements:
        if isinstance(statement, ast.If) and _is_guard(statement.test):
            yield from statement.body
        else:
            yield statement


def _is_guard(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return text in ("__name__ == '__main__'", "'__main__' == __name__")


def _is_runner(statement: ast.stmt) -> bool:
    """Return True for a call of a test runner, alone or as the argument of `sys.exit`."""
    if not isinstance(statement, ast.Expr):
        return False
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) in RUNNERS
        for node in ast.walk(statement)
    )


def _acts(statement: ast.stmt) -> bool:
    """Return True for a statement that does something, such as an assertion, a call or a loop."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return not isinstance(statement, DEFINITIONS)


def _calls(statement: ast.stmt) -> bool:
    """Return True for an assignment that calls something."""
    is_assignment = isinstance(statement, ast.Assign | ast.AnnAssign)
    return is_assignment and any(
        isinstance(node, ast.Call) for node in ast.walk(statement)
    )


def _tests_in(statements: Iterable[ast.stmt]) -> tuple[list[str], list[str]]:
    """Return the names of the test functions and of the test classes."""
    functions = []
    classes = []
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if statement.name.startswith("test") and not _needs_arguments(statement):
                functions.append(statement.name)
        elif isinstance(statement, ast.ClassDef) and _is_test_class(statement):
            classes.append(statement.name)
    return functions, classes


def _needs_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args)
    has_required_keyword = any(default is None for default in arguments.kw_defaults)
    return positional > len(arguments.defaults) or has_required_keyword


def _is_test_class(statement: ast.ClassDef) -> bool:
    """Return True for a class that unittest or pytest collects."""
    bases = [ast.unparse(base) for base in statement.bases]
    if any(base.rpartition(".")[2].endswith("TestCase") for base in bases):
        return True
    has_tests = any(
        isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef)
        and line.name.startswith("test")
        for line in statement.body
    )
    return has_tests and statement.name.startswith("Test")


def _describe(statements: Iterable[ast.stmt]) -> str:
    names = [
        line.name
        for line in statements
        if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    if not names:
        return "the tests check nothing"
    return f"the tests define {', '.join(names[:3])} and call nothing"
