"""A user's own folder: `$LMUData` with a table, a dataset class and a model class, as ULMEvalKit's users write them."""

import base64
import io
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pandas")

DATASET = """
from ulmeval.dataset.text_base import TextBaseDataset
from ulmeval.smp import *

class ColourBench(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'ColourBench': 'https://example.invalid/ColourBench.tsv'}
    DATASET_MD5 = {'ColourBench': None}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        question = line['prompt']
        msgs = []
        msgs.append(dict(type='text', value=question))
        return msgs

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        hits = defaultdict(list)
        for i in range(len(data)):
            row = data.iloc[i]
            for image in row['prediction']:
                hits[row['category']].append(image.convert('RGB').getpixel((0, 0)) == PALETTE[row['answer']])
        result = {k: float(np.mean(v)) for k, v in hits.items()}
        result['overall'] = float(np.mean([x for v in hits.values() for x in v]))
        dump(pd.DataFrame([result]), eval_file.replace('.pkl', '_score.csv'))
        return result

PALETTE = {'red': (255, 0, 0), 'green': (0, 128, 0), 'blue': (0, 0, 255)}
"""
MODEL = """
import os
from PIL import Image
from ulmeval.ulm.base import BaseModel

class Painter(BaseModel):
    def generate_inner(self, message, dataset=None):
        prompt, image = self.message_to_promptimg(message, dataset)
        if os.environ.get('CALL_LOG'):
            with open(os.environ['CALL_LOG'], 'a') as log:
                log.write(f'{dataset}: {prompt}\\n')
        if 'nothing' in prompt:
            raise RuntimeError('no paint left')
        colour = next((c for c in ('red', 'green', 'blue') if c in prompt), 'red')
        return Image.new('RGB', (8, 8), colour)
"""
TABLE = (
    "index\tprompt\tanswer\tcategory\n"
    "1\ta red ball\tred\tball\n"
    "2\ta green tree\tgreen\ttree\n"
    "3\tthe blue sky\tblue\tsky\n"
    "4\tsomething\tblue\tsky\n"
)


class Place:
    """A user's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "LMUData"
        self.data.mkdir()

    def write(self, name: str, text: str) -> str:
        """A file in the folder; its path as a command line takes it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    def colours(self) -> tuple[str, str]:
        """The colour benchmark and its painter: references to the dataset file and to the model."""
        (self.data / "ColourBench.tsv").write_text(TABLE, encoding="utf-8")
        return self.write("my_dataset.py", DATASET), self.write(
            "my_model.py", MODEL
        ) + ":Painter"

    def calls(self) -> list[str]:
        """What the model's own log says it was asked."""
        log = self.folder / "calls.log"
        return log.read_text(encoding="utf-8").split("\n")[:-1] if log.exists() else []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("CALL_LOG", str(tmp_path / "calls.log"))
    monkeypatch.delenv("SEED", raising=False)
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


@pytest.fixture
def png() -> Callable[..., str]:
    """Pictures as base64 text."""

    def make(colour: object, mode: str = "RGB") -> str:
        from PIL import Image

        buffer = io.BytesIO()
        Image.new(mode, (32, 32), colour).save(buffer, format="PNG")
        return base64.b64encode(buffer.getvalue()).decode("ascii")

    return make
