"""Checks the stand-in for vLLM that our tests use against vLLM's own source, read from its wheel and never run.

    pip download vllm --no-deps -d wheels
    python tools/check_vllm_stand_in.py wheels/vllm-*.whl

Every class, method, argument and field of the stand-in must exist there under the same name; an argument that is passed
by place must stand at the same place.
"""

import ast
import sys
import zipfile
from pathlib import Path

STAND_IN = (
    Path(__file__).parents[1]
    / "tests"
    / "models"
    / "local_transformers"
    / "vllm_stand_in.py"
)
HOMES = {
    "LLM": "vllm/entrypoints/llm.py",
    "SamplingParams": "vllm/sampling_params.py",
    "StructuredOutputsParams": "vllm/sampling_params.py",
    "Logprob": "vllm/logprobs.py",
    "CompletionOutput": "vllm/outputs.py",
    "RequestOutput": "vllm/outputs.py",
}
OURS = frozenset({"calls"})
"""What the stand-in keeps for the tests."""
BEYOND = {"LLM": {"max_model_len": "vllm/engine/arg_utils.py"}}
"""Arguments that reach vLLM through `**kwargs`, and the file that names them."""


def main(wheel: str) -> int:
    """Print the differences. Return 0 if there are none."""
    with zipfile.ZipFile(wheel) as archive:
        sources = {
            name: archive.read(name).decode()
            for name in {*HOMES.values(), *_beyond_files()}
        }
    ours = _classes(ast.parse(STAND_IN.read_text(encoding="utf-8")))
    faults = [
        fault
        for name, home in HOMES.items()
        for fault in compare(name, ours[name], home, sources)
    ]
    for fault in faults:
        print(fault)
    print(
        f"{Path(wheel).name}: {'differs' if faults else 'agrees'} in {len(HOMES)} classes"
    )
    return 1 if faults else 0


def _beyond_files() -> set[str]:
    return {file for named in BEYOND.values() for file in named.values()}


def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def compare(
    name: str, own: ast.ClassDef, home: str, sources: dict[str, str]
) -> list[str]:
    """Return the names that vLLM's class has and the stand-in's class lacks."""
    theirs = _classes(ast.parse(sources[home])).get(name)
    if theirs is None:
        return [f"{name}: no such class in {home}"]
    known = fields_of(theirs)
    faults = []
    for field in sorted(fields_of(own) - OURS):
        file = BEYOND.get(name, {}).get(field)
        if field not in known and (file is None or f"{field}:" not in sources[file]):
            faults.append(f"{name}.{field}: no such field or argument in {home}")
    methods = {
        node.name: node for node in theirs.body if isinstance(node, ast.FunctionDef)
    }
    for node in own.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if node.name not in methods:
            faults.append(f"{name}.{node.name}: no such method in {home}")
            continue
        faults += _arguments(f"{name}.{node.name}", node.args, methods[node.name].args)
    return faults


def _arguments(where: str, own: ast.arguments, theirs: ast.arguments) -> list[str]:
    places = [argument.arg for argument in theirs.args]
    named = {*places, *(argument.arg for argument in theirs.kwonlyargs)}
    faults = [
        f"{where}: no argument {a.arg!r}"
        for a in (*own.args, *own.kwonlyargs)
        if a.arg not in named
    ]
    leading = [argument.arg for argument in own.args][
        :3
    ]  # self, what is asked, and how
    if leading != places[: len(leading)]:
        faults.append(
            f"{where}: begins with {', '.join(places[:3])}, not {', '.join(leading)}"
        )
    return faults


def fields_of(node: ast.ClassDef) -> set[str]:
    """Return declared fields and arguments of `__init__`."""
    declared = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
    found = {target.id for target in declared if isinstance(target, ast.Name)}
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            found |= {
                argument.arg for argument in (*part.args.args, *part.args.kwonlyargs)
            } - {"self"}
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
