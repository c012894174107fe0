"""The page of ten lines: a benchmark and a model for each modality, none longer than it says. `test_docs` runs them."""

import ast
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "ten-lines.md"
FILES = dict(
    re.findall(
        r"```python\n# file: (\S+)\n(.*?)```",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
)
RUNS = re.findall(
    r"^\$ assay run (\S+) --model (\S+?):generate",
    PAGE.read_text(encoding="utf-8"),
    re.MULTILINE,
)
MODALITIES = 7
BENCHMARK_LINES, MODEL_LINES = 10, 6
WIDTH = 110


def test_every_modality_has_a_benchmark_and_a_model_and_a_run():
    assert len(RUNS) == MODALITIES
    assert set(FILES) == {name for run in RUNS for name in run}


@pytest.mark.parametrize(("benchmark", "model"), RUNS)
def test_the_files_are_as_short_as_the_page_says(benchmark: str, model: str):
    assert len(FILES[benchmark].splitlines()) <= BENCHMARK_LINES
    assert len(FILES[model].splitlines()) <= MODEL_LINES


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_files_are_not_golfed(name: str):
    body = FILES[name]
    statements = [
        node for node in ast.walk(ast.parse(body)) if isinstance(node, ast.stmt)
    ]

    assert max(map(len, body.splitlines())) <= WIDTH
    assert ";" not in body and len({node.lineno for node in statements}) == len(
        statements
    )
