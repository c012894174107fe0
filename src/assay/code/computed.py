"""Computed: the plain data that a user's file read from other files when it was imported, as settings beside it.

A global counts that an expression reads from a file, or makes of such globals: it is not in the bytes of the user's
file. Where a clock, chance, the environment, another process, a key or a function of the user has a part in it, it does
not: it may differ in every run, and all answers would be asked for again.
"""

import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from ..core.secrets import is_secret_name, without_keys
from .sources import behind, changed, is_users

_READS = re.compile(r"open(_\w+)?|read(_\w+|lines?)?|(\w+_)?load(_\w+|txt)?")  # what `loads` is given says for itself
_UNSTEADY = re.compile(
    r"environb?|argv|stdin|input|cwd|home|platform|get(env|cwd|user|pass|pid|mtime)|expand(user|vars)|time|datetime|now"
    r"|today|u?rand\w*|hash|uuid\w*|secrets|tempfile|subprocess|popen|system|socket|urllib|requests|httpx|aiohttp"
)
MOST_COMPUTED = 100_000  # values in one global: what holds more is not looked at


def digest_of_computed(thing: Any) -> str:
    """Digest of the data that a user's function or class names and that its file read from others; empty for none."""
    members = vars(thing).values() if isinstance(thing, type) else [thing]
    members = [getattr(one, "__func__", None) or getattr(one, "fget", None) or one for one in members]
    functions = [one for one in members if isinstance(one, FunctionType)]
    found: dict[str, str] = {}
    for function in functions:  # and those of the same file that they name, put behind them on the way
        values, file = function.__globals__, Path(function.__code__.co_filename)
        if not is_users(file) or not file.is_file():
            continue
        read, jumbled = _read_names(file, changed(file))
        for name in values.keys() & _named_in(function.__code__):
            value = values[name]
            is_key = isinstance(value, str) and is_secret_name(name.rpartition("_")[2])  # as OPENAI_KEY
            if isinstance(value, FunctionType) and value.__globals__ is values:
                functions += [value] if value not in functions else []
            elif name in read and not is_key and (name not in jumbled or isinstance(value, (set, frozenset))):
                found |= {name: digest} if (digest := _digest_of_plain(value, file.parent)) else {}
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest() if found else ""


def _named_in(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_named_in(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


@lru_cache(maxsize=4096)
def _read_names(file: Path, changed: tuple[int, int]) -> tuple[set[str], set[str]]:
    """The globals that a file fills from other files; and those whose order is that of a set, which is chance."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return set(), set()
    imported = dict(_imported(tree, behind(file)[1] | sys.stdlib_module_names))
    bound = [(name, made) for name, made in _bound(tree.body) if name not in imported]
    unsteady = {name for name in imported if not imported[name]}
    unsteady |= {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    unsteady |= {name for name, made in bound if isinstance(made, ast.stmt)}  # until a function is seen to read a file
    read, jumbled = set[str](), set[str]()
    for name, made in bound:
        nodes = list(ast.walk(made))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        words = names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        makes_set = words & {"set", "frozenset"} or any(isinstance(node, ast.SetComp) for node in nodes)
        reads = any(map(_READS.fullmatch, words))
        if is_secret_name(name) or names & unsteady - {name} or any(map(_UNSTEADY.fullmatch, words)):
            unsteady.add(name)
        elif reads or names & read:
            read.add(name)
            unsteady -= {name} if reads and isinstance(made, ast.FunctionDef) else set()
        if (makes_set or names & jumbled) and "sorted" not in words:
            jumbled.add(name)
    return read - unsteady, jumbled


def _imported(tree: ast.Module, libraries: set[str]) -> Iterator[tuple[str, bool]]:
    """The names that a file imports, and whether each is steady: of a library, and neither clock nor chance."""
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            origin = f"{'.' * node.level}{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            words = f"{origin}{alias.name}".split(".")
            is_steady = words[0] in libraries and not any(map(_UNSTEADY.fullmatch, words))
            yield alias.asname or alias.name.partition(".")[0], is_steady


def _bound(body: list[Any]) -> Iterator[tuple[str, Any]]:
    """The names that the statements of a module bind or fill, each with what it is made of."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node
            continue
        made = next((getattr(node, part) for part in ("value", "iter", "context_expr") if hasattr(node, part)), None)
        targets = [getattr(node, part, None) for part in ("target", "optional_vars")] + getattr(node, "targets", [])
        if isinstance(node, ast.Expr) and isinstance(made, ast.Call):  # as `CFG.update(…)` and `shuffle(CFG)`
            targets = [one for one in (getattr(made.func, "value", None), *made.args) if isinstance(one, ast.Name)]
        filled = [one for target in targets if target and made for one in ast.walk(target)]
        yield from ((one.id, made) for one in filled if isinstance(one, ast.Name))
        for part in ("items", "body", "orelse", "finalbody", "handlers", "cases"):
            yield from _bound(getattr(node, part, []))


_first_seen: dict[int, tuple[Any, str]] = {}
"""Data by their ids, kept alive, with their digests as they were first looked at: a run may change them."""


def _digest_of_plain(value: Any, folder: Path) -> str:
    """Digest of numbers, texts and containers of them; empty for anything else. Where a folder lies does not count."""
    if id(value) not in _first_seen:
        try:
            text = json.dumps(_plain(value, iter(range(MOST_COMPUTED))), sort_keys=True)
            digest = hashlib.sha256(text.replace(json.dumps(str(folder))[1:-1], "").encode()).hexdigest()
        except (TypeError, ValueError, RecursionError):
            digest = ""
        _first_seen[id(value)] = value, digest
    return _first_seen[id(value)][1]


def _plain(value: Any, left: Iterator[int]) -> Any:
    if next(left, None) is None:
        raise ValueError("too much to look at")
    if value is None or type(value) in (str, int, float, bool):
        return without_keys(value) if type(value) is str else value
    if type(value) in (list, tuple):
        return [_plain(one, left) for one in value]
    if type(value) in (set, frozenset):
        return {"set": sorted(json.dumps(_plain(one, left)) for one in value)}
    if type(value) is dict:
        kept = {key: one for key, one in value.items() if not (isinstance(key, str) and is_secret_name(key))}
        return {json.dumps(_plain(key, left)): _plain(one, left) for key, one in kept.items()}
    raise TypeError(f"{type(value).__name__} is no plain data")
