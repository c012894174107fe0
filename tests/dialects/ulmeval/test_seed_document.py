"""The code of the original document, its text unchanged, with the smallest preamble each fragment needs."""

import ast
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from assay.dialects.guest import Guest
from assay.dialects.ulmeval.claims import NAMES

SEEDS = Path(__file__).parents[3].parent / "shared" / "seeds"
FOUND = sorted(SEEDS.glob("004_*.txt"))
pytestmark = pytest.mark.skipif(not FOUND, reason="the original documents are not here")

STAND_IN = """\
from PIL import Image
from ulmeval.ulm.base import BaseModel
class StandIn(BaseModel):
    def generate_inner(self, message, dataset=None):
        return Image.new('RGB', (8, 8), 'red')
from ulmeval import config
config.supported_ULM['Janus-Pro-1B'] = StandIn
"""
ENCLOSING_CLASS = """\
from ulmeval.dataset.text_base import TextBaseDataset
class MyBench(TextBaseDataset):
    DATASET_URL = {'MyBench': ''}
"""
RECORDERS = """\
pip() { echo "pip $*" >> calls.txt; }
pre-commit() { echo "pre-commit $*" >> calls.txt; }
"""
PREAMBLES: dict[int, tuple[str, str]] = {
    0: ("python", ENCLOSING_CLASS),
    1: ("python", STAND_IN),
    2: ("python", STAND_IN),
    3: ("bash", RECORDERS),
}
"""Every block of the document by its place: its language and its preamble."""
INSIDE_A_CLASS = {0}


def blocks() -> list[tuple[str, str]]:
    text = FOUND[0].read_text(encoding="utf-8") if FOUND else ""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def defined(code: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(code))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {
                target.id for target in node.targets if isinstance(target, ast.Name)
            }
    return names


def run_block(place, number: int) -> dict:
    _, code = blocks()[number]
    preamble = PREAMBLES[number][1]
    body = textwrap.indent(code, "    ") if number in INSIDE_A_CLASS else code
    script = place.write(f"block_{number}.py", preamble + body)
    return Guest("ulmeval", NAMES, Path(script).parent).run_script(script)


def test_every_block_is_in_the_table_with_a_small_preamble_that_defines_nothing_of_it():
    found = blocks()

    assert [language for language, _ in found] == [
        language for language, _ in PREAMBLES.values()
    ]
    for number, (language, code) in enumerate(found):
        preamble = PREAMBLES[number][1]
        assert len(preamble.splitlines()) <= 10
        if language == "python":
            assert not defined(preamble) & defined(code)


def test_the_document_s_build_prompt_reads_the_prompt_of_a_row(place):
    (place.data / "MyBench.tsv").write_text("index\tprompt\n1\ta red apple\n")

    scope = run_block(place, 0)

    dataset = scope["MyBench"]("MyBench")
    assert dataset.build_prompt(0) == [{"type": "text", "value": "a red apple"}]
    assert dataset.build_prompt(dataset.data.iloc[0]) == [
        {"type": "text", "value": "a red apple"}
    ]


def test_the_document_s_image_and_text_example_saves_an_image(place):
    from PIL import Image

    Path("assets").mkdir()
    Image.new("RGB", (8, 8), "green").save("assets/apple.jpg")

    run_block(place, 1)

    assert Image.open("assets/apple2.png").size == (8, 8)


def test_the_document_s_two_generations_save_two_images(place):
    Path("assets").mkdir()

    run_block(place, 2)

    assert Path("assets/photo0.png").exists() and Path("assets/photo1.png").exists()


def test_the_document_s_shell_block_runs_its_three_commands(place):
    """They are about ULMEvalKit's own repository and would install things: stand-ins note how they are called."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("there is no bash")
    script = place.write("block_3.sh", PREAMBLES[3][1] + blocks()[3][1])

    done = subprocess.run(
        [shell, "-eu", script],
        cwd=place.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (place.folder / "calls.txt").read_text().splitlines() == [
        "pip install pre-commit",
        "pre-commit install",
        "pre-commit run --all-files",
    ]


@pytest.fixture(autouse=True)
def _registered_models_are_forgotten():
    from assay.dialects.ulmeval.drawing_models import supported_ULM

    before = dict(supported_ULM)
    yield
    supported_ULM.clear()
    supported_ULM.update(before)
