"""Digests of code and state: whatever a component can read of a user's files counts, and nothing depends on order."""

import os
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache, partial, wraps
from pathlib import Path

import pytest

from assay.code import fingerprint
from assay.code.fingerprint import code_digest
from assay.code.userfiles import load_attribute, load_file
from assay.core import Image
from assay.scorers.text.match import ExactMatch


def by(sample, output, limit=2):
    return float(len(output.text) >= limit)


class Long:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, sample, output):
        return float(len(output.text) >= self.limit)


class Slotted:
    __slots__ = ("__hidden", "limit")

    def __init__(self, limit):
        self.limit = limit
        self.__hidden = limit


class Word(str):
    __slots__ = ()


class Size(Enum):
    SMALL = 2
    LARGE = 20


@dataclass
class Options:
    words: frozenset = frozenset()
    memory: dict = field(default_factory=dict, compare=False)

    @cached_property
    def table(self):
        return sorted(self.words)


def closing_over(value):
    def score(sample, output):
        return float(output.text in value)

    return score


def with_default(value):
    return lambda sample, output, limit=value: float(limit)


def decorated(function):
    @wraps(function)
    def outer(*given):
        return function(*given)

    return outer


def made_class(value):
    class Made:
        limit = value

        def __call__(self, sample, output):
            return float(self.limit)

    return Made


@pytest.mark.parametrize(
    "build",
    [
        lambda n: partial(by, limit=n),
        lambda n: partial(partial(by, n), None),
        Long,
        lambda n: Long(n).__call__,
        lambda n: Long([{"deep": (n,)}]),
        Slotted,
        lambda n: Options(frozenset({f"word{n}"})),
        lambda n: closing_over([n]),
        lambda n: closing_over({"a": {n}}),
        lambda n: closing_over(Long(n)),
        with_default,
        lambda n: decorated(closing_over([n])),
        lambda n: decorated(partial(by, limit=n)),
        made_class,
        lambda n: made_class(n)(),
        lambda n: {n: "a"},
        lambda n: deque([n]),
        lambda n: Path(f"/{n}"),
        lambda n: __import__("re").compile(f"a{n}"),
        lambda n: __import__("decimal").Decimal(n),
        lambda n: __import__("numpy").arange(n),
        lambda n: __import__("numpy").array([n, None], dtype=object),
        lambda n: Image(bytes([n])),
        lambda n: Image(f"/no/such/{n}.png"),
        lambda n: bytes([n]),
        lambda n: Word(n),
        lambda n: Size(n),
        lambda n: lru_cache(closing_over([n])),
        lambda n: [ExactMatch(), n],
    ],
)
def test_state_counts_wherever_it_is_kept(build) -> None:
    assert code_digest(build(2)) == code_digest(build(2)) != code_digest(build(20))


def test_an_attribute_given_to_a_class_by_another_file_counts(monkeypatch) -> None:
    before = code_digest(Long(2))

    monkeypatch.setattr(Long, "unit", "words", raising=False)

    assert code_digest(Long(2)) != before


def test_what_a_class_leaves_out_of_comparing_or_makes_of_the_rest_does_not_count() -> (
    None
):
    fresh, used = Options(frozenset({"a"})), Options(frozenset({"a"}))
    used.memory["seen"] = 1
    _ = used.table

    assert code_digest(used) == code_digest(fresh)


def test_a_file_that_names_an_object_counts_as_its_builder(tmp_path: Path) -> None:
    """What a library's object was built with may show in nothing but the file that builds it."""
    digests = []
    for limit in (2, 20):
        (tmp_path / "builds.py").write_text(
            f"import threading\nscore = threading.Semaphore({limit})\n"
        )
        digests.append(code_digest(load_attribute(str(tmp_path / "builds.py:score"))))

    assert digests[0] != digests[1]


def test_a_constant_of_a_neighbouring_file_counts(tmp_path: Path) -> None:
    (tmp_path / "digest_bench.py").write_text(
        "from digest_rules import LIMIT\ndef score(s, o):\n    return LIMIT\n"
    )
    (tmp_path / "digest_rules.py").write_text("LIMIT = 2\n")
    score = load_file(tmp_path / "digest_bench.py").score
    before = code_digest(score)

    (tmp_path / "digest_rules.py").write_text("LIMIT = 20\n")

    assert code_digest(score) != before


def test_code_without_a_file_is_known_by_its_instructions_and_the_globals_it_reads() -> (
    None
):
    def typed(text, **names):
        space = {"__name__": "typed", **names}
        FunctionMaker = type(lambda: None)
        code = compile(text, "<cell>", "eval")
        return FunctionMaker(code, space)

    one = code_digest(typed("LIMIT + 1", LIMIT=2))

    assert one == code_digest(typed("LIMIT + 1", LIMIT=2, other=3))
    assert one != code_digest(typed("LIMIT + 1", LIMIT=20))
    assert one != code_digest(typed("LIMIT + 2", LIMIT=2))


def test_what_holds_itself_or_has_no_state_can_be_described() -> None:
    ring = Long(2)
    ring.itself = [ring]
    locked = Long(threading.Lock())

    assert code_digest(ring) == code_digest(ring)
    assert code_digest(locked) == code_digest(Long(threading.Lock()))


def test_more_state_than_can_be_inspected_counts_as_changed(monkeypatch) -> None:
    monkeypatch.setattr(fingerprint, "MOST_VALUES", 100)
    large = Long(list(range(200)))

    assert code_digest(large) != code_digest(large)


def test_digests_are_equal_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "sets.py").write_text(
        "from assay.code.fingerprint import code_digest\n"
        "words = frozenset(f'word{n}' for n in range(50))\n"
        "class Scorer:\n"
        "    known = set(words)\n"
        "    def __init__(self): self.words, self.deep = words, {(word, 1): {word} for word in words}\n"
        "    def __call__(self, sample, output): return output.text in {'a', 'b', 'c'}\n"
        "def closing(kept):\n"
        "    return lambda sample, output: output.text in kept\n"
        "print(code_digest([words, Scorer(), closing(words), {'b': words, 'a': 1}]))\n"
    )

    def digest(seed):
        around = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, str(tmp_path / "sets.py")]
        return subprocess.run(
            command, env=around, capture_output=True, text=True, check=True
        ).stdout

    assert digest("0") == digest("1")


SETTINGS = "import json\nfrom pathlib import Path\nCFG = json.loads((Path(__file__).parent / 'c.json').read_text())\n"
RUN = """
import sys
import assay
result = assay.run("q.jsonl", "m.py:generate", scorers=("exact_match", "s.py:score"), output=sys.argv[1], cache="cache")
print([row.value for row in result.results])
"""


def test_settings_that_a_file_reads_when_it_is_imported_count_for_models_and_scorers(
    tmp_path,
):
    (tmp_path / "m.py").write_text(
        SETTINGS + "def generate(text):\n    return CFG['say']\n"
    )
    (tmp_path / "s.py").write_text(
        SETTINGS + "def score(sample, output):\n    return CFG['mark']\n"
    )
    (tmp_path / "q.jsonl").write_text('{"question": "q", "answer": "B"}\n')
    (tmp_path / "c.json").write_text('{"say": "B", "mark": 1}')

    def run(folder):
        command = [sys.executable, "-c", RUN, folder]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    first = run("one")
    (tmp_path / "c.json").write_text('{"say": "C", "mark": 0}')

    assert (first, run("one"), run("two")) == ("[1.0, 1.0]", "[0.0, 0.0]", "[0.0, 0.0]")
