"""Code benchmarks end to end on the rows that ship: prompts as published, right answers pass, wrong ones do not."""

import json
from pathlib import Path

import pytest

import assay
from assay import run
from assay.benchmarks.text_tasks import (
    humaneval_chat,
    humaneval_plus,
    livecodebench,
    mbpp,
    mbpp_chat,
    pick_published,
)
from assay.core import Sample
from assay.models.scripted import Scripted
from assay.sandbox import choose

pytestmark = pytest.mark.skipif(
    choose().tier is None, reason=f"no sandbox holds here: {choose().reasons}"
)
DATA = Path(assay.__file__).parent / "benchmarks" / "data" / "text"


def rows(name: str) -> list[dict]:
    return [
        json.loads(line)
        for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]


def passed(task, answers, folder: Path) -> float:
    """pass@1 of a model that gives these answers."""
    done = run(task, Scripted(answers), data="mini", output=str(folder / "run"))
    return done.results[0].value


def test_mbpp_is_asked_as_published_with_three_solved_examples(tmp_path):
    model = Scripted([row["code"] for row in rows("mbpp")])

    done = run(mbpp, model, data="mini", output=str(tmp_path / "run"))

    text = model.calls[0].prompt.text
    first, last = rows("mbpp")[1], rows("mbpp")[0]
    assert text.startswith(
        f"You are an expert Python programmer, and here is your task: {first['text']} Your code sh"
    )
    assert (
        f"\n\n{first['test_list'][0]}\n{first['test_list'][1]}\n[BEGIN]\n{first['code']}\n[DONE]\n\nYou are"
        in text
    )
    assert (
        text.endswith(f"{last['test_list'][-1]}\n[BEGIN]\n")
        and text.count("[DONE]") == 3
    )
    assert "[DONE]" in model.calls[0].options.stop and done.results[0].value == 1.0


def test_the_examples_are_the_papers_where_the_data_has_them():
    pool = [Sample(str(number)) for number in (1, 2, 3, 4, 5, 6)]

    assert [one.id for one in pick_published(pool[5], pool, 3, None)] == ["2", "3", "4"]
    assert [one.id for one in pick_published(pool[2], pool, 3, None)] == ["1", "2", "4"]


def test_mbpp_as_a_question_takes_the_last_fenced_block(tmp_path):
    answers = [f"```python\n{row['code']}\n```" for row in rows("mbpp")]
    answers[1] = "```python\ndef count_vowels(text): return 0\n```"

    assert passed(mbpp_chat, answers, tmp_path) == pytest.approx(4 / 5)


def test_humaneval_plus_finds_what_the_base_inputs_do_not(tmp_path):
    good, cheat = (
        rows("humaneval_plus")[0]["canonical_solution"],
        "    return values[:2] if values else []\n",
    )

    assert passed(humaneval_plus, [good, cheat], tmp_path) == 0.5


def test_humaneval_as_a_question_asks_for_a_fenced_block(tmp_path):
    model = Scripted(
        [
            f"```python\n{row['prompt']}{row['canonical_solution']}```"
            for row in rows("humaneval")
        ]
    )

    done = run(humaneval_chat, model, data="mini", output=str(tmp_path / "run"))

    assert (
        "```python\ndef add_all" in model.calls[0].prompt.text
        and model.calls[0].options.stop == ()
    )
    assert done.results[0].value == 1.0


def test_livecodebench_scores_programs_and_methods(tmp_path):
    programs = {"own_1": "input()\nprint(sum(map(int, input().split())))"}
    found = [
        programs.get(row["question_id"], "class Solution: pass")
        for row in rows("livecodebench")
    ]
    answers = [f"```python\n{program}\n```" for program in found]

    done = run(
        livecodebench, Scripted(answers), data="mini", output=str(tmp_path / "run")
    )

    assert {result.metric: result.value for result in done.results}[
        "livecodebench.pass@1"
    ] == 0.5
