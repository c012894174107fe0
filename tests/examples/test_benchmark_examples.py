"""The examples of unseen benchmarks give the numbers of the official formulas, written out here once more."""

import importlib.util
import math
import re
from pathlib import Path

import pytest

import assay
from assay.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(messages):
    content = messages[-1]["content"]
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def run(name, model, tmp_path, **settings):
    return assay.run(
        str(EXAMPLES / f"{name}.py"),
        model=model,
        output=str(tmp_path / "run"),
        **settings,
    )


def test_simpleqa_gives_the_rates_and_the_f1_of_simple_evals(tmp_path):
    rows = load("simpleqa_like").dataset
    grades = "AAAAABBBCCCC"
    said = {"A": "right", "B": "wrong", "C": "no idea"}
    answers = {row["question"]: said[g] for row, g in zip(rows, grades, strict=True)}
    (tmp_path / "judge.py").write_text(
        "GRADES = {'right': 'A', 'wrong': 'B', 'no idea': 'C'}\n"
        "def generate(messages):\n"
        "    answer = messages[-1]['content'].split('Answer: ')[1].split('\\n')[0]\n"
        "    return GRADES.get(answer, 'C')\n"
    )

    result = run(
        "simpleqa_like",
        lambda messages: answers[text_of(messages)],
        tmp_path,
        judge=f"{tmp_path}/judge.py:generate",
    )

    # simple-evals: rates over all rows; F1 of accuracy given attempted and of accuracy.
    counts = {letter: grades.count(letter) / len(grades) for letter in "ABC"}
    given = counts["A"] / (counts["A"] + counts["B"])
    f1 = 2 * given * counts["A"] / (given + counts["A"])
    values = {row.metric: round(row.value, 3) for row in result.results}
    assert values == {
        "f1": round(f1, 3),
        "judge.correct": 0.417,
        "judge.incorrect": 0.25,
        "judge.not_attempted": 0.333,
        "accuracy_given_attempted": round(given, 3),
    }
    assert (round(given, 3), round(f1, 3)) == (0.625, 0.5)
    directions = {row.metric: row.higher_is_better for row in result.results}
    assert not directions["judge.incorrect"] and directions["judge.correct"]


def test_gpqa_is_the_mean_over_repeats_with_an_order_of_their_own(tmp_path):
    rows = list(load("gpqa_like").dataset())

    def model(messages):
        text = text_of(messages)
        letter = "ABC"[len(text) % 3]
        forms = [
            f"Reasons.\nAnswer: {letter}",
            f"answer: ${letter}$",
            f"It is {letter}.",
        ]
        return forms[len(text) % len(forms)]

    result = run("gpqa_like", model, tmp_path)

    official = []
    for row in rows:
        prompt = "\n".join(
            [
                "Answer the following question. The last line of your answer is 'Answer: LETTER'.",
                "",
                row["asked"],
                "",
                *(f"{letter}) {row[letter]}" for letter in "ABCD"),
            ]
        )
        found = re.search(
            r"(?i)Answer[ \t]*:[ \t]*\$?([A-D])\$?", model([{"content": prompt}])
        )
        official.append(float(found is not None and found[1] == row["letter"]))
    (number,) = result.results
    assert number.value == pytest.approx(math.fsum(official) / len(official))
    assert 0 < number.value < 1
    assert (number.n, number.clusters) == (32, 4)
    orders = {tuple(row[letter] for letter in "ABCD") for row in rows[:8]}
    assert len(orders) > 4


def test_ruler_is_the_mean_of_its_tasks_and_comes_first(tmp_path):
    answers = {
        "owl": "4821",
        "fox": "none",
        "elk": "9876 and \0 others",
        "bee": "6060",
        "value 12": "A and B",
        "value 7": "X alone",
        "bridge": "In 1894.",
        "painter": "in Paris",
    }

    def model(messages):
        question = text_of(messages).rpartition("\n\n")[2]
        return next(answer for key, answer in answers.items() if key in question)

    result = run("ruler_like", model, tmp_path)

    # string_match_all of NVIDIA/RULER: 43.75 and 75.00; string_match_part: 50.00; their mean 56.25.
    first, second = result.results
    assert (first.metric, first.value) == ("ruler", pytest.approx(0.5625))
    groups = {name: group.value for name, group in first.groups["task"].items()}
    assert groups == {"niah": 0.4375, "vt": 0.75, "qa": 0.5}
    assert second.value == pytest.approx(0.53125)
    assert first.ci[0] < 0.5625 < first.ci[1] <= 1.0


def test_blink_is_the_mean_of_its_subtasks(tmp_path):
    seen = []

    def model(messages):
        content = messages[-1]["content"]
        seen.append(sum(part["type"] == "image" for part in content))
        return ["(A)", "B.", "A", "A", "A", "B", "A", "A"][len(seen) - 1]

    result = run("blink_like", model, tmp_path, concurrency=1)

    assert seen == [1, 2, 3, 3, 3, 3, 3, 3]
    first = result.results[0]
    groups = {name: group.value for name, group in first.groups["subtask"].items()}
    assert groups == {"counting": pytest.approx(2 / 3), "similarity": 0.2}
    assert (first.metric, first.value) == ("blink", pytest.approx((2 / 3 + 0.2) / 2))


def judge_file(folder, name, body):
    """Write a judge whose reply is an expression of the text that it is asked."""
    path = folder / f"{name}.py"
    path.write_text(
        f"import re\ndef generate(messages):\n    text = messages[-1]['content']\n    return {body}\n"
    )
    return f"{path}:generate"


def test_mt_bench_101_is_the_mean_of_its_tasks_over_the_worst_turns(tmp_path):
    is_low = "any(words in text for words in ('next one', 'longer', 'after that'))"
    reply = f"'Rating: [[%d]], not [[9]]' % (3 if {is_low} else 8)"
    judge = judge_file(tmp_path, "judge", reply)

    result = run("mt_bench_101_like", lambda messages: "Yes.", tmp_path, judge=judge)

    # MT-Bench-101: the least rating of each dialogue, their mean by task, the mean of the tasks.
    worst = {"memory": [8, 3, 8], "rephrasing": [3], "reasoning": [8, 3]}
    by_task = {task: math.fsum(turns) / len(turns) for task, turns in worst.items()}
    first = result.results[0]
    groups = {name: group.value for name, group in first.groups["task"].items()}
    assert first.metric == "worst_turn"
    assert first.value == pytest.approx(math.fsum(by_task.values()) / 3)
    assert groups == pytest.approx(by_task)
    assert first.ci[0] < first.value < first.ci[1]


def test_big_bench_audio_has_two_judges_a_macro_and_a_weighted_mean(tmp_path):
    heard = []

    def model(messages):
        kinds = [part["type"] for part in messages[-1]["content"]]
        heard.append("input_audio" in kinds or "audio" in kinds)
        return "high"

    strict = judge_file(
        tmp_path, "strict", "'CORRECT' if 'answer: high' in text else 'INCORRECT'"
    )
    kind = judge_file(tmp_path, "kind", "'CORRECT'")

    result = run(
        "big_bench_audio_like", model, tmp_path, judge={"judge": strict, "second": kind}
    )

    values = {row.metric: row.value for row in result.results}
    assert heard == [True] * 5
    assert values == {
        "macro": pytest.approx((2 / 3 + 0) / 2),
        "TwoJudges.both": pytest.approx(2 / 7),
        "TwoJudges.judge": pytest.approx(2 / 7),
        "TwoJudges.second": 1.0,
    }


def test_hle_has_the_calibration_error_of_bins_by_confidence(tmp_path):
    confidences = [90, 80, 70, 40, 30, 20]
    rows = load("hle_like").dataset
    said = {
        row[
            "question"
        ]: f"Answer: {row['answer'] if number < 3 else 'none'}\nConfidence: {confidences[number]}%"
        for number, row in enumerate(rows)
    }
    judge = judge_file(tmp_path, "judge", "'no' if 'Answer: none' in text else 'yes'")

    def model(messages):
        return said[text_of(messages).split("\n")[0]]

    result = run("hle_like", model, tmp_path, judge=judge)

    accuracy, error = result.results
    # Two bins of three: 0.3 against 0, and 0.8 against 1.
    expected = math.sqrt(0.5 * 0.3**2 + 0.5 * 0.2**2)
    assert (accuracy.metric, accuracy.value) == ("Graded", 0.5)
    assert error.value == pytest.approx(expected)
    assert not error.higher_is_better


def test_arena_ratings_follow_from_the_battles(tmp_path):
    longer = (
        "'{\"winner\": \"A\"}' if len(re.findall(r'ANSWER A\\n(.*?)\\nDATA', text, re.S)[0])"
        " > len(re.findall(r'ANSWER B\\n(.*?)\\nDATA', text, re.S)[0]) else '{\"winner\": \"B\"}'"
    )
    judge = judge_file(tmp_path, "judge", longer)
    lengths = {"mine": 60, "short": 12}

    runs = []
    for name, length in lengths.items():
        result = assay.run(
            str(EXAMPLES / "arena_like.py"),
            model=lambda messages, length=length: "x" * length,
            judge=judge,
            output=str(tmp_path / name),
        )
        runs.append(result.results[0])

    mine, short = runs
    groups = {name: group.value for name, group in mine.groups["opponent"].items()}
    assert groups == {"old": 1.0, "long": 0.25}
    # 12 characters are more than those of three of the four answers of "old".
    assert short.groups["opponent"]["old"].value == 0.75


def test_simpleqa_is_checked_with_a_judge(tmp_path, capsys):
    (tmp_path / "judge.py").write_text("def generate(messages):\n    return 'A'\n")

    code = main(
        [
            "check",
            str(EXAMPLES / "simpleqa_like.py"),
            "--judge",
            f"{tmp_path}/judge.py:generate",
        ]
    )

    assert code == 0
    assert "summarizer attempted on judge: f1 1.000" in capsys.readouterr().out
