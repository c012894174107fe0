"""`assay vlmeval --upstream`: whole runs leave the tables that upstream's own functions made of the same answers."""

import json
import sys
from pathlib import Path

import pandas
import pytest

from assay.dialects import protocol
from assay.dialects.vlmeval.vlmeval_command import evaluate

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "kits"), str(HERE / "upstream")]
from differential import as_plain  # noqa: E402

PREDICTIONS = (
    "A",
    "both B",
    "it is a dog",
    "no idea",
    "the third: bird",
    "The answer is A because of many reasons",
    "Z",
    "3",
    "cat",
)
NEWER = """
    from vlmeval.vlm.base import BaseModel

    class Newer(BaseModel):
        def generate_inner(self, message, dataset=None):
            from pathlib import Path
            path = [part['value'] for part in message if part['type'] == 'image'][0]
            return ANSWERS[Path(path).stem]
"""
EARLY = """
    class Early:
        def generate(self, image_path, prompt, dataset=None):
            from pathlib import Path
            assert not image_path.startswith('/'), image_path
            return ANSWERS[Path(image_path).stem]
"""


@pytest.fixture(autouse=True)
def ours_again():
    yield
    protocol.choose("vlmeval", protocol.OURS)


def upstreams(cases: str, name: str):
    return json.loads((HERE / "upstream" / f"{cases}.json").read_text("utf-8"))[
        "results"
    ][name]


def answers(table: Path, predictions) -> dict[str, str]:
    indices = [line.split("\t")[0] for line in table.read_text().splitlines()[1:]]
    return {
        index: predictions[place % len(predictions)]
        for place, index in enumerate(indices)
    }


def by_split(frame):
    return as_plain(
        frame.sort_values(by="split", key=lambda column: column.map(str)).reset_index(
            drop=True
        )
    )


NAMES = (
    "my_mcq",
    "my_two",
    "my_eight",
    "MyMMBench",
    "my_circular",
    "my_split",
    "my_hint",
)


@pytest.mark.parametrize("name", NAMES)
def test_multiple_choice_of_the_newest_revision(name, file, tmp_path, monkeypatch):
    import tables as given

    make = {
        "my_mcq": lambda: given.plain_choice("my_mcq"),
        "my_two": lambda: given.plain_choice("my_two", options=2),
        "my_eight": lambda: given.plain_choice("my_eight", options=8),
        "MyMMBench": lambda: given.rotated("MyMMBench"),
        "my_circular": lambda: given.rotated("my_circular", split=True, hint=False),
        "my_split": lambda: given.plain_choice("my_split", split=["dev", "test"]),
        "my_hint": lambda: given.plain_choice("my_hint", hint=["look", ""]),
    }
    table = make[name]()
    model = (
        file("newer.py", NEWER.replace("ANSWERS", repr(answers(table, PREDICTIONS))))
        + ":Newer"
    )

    list(evaluate(["--upstream", "--data", name, "--model", model]))

    score, _, result, accuracy = upstreams(
        "cases_datasets", f"my_mcq.evaluate.exact_matching.{NAMES.index(name):02d}"
    )
    home = tmp_path / "outputs" / "Newer"
    assert (
        by_split(pandas.read_csv(home / f"Newer_{name}_acc.csv")) == accuracy == score
    )
    assert (
        as_plain(pandas.read_excel(home / f"Newer_{name}_exact_matching_result.xlsx"))
        == result
    )


DOCUMENTED = ("MMBench_DEV_EN", "SEEDBench_IMG", "CCBench")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_multiple_choice_of_the_documented_revision_with_a_judge(name, file, tmp_path):
    import tables as given

    make = {
        "MMBench_DEV_EN": given.rotated,
        "SEEDBench_IMG": given.plain_choice,
        "CCBench": lambda: given.rotated("CCBench", split=True),
    }
    said = answers(make[name](), ("A", "hm", "B", "dog", "3", "no", "C"))
    model = file("early.py", EARLY.replace("ANSWERS", repr(said))) + ":Early"
    judge = file("judge.py", "def judge(text):\n    return 'A'\n") + ":judge"

    list(evaluate(["--upstream", "--data", name, "--model", model, "--judge", judge]))

    score, _, result, accuracy = upstreams(
        "cases_seed_runs", f"multiple_choice_eval.judge.{DOCUMENTED.index(name):02d}"
    )
    home = tmp_path / "outputs" / "Early"
    assert (
        as_plain(pandas.read_csv(home / f"Early_{name}_acc.csv")) == accuracy == score
    )
    assert (
        as_plain(pandas.read_excel(home / f"Early_{name}_openai_result.xlsx")) == result
    )


@pytest.mark.parametrize(("place", "reply"), list(enumerate(("Yes", "No", "hm"))))
def test_mme_of_the_documented_revision_with_a_judge(place, reply, file, tmp_path):
    import tables as given

    said = answers(
        given.mme(),
        ["Yes" if n % 2 == 0 else "No" if n % 5 else "Hm" for n in range(56)],
    )
    model = file("early.py", EARLY.replace("ANSWERS", repr(said))) + ":Early"
    judge = file("judge.py", f"def judge(text):\n    return '{reply}'\n") + ":judge"

    list(evaluate(["--upstream", "--data", "MME", "--model", model, "--judge", judge]))

    score, matched, written = upstreams("cases_seed_runs", f"MME_eval.{place:02d}")
    home = tmp_path / "outputs" / "Early"
    assert as_plain(pandas.read_csv(home / "Early_MME_score.csv")) == written == score
    assert as_plain(pandas.read_excel(home / "Early_MME_auxmatch.xlsx")) == matched
