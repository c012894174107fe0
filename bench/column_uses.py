"""How helper functions of tasks use the columns of a row: the values they compare with, and the kinds they need.

The source is read, not run. A value is followed from the row through subscripts, variables, loops and calls of other
functions of the same package.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ELEMENT = "[]"
"""The step from a list to what it holds."""
PIECE = "split"
"""The step from a text to one of its pieces."""
KIND_COLUMNS = ("task_type", "category", "type", "subset", "subtask", "task")
"""Columns by which one file of rows is divided among tasks."""
DEEPEST_CALL = 6
NOT_ROWS = ("kwargs", "config", "result", "pred", "response", "args", "score", "match")
"""Parts of names of variables that hold something else than a row."""
SAME = frozenset(
    {
        "strip",
        "lower",
        "upper",
        "capitalize",
        "rstrip",
        "lstrip",
        "title",
        "copy",
        "replace",
    }
)
"""Methods whose result is compared with the same values."""
TEXT_METHODS = SAME | {
    "split",
    "startswith",
    "endswith",
    "splitlines",
    "encode",
    "find",
    "isdigit",
}
MAPPING_METHODS = frozenset({"keys", "items", "values"})
IMAGE_MEMBERS = frozenset(
    {
        "convert",
        "save",
        "resize",
        "thumbnail",
        "size",
        "width",
        "height",
        "mode",
        "crop",
    }
)
DECODERS = {
    "loads": "json",
    "literal_eval": "literal",
    "eval": "literal",
    "b64decode": "base64",
}
NUMBER_CALLS = frozenset({"int", "float", "round", "abs"})
PATTERN_CALLS = frozenset(
    {"search", "match", "findall", "sub", "fullmatch", "finditer"}
)
LIST_CALLS = frozenset(
    {
        "enumerate",
        "len",
        "zip",
        "list",
        "sorted",
        "tuple",
        "join",
        "array",
        "any",
        "all",
        "set",
    }
)


@dataclass
class Use:
    """How one value is used."""

    kinds: dict[str, None] = field(default_factory=dict)
    literals: dict[Any, None] = field(default_factory=dict)
    separators: dict[str, None] = field(default_factory=dict)
    """What a text is split at."""
    parts: "dict[str, Use]" = field(default_factory=dict)
    """Of a mapping by key, of a list under `ELEMENT`, of an encoded text under the name of its code."""
    form: str = ""
    """The kind of value that a search chose; the others do not count then."""

    def part(self, step: str) -> "Use":
        """Return how a part of the value is used."""
        return self.parts.setdefault(step, Use())

    def merge(self, other: "Use") -> None:
        """Add what another function says about the value. The first labels stay: rows are selected by them."""
        self.kinds |= other.kinds
        self.separators |= other.separators
        self.literals = self.literals or dict(other.literals)
        for step, part in other.parts.items():
            self.part(step).merge(part)


@dataclass(frozen=True)
class Function:
    """A function and the module that holds it."""

    node: ast.FunctionDef | ast.Lambda
    module: "Module"


class Module:
    """The functions, constants and imports of a source file."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self._root = path, root
        self.functions: dict[str, ast.FunctionDef] = {}
        self.values: dict[str, ast.expr] = {}
        self._imports: dict[str, tuple[Path, str]] = {}
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom):
                self._note_import(node)
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                target, value = node.target, node.value
            elif isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
            else:
                continue
            if isinstance(target, ast.Name):
                self.values[target.id] = value

    def _note_import(self, node: ast.ImportFrom) -> None:
        name = node.module or ""
        if node.level:
            folder = self.path.parents[node.level - 1]
        elif name.startswith("lmms_eval.tasks"):
            folder, name = self._root, name.removeprefix("lmms_eval.tasks").lstrip(".")
        else:
            folder = self.path.parent
        file = (folder / name.replace(".", "/")).with_suffix(".py")
        if file == self.path:
            file = self.path.parent.parent / self.path.name
        if not file.is_file():
            return
        for alias in node.names:
            if alias.name == "*":
                self._absorb(read_module(file, self._root))
            else:
                self._imports[alias.asname or alias.name] = (file, alias.name)

    def _absorb(self, other: "Module") -> None:
        """Take over the names of a module that is imported whole."""
        self.functions |= other.functions
        self.values |= other.values

    def function(self, name: str) -> Function | None:
        """Return a function by name, also one that is imported."""
        if name in self.functions:
            return Function(self.functions[name], self)
        if name in self._imports:
            file, original = self._imports[name]
            return read_module(file, self._root).function(original)
        return None

    def method(self, name: str) -> Function | None:
        """Return a method by name, of the file itself or of one that it imports from."""
        if name in self.functions:
            return Function(self.functions[name], self)
        for file, _ in self._imports.values():
            other = read_module(file, self._root)
            if name in other.functions:
                return Function(other.functions[name], other)
        return None

    def value(self, name: str) -> ast.expr | None:
        """Return what a module-level name is set to."""
        if name in self.values:
            return self.values[name]
        if name in self._imports:
            file, original = self._imports[name]
            return read_module(file, self._root).value(original)
        return None


@cache
def read_module(path: Path, root: Path) -> Module:
    """Return a source file, parsed."""
    return Module(path, root)


def uses_in(path: Path, names: list[str], root: Path) -> Use:
    """Return how functions of a file, and those that they call, use a row."""
    row = Use()
    module = read_module(path, root)
    for name in names:
        _Reader(row, module).read_named(name)
    return row


@dataclass(frozen=True)
class Each:
    """A variable of a loop over constants."""

    labels: tuple[Any, ...]


class _Reader:
    """Reads one function after another. The environment holds values of the row, and constants."""

    def __init__(self, row: Use, module: Module, depth: int = 0) -> None:
        self._row, self._module, self._depth = row, module, depth
        self._env: dict[str, Any] = {}
        self._returns_media = ""
        self.returned: Any = None
        """What the function returns first."""

    def read_named(self, name: str) -> None:
        function = self._module.function(name)
        value = self._module.value(name)
        if function is not None:
            _Reader(self._row, function.module, self._depth).read(function.node, {})
        elif isinstance(value, ast.Call):
            self._visit(value)
        else:
            self._read_registered(name)

    def _read_registered(self, name: str) -> None:
        """Read a function that is made in a loop over names: `filter_NAME` selects the rows of NAME."""
        texts = [
            text
            for value in self._module.values.values()
            for text in _labels(constant_of(value))
            if isinstance(text, str) and name.endswith(f"_{text}")
        ]
        if texts:
            for column in KIND_COLUMNS:
                self._row.part(column).literals[max(texts, key=len)] = None

    def read(self, node: ast.FunctionDef | ast.Lambda, env: Mapping[str, Any]) -> None:
        self._env = dict(env)
        name = getattr(node, "name", "")
        if "audio" in name.rpartition("_")[2]:
            self._returns_media = "audio"
        elif "visual" in name:
            self._returns_media = "audio" if "audio" in name else "visual"
        arguments = node.args.args + node.args.kwonlyargs
        for argument, default in zip(
            arguments[::-1], node.args.defaults[::-1], strict=False
        ):
            constant = constant_of(default)
            if constant is not None:
                self._env.setdefault(argument.arg, constant)
        body = node.body if isinstance(node.body, list) else [node.body]
        for statement in body:
            self._visit(statement)

    def _visit(self, node: ast.AST) -> Any:
        """Visit a node; return the use of its value, a constant, or None."""
        method = getattr(self, f"_visit_{type(node).__name__}", None)
        if method is not None:
            return method(node)
        for child in ast.iter_child_nodes(node):
            self._visit(child)
        return None

    def _visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self._visit(node.operand)
        return constant_of(node)

    def _visit_List(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        values = [self._visit(element) for element in node.elts]
        constant = constant_of(node)
        return (
            [value for value in values if value is not None]
            if constant is None
            else constant
        )

    _visit_Tuple = _visit_Set = _visit_List

    def _visit_BoolOp(self, node: ast.BoolOp) -> Any:
        values = [self._visit(value) for value in node.values]
        return next((value for value in values if isinstance(value, Use)), None)

    def _visit_IfExp(self, node: ast.IfExp) -> Any:
        self._visit(node.test)
        values = [self._visit(node.body), self._visit(node.orelse)]
        return next((value for value in values if isinstance(value, Use)), None)

    def _visit_Constant(self, node: ast.Constant) -> Any:
        return constant_of(node)

    def _visit_Name(self, node: ast.Name) -> Any:
        if node.id in self._env:
            return self._env[node.id]
        value = self._module.value(node.id)
        return None if value is None else constant_of(value)

    def _visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        bound = {argument.arg for argument in node.args.args}
        env = {name: use for name, use in self._env.items() if name not in bound}
        _Reader(self._row, self._module, self._depth).read(node, env)

    def _visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        returned = self._visit(node.value)
        if self.returned is None:
            self.returned = returned
        if not self._returns_media:
            return
        elements = node.value.elts if isinstance(node.value, ast.List) else []
        for value in [returned, *map(self._visit, elements)]:
            if isinstance(value, Use) and not value.kinds:
                value.kinds["audio" if self._returns_media == "audio" else "visual"] = (
                    None
                )

    def _visit_Dict(self, node: ast.Dict) -> Any:
        keys = [None if key is None else self._visit(key) for key in node.keys]
        values = [self._visit(value) for value in node.values]
        return {
            key: value
            for key, value in zip(keys, values, strict=True)
            if _is_label(key)
        }

    def _visit_Lambda(self, node: ast.Lambda) -> None:
        bound = {argument.arg for argument in node.args.args}
        env = {name: use for name, use in self._env.items() if name not in bound}
        _Reader(self._row, self._module, self._depth).read(node, env)

    def _visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for name, element in zip(target.elts, node.value.elts, strict=False):
                self._bind(name, self._visit(element))
            return
        self._bind(target, self._visit(node.value))

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, self._visit(node.value))

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._env[target.id] = value
        else:
            self._visit(target)

    def _visit_For(self, node: ast.For) -> None:
        self._bind_loop(node.target, node.iter)
        for statement in [*node.body, *node.orelse]:
            self._visit(statement)

    def _visit_comprehension(self, node: ast.comprehension) -> None:
        self._bind_loop(node.target, node.iter)
        for condition in node.ifs:
            self._visit(condition)

    def _visit_ListComp(self, node: ast.ListComp) -> None:
        for generator in node.generators:
            self._visit(generator)
        self._visit(node.elt)

    _visit_GeneratorExp = _visit_SetComp = _visit_ListComp

    def _bind_loop(self, target: ast.expr, iterated: ast.expr) -> None:
        is_enumerated = (
            isinstance(iterated, ast.Call)
            and getattr(iterated.func, "id", "") == "enumerate"
        )
        value = self._visit(iterated.args[0] if is_enumerated else iterated)
        names = [name.id for name in ast.walk(target) if isinstance(name, ast.Name)]
        for name in names:
            self._env.pop(name, None)
        if isinstance(value, Use) and names:
            value.kinds["list"] = None
            self._env[names[-1]] = value.part(ELEMENT)
        elif (
            isinstance(value, (list, tuple))
            and names
            and all(map(_is_label, value))
            and value
        ):
            self._env[names[-1]] = Each(tuple(value))

    def _visit_Subscript(self, node: ast.Subscript) -> Any:
        base = self._visit(node.value)
        if isinstance(node.slice, ast.Slice):
            return base
        key = self._visit(node.slice)
        if isinstance(key, Use):
            if isinstance(base, dict):
                key.literals |= dict.fromkeys(base)
            elif isinstance(base, (list, tuple)):
                key.literals |= dict.fromkeys(range(len(base)))
            return None
        if isinstance(key, Each) and isinstance(base, Use):
            base.kinds["mapping"] = None
            first, *others = map(str, key.labels)
            shared = base.part(first)
            for label in others:
                base.parts.setdefault(label, shared)
            return shared
        if isinstance(base, dict):
            return base.get(key) if _is_label(key) else None
        if base is None and isinstance(key, str) and self._may_be_row(node.value):
            return self._row.part(key)
        if not isinstance(base, Use):
            return None
        if isinstance(key, str):
            base.kinds["mapping"] = None
            return base.part(key)
        base.kinds["list" if isinstance(key, int) else "slice"] = None
        return base.part(ELEMENT)

    def _may_be_row(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Name):
            return False
        name = node.id.lower()
        return self._module.value(node.id) is None and not any(
            part in name for part in NOT_ROWS
        )

    def _visit_Attribute(self, node: ast.Attribute) -> None:
        value = self._visit(node.value)
        if isinstance(value, Use) and node.attr in IMAGE_MEMBERS:
            value.kinds["image"] = None

    def _visit_Compare(self, node: ast.Compare) -> None:
        left = self._visit(node.left)
        for operator, other in zip(node.ops, node.comparators, strict=True):
            right = self._visit(other)
            is_order = isinstance(operator, (ast.Lt, ast.Gt, ast.LtE, ast.GtE))
            for value, constant in ((left, right), (right, left)):
                if (
                    not isinstance(value, Use)
                    or isinstance(constant, Use)
                    or constant is None
                ):
                    continue
                if is_order:
                    value.kinds["number"] = None
                elif isinstance(operator, (ast.Eq, ast.NotEq)) and _is_label(constant):
                    value.literals[constant] = None
                elif isinstance(operator, (ast.In, ast.NotIn)) and value is left:
                    for label in _labels(constant):
                        value.literals[label] = None

    def _visit_BinOp(self, node: ast.BinOp) -> None:
        for side in (self._visit(node.left), self._visit(node.right)):
            if isinstance(side, Use) and isinstance(
                node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)
            ):
                side.kinds["number"] = None

    def _visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self._visit_method(node, node.func)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        values = [self._visit(argument) for argument in node.args]
        named = {word.arg: self._visit(word.value) for word in node.keywords}
        if name == "partial" and node.args and isinstance(node.args[0], ast.Name):
            self._follow(node.args[0].id, values[1:], named)
            return None
        first = values[0] if values else None
        if self._module.function(name) is not None:
            return self._follow(name, values, named)
        if name == "zip":
            for value in filter(_is_use, values[1:]):
                value.kinds["list"] = None
        return self._called_with(name, first) if isinstance(first, Use) else None

    def _visit_method(self, node: ast.Call, function: ast.Attribute) -> Any:
        value = self._visit(function.value)
        values = [self._visit(argument) for argument in node.args]
        named = {word.arg: self._visit(word.value) for word in node.keywords}
        name, first = function.attr, values[0] if values else None
        if name == "get" and isinstance(first, str):
            return self._read_get(function.value, value, first, values[1:])
        if name == "get" and isinstance(value, dict) and isinstance(first, Use):
            first.literals.update(dict.fromkeys(value))
        if isinstance(value, Use):
            if name in TEXT_METHODS:
                value.kinds["text"] = None
            elif name in MAPPING_METHODS:
                value.kinds["mapping"] = None
            elif name in IMAGE_MEMBERS:
                value.kinds["image"] = None
            if name == "split":
                value.separators[first if isinstance(first, str) else " "] = None
                return value.part(PIECE)
            return value if name in SAME else None
        if name == "join" and not isinstance(value, str):
            for argument in values:
                if isinstance(argument, Use):
                    argument.kinds["path"] = None
            return None
        method = self._module.method(name)
        if method is not None and isinstance(function.value, ast.Name):
            return self._read_call(method, values, named)
        if (
            name in ("filter", "map", "partial")
            and node.args
            and isinstance(node.args[0], ast.Name)
        ):
            self._follow(node.args[0].id, values[1:], named)
        for argument in values:
            if isinstance(argument, Use):
                return self._called_with(name, argument)
        return None

    def _read_get(
        self, node: ast.expr, value: Any, key: str, default: list[Any]
    ) -> Any:
        """Return what `row.get(key, default)` is; the default says of which kind it is."""
        if isinstance(value, dict):
            return value.get(key)
        if isinstance(value, Use):
            value.kinds["mapping"] = None
            return value.part(key)
        if not self._may_be_row(node):
            return None
        return self._row.part(key)

    def _called_with(self, name: str, value: Use) -> Use | None:
        """Note what a call of a library function says about its argument; return the use of its result."""
        if name in DECODERS:
            value.kinds[DECODERS[name]] = None
            return value.part(DECODERS[name])
        if "base64" in name and "encode" not in name:
            value.kinds["base64"] = None
        elif name in NUMBER_CALLS:
            value.kinds["number"] = None
        elif name in LIST_CALLS:
            value.kinds["list"] = None
            return value if name in ("list", "sorted", "tuple") else None
        elif name == "BytesIO":
            value.kinds["bytes"] = None
        elif name in PATTERN_CALLS:
            value.kinds["text"] = None
        elif name == "ord":
            value.literals.update(dict.fromkeys("ABCD"))
        elif name == "str":
            return value
        return None

    def _follow(
        self, name: str, values: list[Any], named: Mapping[str | None, Any]
    ) -> Any:
        """Read a function of the package with what it is called with; return what it returns."""
        function = self._module.function(name)
        return None if function is None else self._read_call(function, values, named)

    def _read_call(
        self, function: Function, values: list[Any], named: Mapping[str | None, Any]
    ) -> Any:
        if self._depth > DEEPEST_CALL:
            return None
        names = [argument.arg for argument in function.node.args.args]
        env = dict(zip(names[names[:1] == ["self"] :], values, strict=False))
        env |= {key: value for key, value in named.items() if key is not None}
        env = {key: value for key, value in env.items() if value is not None}
        reader = _Reader(self._row, function.module, self._depth + 1)
        reader.read(function.node, env)
        return reader.returned


def constant_of(node: ast.expr) -> Any:
    """Return the value of a literal, the keys of a dictionary included, or None."""
    if isinstance(node, ast.Dict):
        keys = [constant_of(key) for key in node.keys if key is not None]
        values = [constant_of(value) for value in node.values]
        return {
            key: value
            for key, value in zip(keys, values, strict=False)
            if _is_label(key)
        }
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_label(value: Any) -> bool:
    """Return True for a constant that a column may hold."""
    return isinstance(value, (str, int)) and value != "" and not isinstance(value, bool)


def _is_use(value: Any) -> bool:
    return isinstance(value, Use)


def _labels(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        yield from filter(_is_label, value)
