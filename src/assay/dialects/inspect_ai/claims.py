"""Recognise task references and files that belong to inspect_ai. No file is run."""

import ast
from pathlib import Path

NAMES: dict[str, str] = {}
"""Modules that assay provides to files of inspect_ai. There are none, because its own package is used."""
PREFIXES = ("inspect_evals/", "inspect-evals/")
PACKAGE = "inspect_ai"
DECORATOR = "task"


def claims_name(reference: str) -> str | None:
    """Return the reason for treating a task reference as a task of inspect_ai, or None.

    A reference that is the path of an existing file or folder is never treated so.
    """
    if Path(reference).exists():
        return None
    if reference.startswith(PREFIXES):
        return f"it begins with {PREFIXES[0]}"
    file, task = split_task(reference)
    if task and Path(file).expanduser().is_file() and task_names(Path(file)):
        return "it names a task of a file that imports inspect_ai"
    return None


def split_task(reference: str) -> tuple[str, str]:
    """Split `file.py@task` or `file.py:task` into file and task. The task is empty if only the file is named."""
    for mark in ("@", ":"):
        file, found_mark, task = reference.rpartition(mark)
        if found_mark and file.endswith(".py"):
            return file, task
    return reference, ""


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return why a file contains tasks of inspect_ai; None if it does not."""
    is_importing = any(name.split(".")[0] == PACKAGE for name in imports)
    if not is_importing or not task_names(path):
        return None
    return "it imports inspect_ai and defines a @task"


def task_names(path: Path) -> list[str]:
    """Return the names of the functions in a file that are decorated with `@task`, in order."""
    return [function.name for function in _task_functions(path)]


def task_parameters(path: Path, name: str) -> list[str] | None:
    """Return the parameter names of a task in a file; None if it takes any (`**kwargs`)."""
    for function in _task_functions(path):
        if function.name == name:
            break
    else:
        return []
    if function.args.kwarg is not None:
        return None
    parameters = [*function.args.args, *function.args.kwonlyargs]
    return [parameter.arg for parameter in parameters]


def _task_functions(path: Path) -> list[ast.FunctionDef]:
    """Return the syntax trees of the functions in a file that are decorated with `@task`."""
    try:
        tree = ast.parse(path.expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return []
    functions = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _is_task(node):
            functions.append(node)
    return functions


def _is_task(node: ast.FunctionDef) -> bool:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            function = decorator.func
        else:
            function = decorator
        if isinstance(function, ast.Name) and function.id == DECORATOR:
            return True
        if isinstance(function, ast.Attribute) and function.attr == DECORATOR:
            return True
    return False
