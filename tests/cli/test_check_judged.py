"""`assay check` of judged tasks, measures, dialogues, summarizers and scorers of a whole set."""

import json

import pytest

from assay.cli.main import main

JUDGE = """
def grades(messages):
    return "A" if "Paris" in messages[-1]["content"] else "C"

def words(messages):
    return "It is fine."
"""
JUDGED = """
dataset: d.jsonl
scorers:
  - name: judge
    grades: {A: correct, B: incorrect, C: not_attempted}
    prompt: "Question {{ question }}, answer {{ answer }}. A, B or C?"
    verdict: '([A-Z])'
"""
CHOICES = [{"question": "Which?", "options": ["one", "two"], "answer": "B"}]


def check(capsys, tmp_path, *arguments):
    code = main(["check", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def write(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.fixture
def judged(tmp_path):
    write(tmp_path, "judge.py", JUDGE)
    write(tmp_path, "d.jsonl", '{"question": "Capital?", "answer": "Paris"}\n')
    return write(tmp_path, "t.yaml", JUDGED)


def test_a_judge_is_asked_about_the_target_and_a_wrong_answer(capsys, tmp_path, judged):
    code, text = check(
        capsys, tmp_path, judged, "--judge", f"{tmp_path}/judge.py:grades"
    )

    assert code == 0
    assert (
        "judge: {'correct': 1.0, 'incorrect': 0.0, 'not_attempted': 0.0} for the target"
        in text
    )
    assert "'not_attempted': 1.0} for 'I do not know.'" in text


def test_a_judge_whose_reply_cannot_be_read_is_a_fault(capsys, tmp_path, judged):
    judged.write_text(JUDGED.replace("([A-Z])", "grade: ([A-Z])"))

    code, text = check(
        capsys, tmp_path, judged, "--judge", f"{tmp_path}/judge.py:words"
    )

    assert code == 1
    assert "judge got no verdict on sample 0" in text and "It is fine." in text


def test_without_a_judge_the_question_to_it_is_shown(capsys, tmp_path, judged):
    code, text = check(capsys, tmp_path, judged)

    assert code == 0
    assert "Question Capital?, answer Paris. A, B or C?" in text
    assert "judge: not tried without --judge MODEL" in text


def test_an_unknown_name_in_a_judges_prompt_is_found_without_a_judge(
    capsys, tmp_path, judged
):
    judged.write_text(JUDGED.replace("{{ answer }}", "{{ answr }}{{ answer }}"))

    code, text = check(capsys, tmp_path, judged)

    assert code != 0 and "did you mean 'answer'" in text


def test_own_measures_are_shown_and_scored_as_they_are_asked(capsys, tmp_path):
    write(tmp_path, "d.jsonl", json.dumps(CHOICES[0]) + "\n")
    task = write(
        tmp_path, "t.yaml", "dataset: d.jsonl\nmeasures: [text_likelihood, letter]\n"
    )

    code, text = check(capsys, tmp_path, task)
    assert (
        code == 0
        and "measured by text_likelihood (--measure tries another: letter)" in text
    )
    assert "'acc': 1.0" in text and "when the target is the likeliest" in text

    code, text = check(capsys, tmp_path, task, "--measure", "letter")
    assert code == 0 and "choice: 1.0 for the target" in text


def test_a_measure_can_be_tried_on_plain_rows(capsys, tmp_path):
    data = write(tmp_path, "d.jsonl", json.dumps(CHOICES[0]) + "\n")

    for measure, words in (
        ("first_token", "first_token: 1.0 for the target"),
        ("letter_likelihood", "'acc': 1.0"),
    ):
        code, text = check(capsys, tmp_path, data, "--measure", measure)
        assert code == 0 and words in text


@pytest.mark.parametrize(
    "row", ['{"turns": ["One?", "Two?"], "answer": "x"}', '{"question": "One?", "answer": "x"}']
)  # fmt: skip
def test_a_scorer_that_reads_rounds_gets_them(capsys, tmp_path, row):
    source = """
from assay import Task
class Twice:
    def prompt(self, sample): return sample.input
    def next(self, sample, turns): return "Two?" if len(turns) < 3 else None
def score(sample, output):
    return {f"round_{n}": float(len(r.asked) > 0) for n, r in enumerate(output.rounds)}
ROW = %s
task = Task("t", dataset=[ROW], scorers=score, template=None if "turns" in ROW else Twice)
"""
    task = write(tmp_path, "t.py", source % row)

    code, text = check(capsys, tmp_path, task)

    assert code == 0 and "{'round_0': 1.0, 'round_1': 1.0}" in text


def test_a_scorer_of_the_whole_set_is_tried(capsys, tmp_path):
    source = """
class Share:
    def score_all(self, rows):
        return {"right": sum(o.text == s.target for s, o in rows) / len(rows)}
dataset = [{"question": "a?", "answer": "x"}, {"question": "b?", "answer": "y"}]
scorers = [Share]
"""
    code, text = check(capsys, tmp_path, write(tmp_path, "t.py", source))

    assert code == 0 and "Share: {'right': 1.0} for 2 targets" in text


SUMMED = """
dataset = [{"question": "a?", "answer": "x"}]
def score(sample, output):
    return {"good": 1.0, "bad": 0.0}
def summarize(records):
    return BODY
"""


def test_summarizers_are_tried_and_their_fault_is_explained(capsys, tmp_path):
    good = write(
        tmp_path,
        "good.py",
        SUMMED.replace("BODY", "sum(r.values['good'] for r in records)"),
    )
    code, text = check(capsys, tmp_path, good)
    assert code == 0 and "summarizer summarize on score: summarize 1.000" in text

    wrong = write(
        tmp_path,
        "wrong.py",
        SUMMED.replace("BODY", "sum(r.values['god'] for r in records)"),
    )
    code, text = check(capsys, tmp_path, wrong)
    assert code == 1 and "it has 'score.good', 'score.bad'" in text


def test_a_summarizer_that_fails_on_lost_answers_gets_a_note(capsys, tmp_path):
    task = write(
        tmp_path, "t.py", SUMMED.replace("BODY", "sum(r.value + 1 for r in records)")
    )

    code, text = check(capsys, tmp_path, task)

    assert code == 0
    assert "note: summarizer summarize fails where a sample has no answer" in text


def test_summarizers_of_judged_tasks_are_tried_with_the_judges_verdicts(
    capsys, tmp_path, judged
):
    write(
        tmp_path,
        "s.py",
        "def total(records):\n    return sum(r.values['correct'] for r in records)\n",
    )
    judged.write_text(JUDGED + "summarizers: s.py:total\n")

    code, text = check(
        capsys, tmp_path, judged, "--judge", f"{tmp_path}/judge.py:grades"
    )

    assert code == 0 and "on judge: total 1.000 for the targets" in text


def test_a_scorer_of_ones_own_is_tried_with_a_judge(capsys, tmp_path, judged):
    source = """
from dataclasses import dataclass, field
from typing import Any, ClassVar, Mapping
@dataclass(frozen=True)
class Mine:
    models: Mapping[str, Any] = field(default_factory=dict, compare=False)
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    async def __call__(self, sample, output):
        reply = await self.models["judge"].ask(output.text)
        return float(reply.text == "A")
"""
    file = write(tmp_path, "mine.py", source)

    code, text = check(
        capsys,
        tmp_path,
        f"{file}:Mine",
        "--as",
        "scorer",
        "--judge",
        f"{tmp_path}/judge.py:grades",
    )

    assert code == 0
    assert "Mine: 1.0 for the target" in text and "Mine: 0.0 for" in text


FORMULA = """
dataset: d.jsonl
scorers: [exact_match, includes]
summarizers:
  - {name: formula, metric: both, value: both / asked, counts: {both: 'COUNT', asked: 1}}
"""


def test_a_formula_of_several_scorers_is_tried(capsys, tmp_path, judged):
    judged.write_text(FORMULA.replace("COUNT", "min(exact_match, includes)"))

    code, text = check(capsys, tmp_path, judged)

    assert code == 0
    assert "summarizer formula on exact_match: both 1.000 for the targets" in text


def test_a_name_that_no_scorer_gives_is_a_fault(capsys, tmp_path, judged):
    judged.write_text(FORMULA.replace("COUNT", "min(exact, includes)"))

    code, text = check(capsys, tmp_path, judged)

    assert code == 1
    assert "no scorer gave 'exact'; fix: did you mean 'exact_match'?" in text


def test_counts_that_no_scripted_answer_could_give_are_a_note(capsys, tmp_path, judged):
    write(
        tmp_path,
        "s.py",
        "import assay\ndef spans(sample, output):\n    return assay.Score.unparsed()\n",
    )
    formula = "{name: formula, metric: f1, value: tp / 2, counts: {tp: PER.tp}}"
    judged.write_text(
        f"dataset: d.jsonl\nscorers: s.py:spans\nsummarizers: [{formula}]\n"
    )

    code, text = check(capsys, tmp_path, judged)

    assert code == 0
    assert "no scorer gave 'PER.tp'" in text
    assert "no scripted answer could be scored" in text


def test_summarizers_say_which_answers_they_were_tried_on(capsys, tmp_path, judged):
    write(tmp_path, "d.jsonl", '{"question": "Capital?"}\n')
    score = "def n(sample, output):\n    return len(output.text) / 100\n"
    write(tmp_path, "s.py", score)
    judged.write_text(
        "dataset: d.jsonl\nscorers: s.py:n\nsummarizers: [{name: threshold, bar: 0.5}]\n"
    )

    code, text = check(capsys, tmp_path, judged)

    assert code == 0
    assert "0.000 for 'I do not know.'" in text and "for the targets" not in text


def test_each_round_of_a_dialogue_is_tried_with_its_own_reference(capsys, tmp_path):
    row = '{"turns": ["One?", "Two?"], "answers": ["1", "2"]}\n'
    write(tmp_path, "d.jsonl", row)
    source = """
dataset = "d.jsonl"
def score(sample, output):
    texts = [r.output.text for r in output.rounds]
    return {"right": float(texts == sample.fields["answers"]), "first": float(texts[0] == "1")}
summarizers = ("mean", {"name": "formula", "metric": "twice", "value": "n / asked",
                        "counts": {"n": "2 * right", "asked": 1}, "bounds": [0, 1]})
"""
    task = write(tmp_path, "t.py", source)

    code, text = check(capsys, tmp_path, task)

    assert code == 0 and "{'right': 1.0, 'first': 1.0} for the target" in text
    assert "twice 2.000 for the targets ⚑ outside its bounds 0 … 1" in text


def test_a_summarizer_that_needs_more_samples_than_a_trial_has_is_a_note(
    capsys, tmp_path
):
    source = """
dataset = [{"question": f"{n}?", "answer": "x"} for n in range(5)]
score = "exact_match"
def summarize(records):
    values = [record.value or 0 for record in records]
    return sum(values[:10]) / len(values[3:][:10])
"""
    task = write(tmp_path, "t.py", source)

    code, text = check(capsys, tmp_path, task)

    assert code == 0 and "summarize 1.000 for the targets" in text
    assert "ZeroDivisionError: float division by zero (t.py:6)" in text
    assert "needs more samples than a trial or a small --limit has" in text


def test_a_fault_of_a_shipped_scorer_names_no_line_of_its_own_file(capsys, tmp_path):
    source = """
dataset = [{"question": "a?", "answer": "x"}]
scorers = {"name": "judge", "verdict": "grade (.)", "prompt": "{{ answer }}"}
"""
    task = write(tmp_path, "t.py", source)
    write(tmp_path, "judge.py", "def grades(messages):\n    return 'no'\n")

    code, text = check(capsys, tmp_path, task, "--judge", f"{tmp_path}/judge.py:grades")

    assert code == 1 and "t.py: judge got no verdict" in text


def test_each_turn_of_a_dialogue_with_tools_is_tried(capsys, tmp_path):
    source = '''
dataset = [{"turns": ["One?", "Two?"], "answer": "x"}]
def add(x: int) -> int:
    """Add."""
    return x
tools = [add]
def score(sample, output):
    asked = [r.asked[-1][0] for r in output.rounds]
    calls = [len(r.output.last_calls) for r in output.rounds]
    return {"as_in_a_run": asked == ["user", "tool"] * 2 and calls == [1, 0] * 2,
            "turns": asked.count("user")}
'''
    task = write(tmp_path, "t.py", source)

    code, text = check(capsys, tmp_path, task)

    assert code == 0, text
    assert "{'as_in_a_run': 1.0, 'turns': 2.0} for the target" in text
    assert "{'as_in_a_run': 0.0, 'turns': 2.0} for 'I do not know.'" in text


@pytest.mark.parametrize(
    ("headline", "is_known"), [("exact_match", True), ("overall", True), ("f2", False)]
)
def test_the_headline_is_looked_for_among_the_metrics(
    capsys, tmp_path, headline, is_known
):
    source = f"""
dataset = [{{"question": f"{{n}}?", "answer": "x", "kind": "k"}} for n in range(5)]
tags = ("kind",)
score = "exact_match"
headline = {headline!r}
summarizers = ("mean", {{"name": "group_mean", "by": "kind"}})
"""
    task = write(tmp_path, "t.py", source)

    code, text = check(capsys, tmp_path, task)

    assert code == 0
    note = "headline: no metric is called 'f2'; there are exact_match, overall"
    assert (note in text) is not is_known


def test_a_target_that_is_an_object_is_tried_as_json(capsys, tmp_path):
    source = """
import json
dataset = [{"question": "a?", "answer": {"a": None}}]
def score(sample, output):
    return output.text.startswith("{") and json.loads(output.text) == sample["answer"]
"""
    task = write(tmp_path, "t.py", source)

    code, text = check(capsys, tmp_path, task)

    assert code == 0 and "score: 1.0 for the target" in text


def test_a_row_without_the_other_answer_is_no_fault_of_the_judge(capsys, tmp_path):
    source = """
dataset = [{"question": "a?", "answer": "x"}]
scorers = {"name": "pairwise_judge", "against": "rival"}
"""
    task = write(tmp_path, "t.py", source)
    write(tmp_path, "judge.py", "def grades(messages):\n    return 'no'\n")

    code, text = check(capsys, tmp_path, task, "--judge", f"{tmp_path}/judge.py:grades")

    assert (
        code == 1 and "has no text or medium in column 'rival'; fix: give what" in text
    )


def test_an_unread_answer_is_worse_than_an_error_of_zero(capsys, tmp_path):
    source = """
from assay import Score
dataset = [{"question": "a?", "answer": "4"}]
def score(sample, output):
    if not output.text.isdigit():
        return Score.unparsed()
    return abs(int(output.text) - 4)
score.higher_is_better, score.bounds = False, (0, 5)
"""
    task = write(tmp_path, "t.py", source)

    code, text = check(capsys, tmp_path, task)

    assert code == 0 and "does not tell the target" not in text
