"""Names that only assay uses in classes that users derive from: none that a user's class might have too."""

import ast
from pathlib import Path

import pytest

import assay.dialects

ROOT = Path(assay.dialects.__file__).parent
BASES = (
    "vlmeval/dataset_bases.py", "vlmeval/dataset_kinds.py", "vlmeval/vlmeval_model_bases.py",
    "vlmeval/tsv_dataset.py", "kits/api_calls.py", "ulmeval/drawing_datasets.py", "ulmeval/drawing_models.py",
    "televal/facade/dataset.py", "televal/televal_model_bases.py",
    "testbed/testbed_model_bases.py", "testbed/model_families.py", "testbed/context_loaders.py",
)  # fmt: skip
UPSTREAMS = {
    "_process_parquet_records",
    "_split_kwargs",
    "_process_inputs",
    "_trackers_dict",
}
"""Private names that upstream's classes have and user code may call."""


@pytest.mark.parametrize("path", BASES)
def test_a_base_class_keeps_its_own_names_out_of_the_way(path):
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            members = [
                item
                for item in node.body
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
            ]
            found |= {member.name for member in members}
            found |= {
                item.target.id for item in node.body if isinstance(item, ast.AnnAssign)
            }
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            found.add(node.attr)

    private = {
        name for name in found if name.startswith("_") and not name.startswith("__")
    }

    assert {name for name in private if not name.startswith("_assay_")} <= UPSTREAMS
