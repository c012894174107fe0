"""The pool of judges: blocking questions from any thread, each kept in the run's journal and asked once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.core import DEFAULT_OPTIONS, Message, Prompt, UsageError
from assay.dialects.kits.judging import JudgePool
from assay.store import RunReader, RunWriter

JUDGE = """
def judge(request):
    text = request.messages[-1].text
    with open({log!r}, "a") as log:
        log.write(f"{text}/{request.seed}\\n")
    return text.upper()
"""


@pytest.fixture
def judge(tmp_path):
    log = tmp_path / "asked.txt"
    log.touch()
    source = JUDGE.replace("{log!r}", repr(str(log)))
    (tmp_path / "judge.py").write_text(source)
    return f"{tmp_path / 'judge.py'}:judge", lambda: sorted(log.read_text().split())


def ask(judge_pool, name, text):
    return judge_pool.ask(
        name, Prompt((Message.of("user", text),)), DEFAULT_OPTIONS
    ).text


def test_questions_from_many_threads_are_answered_and_kept_under_the_tasks_judge(
    judge, tmp_path
):
    name, asked = judge

    with RunWriter(tmp_path / "run") as writer:
        judge_pool = JudgePool(writer, "task")
        with ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(lambda word: ask(judge_pool, name, word), ["a", "b", "c"])
            )
        judge_pool.close()

    assert answers == ["A", "B", "C"]
    assert [task for task, _ in RunReader(tmp_path / "run").index.cells] == [
        "task#judge"
    ]
    assert asked() == ["a/None", "b/None", "c/None"]


def test_a_later_desk_asks_nothing_again_and_a_repeated_question_is_one_of_its_own(
    judge, tmp_path
):
    name, asked = judge

    for _ in range(2):
        with RunWriter(tmp_path / "run") as writer:
            judge_pool = JudgePool(writer, "task")
            ask(judge_pool, name, "a")
            ask(judge_pool, name, "a")
            judge_pool.close()

    assert asked() == ["a/1", "a/None"]


def test_options_of_a_judge_go_to_its_model(tmp_path):
    (tmp_path / "judge.py").write_text(
        "class Judge:\n    def __init__(self, word):\n        self.word = word\n"
        "    def generate(self, text):\n        return self.word\n"
    )
    name = f"{tmp_path / 'judge.py'}:Judge"

    assert (
        ask(JudgePool(None, "script", args={name: {"word": "fine"}}), name, "?")
        == "fine"
    )


def test_a_judge_that_writes_no_text_is_refused(tmp_path):
    (tmp_path / "painter.py").write_text(
        "from assay.core import Abilities\nclass Painter:\n    identity = {}\n"
        "    abilities = Abilities(produces=frozenset({'image'}))\n"
        "    def generate(self, requests):\n        return []\n"
    )

    with pytest.raises(UsageError, match="writes no text"):
        ask(JudgePool(None, "script"), f"{tmp_path / 'painter.py'}:Painter", "?")
