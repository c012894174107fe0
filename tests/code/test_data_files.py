"""Files that a user's file read when it was imported: what they hold counts, and nothing that differs in every run."""

import json
import os
import subprocess
import sys
import time

import pytest

from assay.code import data_files
from assay.code.data_files import digest_of_data
from assay.code.userfiles import load_attribute

HEAD = "import json, os, random, time\nfrom pathlib import Path\nHERE = Path(__file__).parent\n"
READ = 'CFG = json.loads((HERE / "c.json").read_text())\n'
USE = "def generate(text):\n    return CFG\n"
LOADER = 'def _load(name="c.json"):\n    with open(HERE / name) as file:\n        return json.load(file)\n'


def digest(folder, text, settings):
    """The digest of the data that a file read when it was imported, in a folder of its own."""
    folder.mkdir()
    (folder / "c.json").write_text(json.dumps(settings))
    (folder / "helper.py").write_text(
        "import json, uuid\nFIXED = 1\ndef load(path):\n    return json.load(open(path))\n"
    )
    (folder / "reads.py").write_text(
        "import json\nfrom pathlib import Path\n"
        'CFG = json.loads(Path(__file__).with_name("c.json").read_text())\n'
    )
    (folder / "m.py").write_text(HEAD + text)
    return digest_of_data(load_attribute(f"{folder / 'm.py'}:generate"))


@pytest.mark.parametrize(
    "text",
    [
        READ + USE,
        READ
        + "def said():\n    return [CFG for _ in 'a']\ndef generate(text):\n    return said()\n",
        READ + "class generate:\n    def __call__(self, text):\n        return CFG\n",
        READ
        + "class generate:\n    @classmethod\n    def say(cls):\n        return CFG\n",
        'with open(HERE / "c.json") as file:\n    CFG = json.load(file)\n' + USE,
        'with open(HERE / "c.json") as file:\n    CFG = [line.strip() for line in file]\n'
        + USE,
        'try:\n    CFG = (HERE / "c.json").read_text()\nexcept OSError:\n    CFG = ""\n'
        + USE,
        'CFG = json.loads((HERE / "c.json").read_bytes())\n' + USE,
        'import yaml\nCFG = yaml.safe_load(open(HERE / "c.json"))\n' + USE,
        'CFG = {}\nfor name, value in json.load(open(HERE / "c.json")).items():\n    CFG[name] = value\n'
        + USE,
        'CFG = {}\nCFG.update(json.loads((HERE / "c.json").read_text()))\n' + USE,
        'TEXT = (HERE / "c.json").read_text()\nDATA: dict = json.loads(TEXT)\nCFG = DATA["say"].lower() + "!"\n'
        + USE,
        READ + 'FIRST, CFG = 1, (str(CFG["say"]), {"b"})\n' + USE,
        READ + 'CFG = {"folder": str(HERE), **CFG}\n' + USE,
        READ + "CFG = set(CFG.values())\n" + USE,
        READ + "CFG = sorted(set(CFG.values()))\n" + USE,
        'def _load():\n    return json.loads((HERE / "c.json").read_text())\nCFG = _load()\n'
        + USE,
        LOADER + 'CFG = _load("c.json")["say"]\n' + USE,
        'load = lambda name: json.load(open(HERE / name))\nCFG = load("c.json")\n'
        + USE,
        'os.environ["AT"] = str(time.time())\nCFG = json.load(open(os.path.join(HERE, "c.json")))\n'
        + USE,
    ],
)
def test_what_a_file_read_when_it_was_imported_counts_where_a_function_names_it(
    tmp_path, text
):
    first = digest(tmp_path / "a", text, {"say": "B"})

    assert first
    assert digest(tmp_path / "b", text, {"say": "B"}) == first
    assert digest(tmp_path / "c", text, {"say": "C"}) != first


@pytest.mark.parametrize(
    "text",
    [
        'CFG = {"written": ["out"]}\n',
        'CFG = sorted("b a".split()) + [3 * 4]\n',
        'CFG = json.loads("[1]")\n',
        'CFG = os.path.join(str(HERE), "weights")\n',
        'CFG = os.path.expanduser("~")\n',
        'CFG = os.environ.get("PATH")\n',
        'NAME = os.environ["PATH"]\nCFG = [NAME, len(NAME)]\n',
        "CFG = time.time()\n",
        "from time import strftime\nCFG = strftime('%H')\n",
        "import numpy\nCFG = int(numpy.random.default_rng().integers(9))\n",
        "from tempfile import mkdtemp\nCFG = mkdtemp()\n",
        "from subprocess import check_output\nCFG = check_output(['date']).decode()\n",
        "import uuid\ndef _new():\n    return str(uuid.uuid4())\nCFG = _new()\n",
        "from helper import FIXED\nCFG = FIXED\n",
        "CFG = [HERE]\n",
        'CFG = os.popen("date").read()\n',
        "import subprocess\nCFG = subprocess.Popen(['date'], stdout=subprocess.PIPE).stdout.read().decode()\n",
    ],
)
def test_what_was_not_read_from_a_file_does_not_count(tmp_path, text):
    assert digest(tmp_path / "a", text + USE, {"say": "B"}) == ""


@pytest.mark.parametrize(
    "text",
    [
        'CFG = json.loads(Path(os.environ.get("NONE") or HERE / "c.json").read_text())\n',
        'PLACE = os.environ.get("NONE", HERE / "c.json")\nCFG = json.load(open(PLACE))\n',
        READ + 'CFG["at"] = time.time()\n',
        READ + 'CFG = {**CFG, "at": str(time.time())}\n',
        READ + "from time import time as clock\nCFG = [CFG, clock()]\n",
        READ
        + "from uuid import uuid4 as new\nRUN = str(new())\nCFG = CFG['say'] + RUN\n",
        READ + "CFG = hash(CFG['say'])\n",
        READ + "CFG = list(CFG)\nrandom.shuffle(CFG)\n",
        READ + "from random import shuffle\nCFG = list(CFG)\nshuffle(CFG)\n",
        READ + "KINDS = set(CFG)\nCFG = list(KINDS)\n",
        READ + "CFG = list({one for one in CFG})\n",
        "from helper import load\nCFG = load(HERE / 'c.json')\n",
        "import helper\nCFG = helper.load(HERE / 'c.json')\n",
        READ + "from helper import FIXED\nCFG = [CFG, FIXED]\n",
        READ + "def _mine(data):\n    return [data]\nCFG = _mine(CFG)\n",
        READ + "def _fill(data):\n    data['at'] = time.time()\n_fill(CFG)\n",
        "def _load():\n    return [json.load(open(HERE / 'c.json')), time.time()]\nCFG = _load()\n",
        "def _load():\n    return _in(json.load(open(HERE / 'c.json')))\n"
        "def _in(data):\n    return [data]\nCFG = _load()\n",
        "class Settings(dict):\n    pass\nCFG = dict(Settings(json.load(open(HERE / 'c.json'))))\n",
        READ + f"CFG = [CFG] * {100_000}\n",
        READ + "CFG = [CFG, HERE]\n",
        READ + "def count():\n    global CFG\n    CFG = 1\n",
    ],
)
def test_what_was_read_counts_and_not_what_was_made_of_it_which_may_differ_in_every_run(
    tmp_path, text
):
    first = digest(tmp_path / "a", text + USE, {"say": "B"})

    assert (
        digest(tmp_path / "b", text + USE, {"say": "B"})
        == first
        != digest(tmp_path / "c", text + USE, {"say": "C"})
    )


def test_what_was_read_counts_though_no_function_names_it(tmp_path):
    """It may have had a part in anything; to ask once more costs less than a wrong answer."""
    text = READ + "def generate(text):\n    return text\n"

    assert digest(tmp_path / "a", text, {"say": "B"}) != digest(
        tmp_path / "b", text, {"say": "C"}
    )


@pytest.mark.parametrize(
    "text",
    [
        'CFG = {path.name: path.read_text() for path in HERE.glob("*.json")}\n',
        'CFG = [json.load(open(HERE / f"{name}.json")) for name in "c"]\n',
        'CFG = os.read(os.open(HERE / "c.json", os.O_RDONLY), 99)\n',
        'from helper import load\nCFG = load(HERE / "c.json")\n',
        "import reads\nfrom reads import CFG\n",
        'import numpy\nCFG = numpy.fromfile(HERE / "c.json", "u1")\n',
    ],
)
def test_a_file_counts_under_any_name_and_opened_by_anyone(tmp_path, text):
    assert digest(tmp_path / "a", text + USE, {"say": "B"}) != digest(
        tmp_path / "b", text + USE, {"say": "C"}
    )


def test_a_neighbour_counts_for_each_file_that_imports_it_though_it_is_run_once(
    tmp_path,
):
    digest(tmp_path / "a", "from reads import CFG\n" + USE, {"say": "B"})
    (tmp_path / "a" / "other.py").write_text(
        "from reads import CFG\ndef generate(text):\n    return CFG\n"
    )

    assert digest_of_data(load_attribute(f"{tmp_path / 'a' / 'other.py'}:generate"))


@pytest.mark.parametrize(
    "text",
    [
        'open(HERE / "log.txt", "a").write(str(time.time()))\n',
        '(HERE / "made.txt").write_text(str(time.time()))\nMADE = (HERE / "made.txt").read_text()\n',
        "import tempfile\nFILE = tempfile.TemporaryFile()\n",
        'CPU = open("/proc/self/stat").read()\n',
    ],
)
def test_files_that_a_module_writes_and_those_of_the_system_do_not_count(
    tmp_path, text
):
    assert (
        digest(
            tmp_path / "a",
            text + "def generate(text):\n    return text\n",
            {"say": "B"},
        )
        == ""
    )


def test_files_opened_outside_of_a_load_do_not_count(tmp_path):
    text = 'def generate(text):\n    return open(HERE / "c.json").read()\n'
    digest(tmp_path / "a", text, {"say": "B"})
    generate = load_attribute(f"{tmp_path / 'a' / 'm.py'}:generate")

    generate("x")

    assert digest_of_data(generate) == ""


def test_a_large_file_is_known_by_its_size_and_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "LARGEST", 1 << 20)
    text = 'CFG = len((HERE / "c.json").read_bytes())\n' + USE
    first = digest(tmp_path / "a", text, "x" * (1 << 22))

    assert (
        digest(tmp_path / "b", text, "x" * (1 << 22))
        == first
        != digest(tmp_path / "c", text, "x" * ((1 << 22) + 1))
    )


SCRIPT = """
import json, sys, time
from assay.code import data_files
from assay.code.data_files import digest_of_data
CFG = json.load(open("c.json"))
START = time.time()
def generate(text):
    return CFG["say"]
print(digest_of_data(generate))
"""


def test_a_function_of_a_script_is_known_by_the_data_it_names(tmp_path):
    def told(settings):
        (tmp_path / "c.json").write_text(json.dumps(settings))
        (tmp_path / "s.py").write_text(SCRIPT)
        command = [sys.executable, "s.py"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    first = told({"say": "B", "key": "0123456789"})

    assert first and told({"say": "B", "key": "9876543210"}) == first != told(
        {"say": "C"}
    )


@pytest.mark.parametrize(
    "text",
    [
        'KEY = json.load(open(HERE / "c.json"))["key"]\ndef generate(text):\n    return KEY\n',
        'OPENAI_KEY = json.load(open(HERE / "c.json"))["key"]\ndef generate(text):\n    return OPENAI_KEY\n',
        READ + 'TOKEN = CFG["key"]\nCFG = "gate " + TOKEN\n' + USE,
        READ + 'CFG = {"Authorization": CFG["key"]}\n' + USE,
        READ + USE,
        READ
        + 'CFG = ["first\\n" + CFG["known"], {"deep": {"api_key": CFG["key"]}}]\n'
        + USE,
    ],
)
def test_a_key_that_is_replaced_by_another_changes_nothing(tmp_path, text):
    first = digest(
        tmp_path / "a",
        text,
        {"say": "B", "key": "0123456789", "known": "sk-0123456789"},
    )

    assert (
        digest(
            tmp_path / "b",
            text,
            {"say": "B", "key": "9876543210", "known": "sk-9876543210"},
        )
        == first
    )


def test_settings_beside_a_key_still_count(tmp_path):
    first = digest(tmp_path / "a", READ + USE, {"say": "B", "key": "0123456789"})

    assert (
        digest(tmp_path / "b", READ + USE, {"say": "C", "key": "0123456789"})
        != first
        != ""
    )


def test_data_named_after_an_answer_key_count(tmp_path):
    text = 'ANSWER_KEY = json.load(open(HERE / "c.json"))\ndef generate(text):\n    return ANSWER_KEY\n'

    assert digest(tmp_path / "a", text, {"1": "B"}) != digest(
        tmp_path / "b", text, {"1": "C"}
    )


def test_data_count_as_they_were_first_seen_though_a_run_changes_them(tmp_path):
    text = READ + "def generate(text):\n    CFG[text] = text\n"
    before = digest(tmp_path / "a", text, {"say": "B"})
    generate = load_attribute(f"{tmp_path / 'a' / 'm.py'}:generate")

    generate("x")

    assert digest_of_data(generate) == before


IDENTITY = "from assay.models import build_model\nprint(build_model('m.py:generate').identity)\n"


def test_processes_agree_on_a_model_until_its_settings_change(tmp_path):
    (tmp_path / "key.txt").write_text("0123456789")
    (tmp_path / "c.json").write_text('{"say": ["B", "A"]}')
    (tmp_path / "m.py").write_text(
        HEAD
        + "import uuid\ndef _new():\n    return str(uuid.uuid4())\nSESSION = _new()\n"
        'KEY = Path(__file__).with_name("key.txt").read_text().strip()\n'
        + READ
        + 'KINDS = set(CFG["say"])\ndef generate(text):\n    return SESSION, KEY, CFG, KINDS\n'
    )

    def identity(seed):
        command = [sys.executable, "-c", IDENTITY]
        around = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=around,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    first, second = identity("1"), identity("2")
    (tmp_path / "key.txt").write_text("9876543210")
    rotated = identity("3")
    (tmp_path / "c.json").write_text('{"say": ["C"]}')

    assert "data" in first
    assert first == second == rotated != identity("1")


@pytest.mark.parametrize(
    "unit", ["YWJj", "a: ", 'a: "', "a: 'b", "key=", '{"key": "x", ']
)
def test_a_large_text_is_searched_for_keys_in_time_that_grows_with_it(tmp_path, unit):
    (tmp_path / "c.txt").write_text(unit * (data_files.LONGEST_TEXT // len(unit)))
    start = time.process_time()

    assert data_files._content_digest(tmp_path / "c.txt", ())
    assert (
        time.process_time() - start < 5
    )  # not the hours of a pattern that goes back and forth
