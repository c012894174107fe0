"""The direction of imports: a package imports only from groups to its left."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from source_outline import MODULES, SOURCE, module_of, outline

pytestmark = pytest.mark.xdist_group("sources")
GROUPS = (
    {"core"},
    {"code"},
    {"catalogue", "rendering"},
    {"registry"},
    {"media", "sandbox"},
    {"datasets", "templates", "models", "scorers", "summarizers", "tooling"},
    {"agents"},
    {"imports"},
    {"predictions", "store"},
    {"report"},
    {"exports", "runner"},
    {"dialects", "benchmarks", "comparison", "conformance"},
    {"view", "pytest_plugin"},
    {"cli"},
)
RUNNER = (
    {"option_fields"},
    {"options", "events", "result"},
    {"scoring"},
    {"counts"},
    {"tasks"},
    {"plan"},
    {"resume"},
    {"ask"},
    {"summary"},
    {"flow"},
    {"run"},
)
"""The packages of runner/, by the same rule."""
LEVEL = {package: level for level, group in enumerate(GROUPS) for package in group}
RUNNER_LEVEL = {
    package: level for level, group in enumerate(RUNNER) for package in group
}
RUNNER_MODULES = sorted((SOURCE / "runner").rglob("*.py"))


def package_of(path: Path) -> str:
    """Return the top-level package of a module; `python -m assay` is the command line."""
    package = path.relative_to(SOURCE).with_suffix("").parts[0]
    return "cli" if package == "__main__" else package


def imported_modules(path: Path) -> set[str]:
    """Return the modules of assay a module imports, at its top or inside functions."""
    package = ("assay", *path.relative_to(SOURCE).parent.parts)
    found: set[str] = set()
    for node in outline(path).imports:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            module = module_of(node, package)
            names = (
                [module]
                if module != "assay"
                else [f"assay.{alias.name}" for alias in node.names]
            )
        found |= {name for name in names if name.startswith("assay.")}
    return found


def imported_packages(path: Path) -> set[str]:
    """Return the packages of assay a module imports."""
    packages = {name.split(".")[1] for name in imported_modules(path)}
    return {package for package in packages if not package.startswith("__")}


def test_every_package_is_in_a_group():
    packages = {package_of(path) for path in MODULES} - {"__init__"}

    assert packages <= set(LEVEL), (
        f"give {packages - set(LEVEL)} a place in GROUPS and in ARCHITECTURE.md"
    )


def test_a_module_imports_only_to_its_left():
    wrong = []
    for path in MODULES:
        own = package_of(path)
        if own == "__init__":
            continue
        packages = imported_packages(path) - {own}
        wrong += [
            f"{path.relative_to(SOURCE)} imports {package!r}"
            for package in packages
            if LEVEL[package] >= LEVEL[own]
        ]

    assert wrong == [], "not to their left"


SCORERS = ("choice", "text", "math", "code", "vision", "speech", "image", "judge")


def test_the_groups_of_scorers_say_what_they_are_for_and_do_not_need_each_other_in_a_circle():
    needs: dict[str, set[str]] = {}
    for path in (SOURCE / "scorers").rglob("*.py"):
        own = path.relative_to(SOURCE / "scorers").with_suffix("").parts[0]
        own = own if own in SCORERS else "shared"
        found = {
            name.split(".")[2]
            for name in imported_modules(path)
            if name.startswith("assay.scorers.")
        }
        needs.setdefault(own, set()).update(found & set(SCORERS) - {own})
    for group in SCORERS:
        assert outline(SOURCE / "scorers" / group / "__init__.py").docstring

    assert needs["shared"] == set(), "what all groups share needs none of them"
    TopologicalSorter(needs).prepare()


def test_every_package_of_the_runner_has_a_level_and_a_one_line_docstring():
    packages = {
        path.relative_to(SOURCE / "runner").with_suffix("").parts[0]
        for path in RUNNER_MODULES
    } - {"__init__"}

    assert packages == set(RUNNER_LEVEL)
    for folder in {path.parent for path in RUNNER_MODULES}:
        described = outline(folder / "__init__.py").docstring
        assert described and "\n" not in described, (
            f"say in one line of {folder.name}/__init__.py what is in the package"
        )


def test_a_module_of_the_runner_imports_only_from_packages_to_its_left():
    wrong = []
    for path in RUNNER_MODULES:
        own = path.relative_to(SOURCE / "runner").with_suffix("").parts[0]
        packages = {
            name.split(".")[2]
            for name in imported_modules(path)
            if name.startswith("assay.runner.")
        } - {own}
        if own != "__init__":
            wrong += [
                f"{path.name} in {own!r} imports {package!r}"
                for package in packages
                if RUNNER_LEVEL[package] >= RUNNER_LEVEL[own]
            ]

    assert not wrong


def test_the_core_needs_only_the_standard_library():
    import sys

    allowed = set(sys.stdlib_module_names) | {"assay"}
    for path in (SOURCE / "core").glob("*.py"):
        for node in outline(path).imports:
            if isinstance(node, ast.Import):
                assert all(
                    alias.name.split(".")[0] in allowed for alias in node.names
                ), path
            elif not node.level:
                assert (node.module or "").split(".")[0] in allowed, path


def test_importing_assay_loads_nothing_heavy():
    import subprocess
    import sys

    heavy = "{'numpy', 'torch', 'pandas', 'transformers', 'aiohttp', 'yaml'}"
    code = f"import sys, assay; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


QUESTION = re.compile(
    r"^\| (.+\?) \| `(src/assay/[\w/]+\.py)` \| `(\w+)` \|$", re.MULTILINE
)


def test_each_question_of_the_architecture_page_has_one_module_that_answers_it():
    page = (SOURCE.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    answers = QUESTION.findall(page)
    wrong = []
    for question, module, name in answers:
        path = SOURCE.parent.parent / module
        if not path.exists() or name not in outline(path).top_names:
            wrong.append(f"{question} {module} does not define {name}")

    assert not wrong and len(answers) >= 16
    assert len({question for question, _, _ in answers}) == len(answers)


def test_the_architecture_page_lists_every_module_of_the_runner():
    page = (SOURCE.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    shown = {}
    for line in (
        page.partition("**runner**")[2].partition("`ask/asking` is")[0].splitlines()
    ):
        package = re.match(r"    ([\w/]+)/ ", line)
        if package is not None:
            shown[package[1]] = set(re.findall(r"\w+", line.rpartition("  ")[2]))
    there: dict[str, set[str]] = {}
    for path in RUNNER_MODULES:
        if path.parent != SOURCE / "runner" and path.stem != "__init__":
            there.setdefault(
                path.parent.relative_to(SOURCE / "runner").as_posix(), set()
            ).add(path.stem)

    assert shown == there


MOST_LINES, LONGEST_FUNCTION, MOST_PARAMETERS = 600, 100, 8
REASON = "# Long because"
"""Stands in a function that is longer, with why."""
UPSTREAMS = {
    "dialects/televal/facade/dataset.py __init__": "the constructor of TELEVAL's BatchLoader",
    "models/local_transformers/triton_attention.py attend": "a GPU kernel: tensors and strides one by one",
}
"""Functions whose parameters are another system's, and why they cannot be fewer."""


LONG_MODULES = {
    "runner/options.py": "the list of all options of a run",
    "scorers/choice/choice_grammar.py": "all patterns of one grammar, each with its examples",
}
"""Modules that may be longer than `MOST_LINES`, and why."""


def test_modules_and_functions_fit_a_screen():
    too_large = []
    for path in MODULES:
        lines = outline(path).lines
        name = path.relative_to(SOURCE).as_posix()
        too_large += (
            [f"{name} has {len(lines)} lines"]
            if len(lines) > MOST_LINES and name not in LONG_MODULES
            else []
        )
        for node in outline(path).functions:
            body = lines[node.lineno - 1 : node.end_lineno]
            if len(body) > LONGEST_FUNCTION and not any(
                REASON in line for line in body
            ):
                too_large.append(f"{name}: {node.name} has {len(body)} lines")
            parameters = [
                a.arg
                for a in (
                    *node.args.posonlyargs,
                    *node.args.args,
                    *node.args.kwonlyargs,
                )
            ]
            count = len([name for name in parameters if name not in ("self", "cls")])
            if count > MOST_PARAMETERS and f"{name} {node.name}" not in UPSTREAMS:
                too_large.append(f"{name}: {node.name} has {count} parameters")

    assert not too_large
    assert all((SOURCE / entry.split()[0]).is_file() for entry in UPSTREAMS)


PARTICIPLES = (
    "given",
    "made",
    "own",
    "said",
    "known",
    "kept",
    "told",
    "drawn",
    "asked",
    "shown",
    "seen",
    "written",
    "held",
    "taken",
    "called",
)
MAY_BIND = re.compile(rf"\b_?(?:{'|'.join(PARTICIPLES)})\b\s*(?:[:=,)]|in\b)")
"""What a file has where such a name may be bound: only these files are parsed."""


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Parameters and names that are assigned, with their lines. Fields of classes are part of files and flags."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    fields = {
        id(line.target)
        for one in classes
        for line in one.body
        if isinstance(line, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and id(node) not in fields
        ):
            yield node.lineno, node.id


def test_things_are_named_by_nouns_and_not_by_participles():
    texts = {path: path.read_text(encoding="utf-8") for path in MODULES}

    found = [
        f"{path.relative_to(SOURCE)}:{line} {name}"
        for path, text in texts.items()
        if MAY_BIND.search(text)
        for line, name in bound_names(ast.parse(text))
        if name.lstrip("_") in PARTICIPLES
    ]

    assert found == []
