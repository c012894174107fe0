"""Named grades of a judge: as metrics, as numbers, and what is refused."""

import pytest

import assay
from assay import Task
from assay.core import AssayError, UsageError
from assay.scorers.judge.judge import Judge

GRADES = {"A": "correct", "B": "incorrect", "C": "not_attempted"}
PROMPT = "Grade {{ answer }} against {{ reference }}: A, B or C."
ROWS = [
    {"id": str(n), "question": f"Question {n}?", "answer": "An Answer, B or C"}
    for n in range(6)
]


def model(messages):
    return f"Answer {messages[-1]['content'].split()[1]} A B C"


JUDGES = """
REPLIES = ["A", "B", "C", "A", "D", ""]

def in_letters(messages):
    return REPLIES[int(messages[-1]["content"].split("Answer ")[1][0])]

def in_json(messages):
    if 'where G is one of "A", "B", "C"' not in messages[0]["content"]:
        return "not told the grades"
    answer = messages[-1]["content"].split("DATA")[-2]
    if "Answer " not in answer:
        return ""
    return '{"grade": "' + in_letters([{"content": answer}]) + '", "reason": "so"}'

def best(messages):
    return '{"grade": "A"}'

def no(messages):
    return '{"grade": "no"}'
"""


def named(tmp_path, judge):
    (tmp_path / "judges.py").write_text(JUDGES)
    return f"{tmp_path}/judges.py:{judge}"


def run(tmp_path, judge, **options):
    scorer = {"name": "judge", "grades": GRADES, **options}
    task = Task("t", dataset=ROWS, scorers=scorer)
    return assay.run(
        task,
        model=model,
        judge=named(tmp_path, judge),
        output=str(tmp_path / "run"),
        on_error="continue",
    )


@pytest.mark.parametrize(
    ("judge", "options"),
    [("in_letters", {"prompt": PROMPT, "verdict": r"\b([A-Z])\b"}), ("in_json", {})],
)
def test_each_grade_is_a_metric_and_an_unknown_one_a_judge_error(
    tmp_path, judge, options
):
    result = run(tmp_path, judge, lower_is_better=["incorrect"], **options)

    values = {row.metric: row.value for row in result.results}
    assert values == {
        "judge.correct": 0.5,
        "judge.incorrect": 0.25,
        "judge.not_attempted": 0.25,
    }
    first, second, third = result.results
    assert first.outcomes == {"scored": 4, "judge_error": 2}
    assert [row.higher_is_better for row in (first, second, third)] == [
        True,
        False,
        True,
    ]
    assert first.ci[1] <= 1.0


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ({"A": 1, "B": 0.5, "C": 0}, {"judge": 0.625}),
        (
            {"A": {"right": 1, "tried": 1}, "B": {"tried": 1}, "C": {}},
            {"judge.right": 0.5, "judge.tried": 0.75},
        ),
        (["A", "B", "C"], {"judge.a": 0.5, "judge.b": 0.25, "judge.c": 0.25}),
    ],
)
def test_grades_are_numbers_or_give_several(tmp_path, grades, expected):
    options = {"grades": grades, "prompt": PROMPT, "verdict": r"\b([A-Z])\b"}

    result = run(tmp_path, "in_letters", **options)

    assert {row.metric: row.value for row in result.results} == expected


def test_records_keep_the_grade(tmp_path):
    run(tmp_path, "in_json")

    scores = assay.RunReader(tmp_path / "run").scores("t", "model", "judge")

    assert [score.details.get("grade") for score in scores] == [
        "A",
        "B",
        "C",
        "A",
        None,
        None,
    ]


def test_a_canary_that_gets_the_first_grade_is_reported(tmp_path):
    result = run(tmp_path, "best")

    assert any("gave full marks to 12 of 12" in note for note in result.notes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grades": {"A": 1}}, "at least two grades"),
        ({"grades": "ABC"}, "at least two grades"),
        ({"grades": {"A": 1, "B": "wrong"}}, "some grades are numbers"),
        ({"grades": {"A": {}, "B": {}}}, "no grade gives a number"),
        ({"grades": GRADES, "rounds": "all"}, "mean over rounds"),
        ({"grades": GRADES, "lower_is_better": ["wrong"]}, "no metric 'wrong'"),
        ({"lower_is_better": ["wrong"]}, "no metric 'wrong'"),
        ({"grades": {"A": 1, "": 0}}, "each grade needs a name"),
        ({"grades": {"A": 1, "a": 0}}, "name of its own"),
        ({"grades": {"A": None, "B": 1}}, "number or metric"),
        (
            {"grades": GRADES, "default_grade": "D"},
            "default_grade='D'; fix: .* A, B, C",
        ),
        ({"default_grade": "C"}, "one of a name in `grades`"),
    ],
)
def test_grades_that_make_no_sense_are_refused(options, words):
    with pytest.raises(UsageError, match=words):
        Judge(**options)


def test_replies_without_a_grade_get_the_default_grade_and_are_counted(tmp_path):
    options = {"prompt": PROMPT, "verdict": r"\b([A-Z])\b", "default_grade": "C"}

    result = run(tmp_path, "in_letters", **options)

    [row, *_] = result.results
    assert row.n == 6 and dict(row.outcomes) == {"scored": 6}
    assert result.value("judge.not_attempted") == pytest.approx(3 / 6)
    assert any("2 judge replies got the default grade" in flag for flag in row.flags)


def test_a_judge_that_fails_gets_no_default_grade(tmp_path):
    (tmp_path / "down.py").write_text("def judge(m):\n    raise OSError('down')\n")
    scorer = {"name": "judge", "grades": GRADES, "default_grade": "C"}

    result = assay.run(
        Task("t", dataset=ROWS, scorers=scorer),
        model=model,
        judge=f"{tmp_path}/down.py:judge",
        output=str(tmp_path / "run"),
        on_error="continue",
    )

    assert dict(result.results[0].outcomes) == {"judge_error": 6}


def test_the_mean_over_rounds_of_grades_that_are_numbers(tmp_path):
    rows = [{"id": "0", "turns": ["Question 0?", "Question 1?"], "answer": "x"}]
    scorer = {"name": "judge", "grades": {"A": 1, "B": 0}, "rounds": "all"}

    result = assay.run(
        Task("t", dataset=rows, scorers=scorer),
        model=lambda messages: "Answer",
        judge=named(tmp_path, "best"),
        output=str(tmp_path / "run"),
    )

    assert result.value("judge.overall") == 1.0


def test_grades_in_yaml(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"question": "Question 1?", "answer": "x"}\n')
    (tmp_path / "t.yaml").write_text(
        "dataset: d.jsonl\nscorers:\n  - name: judge\n"
        "    grades: {yes: right, no: wrong}\n    lower_is_better: wrong\n"
    )

    result = assay.run(
        str(tmp_path / "t.yaml"),
        model=model,
        judge=named(tmp_path, "no"),
        output=str(tmp_path / "run"),
    )

    assert result.value("judge.wrong") == 1.0


def test_two_judges_of_one_task_have_a_role_each(tmp_path):
    file = tmp_path / "judges.py"
    file.write_text(
        "def yes(text):\n    return 'yes'\ndef no(text):\n    return 'no'\n"
    )
    scorers = []
    for role in ("first", "second"):
        spec = {"name": "judge", "role": role, "grades": {"yes": 1, "no": 0}}
        scorers.append({**spec, "prompt": "{{ answer }}?", "verdict": "(yes|no)"})
    task = assay.Task("t", [{"question": "a", "answer": "b"}] * 3, scorers=scorers)

    result = assay.run(
        task,
        lambda text: "x",
        judges={"first": f"{file}:yes", "second": f"{file}:no"},
        output=str(tmp_path / "run"),
    )

    values = {row.metric: row.value for row in result.results}
    assert values == {"judge(role=first)": 1.0, "judge(role=second)": 0.0}
    assert result.status == "complete"
    assert {key.partition("/")[0] for key in result.usage} >= {"t#first", "t#second"}
    assert any("judge(role=second)" in note for note in result.notes)


def test_a_judge_that_is_not_named_is_refused(tmp_path):
    task = assay.Task("t", [{"question": "a", "answer": "b"}], scorers="judge")

    with pytest.raises(AssayError, match=r"role 'judge' holds.*file.py:function"):
        assay.run(task, lambda text: "x", judges={"judge": lambda text: "yes"})
