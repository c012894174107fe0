"""Evaluators and summarizers: users' own in both forms, and ours behind the guest's names."""

import json
import time

import pytest

from assay.dialects.televal.answer_evaluators import ExistMatch, SingleOptionMatch
from assay.dialects.televal.facade.utils import parallel_batch
from assay.dialects.televal.judge_evaluators import (
    TASK_PROMPT_MAP,
    LLMScorer,
    NoScore,
    read_score,
)
from assay.dialects.televal.summaries import Avg, AvgInfo, AvgMOS, AvgThreshold, AvgWER

BATCH = """
class Contains:
    sizes = []

    def evaluate(self, preds, refs, infos):
        assert isinstance(preds, list) and len(preds) == len(refs) == len(infos)
        return [{"key": i["key"], "score": len(preds)} for i in infos]
"""


def test_an_evaluator_of_lists_and_one_of_single_predictions_both_run(project):
    single = project.run("task").results[0]
    project.write("src/evaluator/contains.py", BATCH)

    lists = project.run("task").results[0]

    assert (single.value, lists.value) == (0.5, 1.0)


def test_numbers_of_numpy_are_numbers_in_the_result_file(project):
    pytest.importorskip("numpy")
    project.write(
        "src/evaluator/contains.py",
        "import numpy as np\n\nclass Contains:\n    def evaluate(self, preds, refs, infos):\n"
        "        made = {'score': np.float32(0.5), 'n': np.int64(2), 'at': np.arange(2)}\n"
        "        return [{'key': info['key'], **made} for info in infos]\n",
    )
    project.rows(
        {"key": "a", "pred": "p", "ref": "r"}, file="save/prediction/echo/task.jsonl"
    )

    _, (result_file, *_) = project.televal("eval")

    line = json.loads(result_file.read_text())
    assert (line["score"], line["n"], line["at"]) == (0.5, 2, [0, 1])


def test_the_numbers_of_a_users_summarizer_built_on_the_dialects_are_shown(project):
    project.write(
        "src/summarizer/worst.py",
        "from src.summarizer.summarizer import Summarizer\n\nclass Worst(Summarizer):\n"
        "    def statistic(self, scores, **kwargs):\n        return {'score': f'WORST: {min(scores):.2f}'}\n",
    )
    project.entry("summarizer", "worst", "src.summarizer.worst.Worst", {})
    project.change("eval_task", "judge", summarizer="worst")

    values = {row.metric: row.value for row in project.run("task").results}

    assert values == {"worst.score": 0.0, "contains": 0.5}


def test_an_evaluator_of_lists_gets_batches_when_asked(project):
    project.write("src/evaluator/contains.py", BATCH)
    project.rows(
        *({"key": str(n), "pred": "p", "ref": "r"} for n in range(40)),
        file="save/prediction/echo/task.jsonl",
    )

    result, _ = project.televal("eval", bsz=10)

    assert result.results[0].value > 1.0


def test_judges_work_in_parallel_without_any_batch_size_flag(project):
    waiting = (
        "import threading\nfrom src.utils import parallel_batch\n\nall_here = threading.Barrier(20, timeout=30)\n\n"
        "class Contains:\n    def __init__(self, max_workers=None):\n        self.max_workers = max_workers\n\n"
        "    @parallel_batch(default_workers=2)\n    def evaluate(self, pred, ref, info, **kwargs):\n"
        "        all_here.wait()\n        return {'key': info['key'], 'score': 1}\n"
    )
    project.write("src/evaluator/contains.py", waiting)
    project.entry(
        "evaluator", "contains", "src.evaluator.contains.Contains", {"max_workers": 20}
    )
    project.rows(*({"key": str(n), "query": "q", "answer": "r"} for n in range(100)))

    (row,) = project.run("task").results

    assert (row.n, row.outcomes) == (
        100,
        {"scored": 100},
    )  # one worker fewer, and nobody gets past the barrier


def test_default_workers_count_where_max_workers_is_missing(project):
    waiting = (
        "import threading\nfrom src.utils import parallel_batch\n\nall_here = threading.Barrier(3, timeout=30)\n\n"
        "class Contains:\n    @parallel_batch(default_workers=3)\n    def evaluate(self, pred, ref, info, **kwargs):\n"
        "        all_here.wait()\n        return {'key': info['key'], 'score': 1}\n"
    )
    project.write("src/evaluator/contains.py", waiting)
    project.rows(*({"key": str(n), "query": "q", "answer": "r"} for n in range(9)))

    assert project.run("task").results[0].outcomes == {"scored": 9}


def test_an_evaluator_that_fails_on_one_prediction_is_counted_not_guessed(project):
    project.write(
        "src/evaluator/contains.py",
        "from src.utils import parallel_batch\n\nclass Contains:\n    @parallel_batch()\n"
        "    def evaluate(self, pred, ref, info, **kw):\n        return {'key': info['key'], 'score': 1 / (info['key'] == 'a')}\n",  # noqa: E501
    )

    (row,) = project.run("task").results

    assert (row.value, row.outcomes) == (1.0, {"scored": 1, "judge_error": 1})


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            "{'key': info['key']}",
            "must return a dict with `key` and `score`, it returned key",
        ),
        ("0.5", "it returned a float"),
        ("{'key': info['key'], 'score': None}", "gave no score"),
    ],
)
def test_an_evaluator_of_the_wrong_shape_gets_an_error_that_names_it(
    project, returned, message
):
    project.write(
        "src/evaluator/contains.py",
        f"from src.utils import parallel_batch\n\nclass Contains:\n    @parallel_batch()\n    def evaluate(self, pred, ref, info, **kw):\n        return {returned}\n",  # noqa: E501
    )

    result = project.run("task")

    assert any(
        "evaluator 'contains'" in note and message in note for note in result.notes
    )


def test_an_evaluator_that_loses_results_is_an_error_of_its_batch(project):
    project.write(
        "src/evaluator/contains.py",
        "class Contains:\n    def evaluate(self, preds, refs, infos):\n        return []\n",
    )

    result = project.run("task")

    assert any(
        "Contains.evaluate returned 0 results for 1 predictions" in note
        for note in result.notes
    )


def test_a_class_without_evaluate_is_refused_before_the_run(project):
    project.write("src/evaluator/contains.py", "class Contains:\n    pass\n")

    with pytest.raises(Exception, match="has no method `evaluate`"):
        project.run("task")


def test_parallel_batch_keeps_the_order_and_gives_the_first_error():
    class Slow:
        max_workers = 4

        @parallel_batch(default_workers=2)
        def evaluate(self, pred, ref, info, **kwargs):
            time.sleep(0.01 if pred == 0 else 0)
            return {"key": info["key"], "score": pred}

    made = Slow().evaluate([0, 1, 2], [0, 0, 0], [{"key": n} for n in "abc"])

    assert [row["score"] for row in made] == [0, 1, 2]
    with pytest.raises(ValueError, match="preds is a str"):
        Slow().evaluate("one", [0], [{}])
    with pytest.raises(ValueError, match="do not match"):
        Slow().evaluate([1], [], [{}])


@pytest.mark.parametrize(
    ("ref", "pred", "expected"),
    [
        ("Paris", "it is paris.", 1.0),
        (["Rome", "Paris"], "it is Paris", 1.0),
        (("Rome", "Paris"), "it is Paris", 0.0),
        (("Rome", "Paris"), "Paris and Rome", 1.0),
        ("It’s", "it's so", 1.0),
        (0, "the answer is 0", 1.0),
    ],
)
def test_exist_match_reads_lists_as_or_and_tuples_as_and(ref, pred, expected):
    (row,) = ExistMatch().evaluate([pred], [ref], [{"key": "k"}])

    assert row == {"key": "k", "pred": pred, "ref": ref, "score": expected}


def test_a_reference_without_words_matches_nothing():
    (row,) = ExistMatch().evaluate(["anything"], ["..."], [{"key": "k"}])

    assert row["score"] is None


def test_single_option_match_gives_cover_and_correct():
    (row,) = SingleOptionMatch(cushion=True).evaluate(
        ["答案是B"], ["B"], [{"key": "k", "query": "下列哪项正确"}]
    )

    assert row["score"] == {"correct": 1.0, "cover": 1.0}


def test_references_keep_or_and_and_through_save_and_load(project):
    project.entry("evaluator", "contains", "src.evaluator.base.ExistMatch", {})
    both = {"__tuple__": True, "items": ["echo", ["one", "two"]]}
    project.rows(
        {"key": "a", "query": "two", "answer": both},
        {"key": "b", "query": "three", "answer": both},
    )

    project.televal("infer")
    result, _ = project.televal("eval")

    assert project.lines("save/prediction/echo/task.jsonl")[0]["ref"] == both
    assert result.results[0].value == 0.5


def test_a_falsy_reference_is_kept(project):
    project.entry("evaluator", "contains", "src.evaluator.base.ExistMatch", {})
    project.rows({"key": "a", "query": "it is 0", "answer": 0})

    assert project.run("task").results[0].value == 1.0


@pytest.mark.parametrize(
    ("summarizer", "scores", "expected"),
    [
        (AvgInfo(), [1, 0, 1], {"score": "AVG: 66.67%"}),
        (
            AvgInfo(),
            [{"cover": 1, "correct": 0}, {"cover": 1, "correct": 1}],
            {"cover": "cover: 100.00%", "correct": "correct: 50.00%"},
        ),
        (
            Avg(rescale="power", power=1, score_scale=1),
            [1, 0],
            {"score": "AVG: 50.00%"},
        ),
        (
            AvgThreshold("power", power=2),
            [5, 4, 3, 0],
            {"score": "AVG: 50.00", "above_threshold": "above60: 2"},
        ),
        (
            AvgThreshold("linear"),
            [5, 4, 3, 0],
            {"score": "AVG: 60.00", "above_threshold": "above60: 2"},
        ),
        (
            AvgWER(),
            [
                {"ref_len": 10, "subs": 1, "dele": 1, "inse": 0},
                {"ref_len": 5, "subs": 0, "dele": 0, "inse": 4},
            ],
            {"score": "WER_or_CER: 40.00%"},
        ),
        (
            AvgWER(reverse=True),
            [{"ref_len": 5, "subs": 0, "dele": 0, "inse": 6}],
            {"score": "Consis: -20.00%"},
        ),
        (AvgMOS(), [3.0, 4.0], {"score": "DNSMOS: 3.50"}),
    ],
)
def test_the_built_in_summaries_give_the_published_strings(
    summarizer, scores, expected
):
    assert summarizer.statistic(scores) == expected


def scored(project, *scores):
    """An evaluator that gives the score of its line."""
    project.write(
        "src/evaluator/contains.py",
        "class Contains:\n    def evaluate(self, preds, refs, infos):\n        return [{'key': i['key'], 'score': i['given']} for i in infos]\n",  # noqa: E501
    )
    rows = [
        {"key": str(n), "pred": "p", "ref": "r", "given": given}
        for n, given in enumerate(scores)
    ]
    project.rows(*rows, file="save/prediction/echo/task.jsonl")


def test_the_rescaled_mean_and_the_share_above_the_bar_are_numbers_with_intervals(
    project,
):
    scored(project, 5, 4, 3, 0)
    project.entry(
        "summarizer",
        "avg",
        "src.summarizer.summarizer.AvgThreshold",
        {"rescale": "power", "power": 2, "threshold": 60},
    )

    result, _ = project.televal("eval")

    values = {row.metric: row.value for row in result.results}
    assert values["contains"] == pytest.approx(50.0)
    assert values["contains>3.87298"] == 0.5
    assert result.results[0].ci is not None
    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": "AVG: 50.00", "above_threshold": "above60: 2"}
    ]


def test_an_error_rate_is_pooled_and_has_an_interval(project):
    counts = [
        {"ref_len": 10, "subs": 1, "dele": 1, "inse": 0},
        {"ref_len": 5, "subs": 0, "dele": 0, "inse": 4},
        {"ref_len": 10, "subs": 3, "dele": 0, "inse": 1},
    ]
    scored(project, *counts)
    project.entry("summarizer", "avg", "src.summarizer.summarizer.AvgWER", {})

    result, _ = project.televal("eval")

    assert result.results[0].value == pytest.approx(0.4)
    assert result.results[0].ci is not None


def test_a_users_summarizer_gets_the_raw_scores_in_the_order_of_the_file(project):
    scored(project, 3, "4.5", 1)
    project.write(
        "src/summarizer/mine.py",
        "class Mine:\n    def __init__(self, scale=1):\n        self.scale = scale\n\n"
        "    def statistic(self, scores, **kw):\n        return {'first': scores[0] * self.scale, 'all': repr(scores), 'share': 'AVG: 12.5%'}\n",  # noqa: E501
    )
    project.entry("summarizer", "avg", "src.summarizer.mine.Mine", {"scale": 10})

    result, _ = project.televal("eval")

    assert result.results[0].details["statistic"]["all"] == "[3, '4.5', 1]"
    values = {row.metric: row.value for row in result.results}
    assert (values["avg.first"], values["avg.share"]) == (30.0, 12.5)
    assert values["contains"] == pytest.approx(8.5 / 3)


def test_a_summarizer_that_returns_no_dict_is_named(project):
    scored(project, 1)
    project.write(
        "src/summarizer/mine.py",
        "class Mine:\n    def statistic(self, scores):\n        return 3\n",
    )
    project.entry("summarizer", "avg", "src.summarizer.mine.Mine", {})

    result, _ = project.televal("eval")

    assert any(
        "Mine.statistic (mine.py:2) returned a int, not a dict" in note
        for note in result.notes
    )


def test_a_judges_decimals_are_kept_and_invalid_scores_refused():
    assert read_score('{"Explanation": "good", "Score": "4.5"}') == (4.5, "good")
    assert read_score('```json\n{"Explanation": "x", "Score": 3.2}\n```')[0] == 3.2
    for reply in ("five", '{"Score": 7}', '{"Score": null}'):
        with pytest.raises(NoScore):
            read_score(reply)


def test_every_judge_task_shows_the_answer_and_no_raw_list():
    for prompt in TASK_PROMPT_MAP.values():
        text = prompt(
            "the answer", ["one", "two"], query="the question", para_name="cough"
        )

        assert "the answer" in text and "the question" in text and "['" not in text


def test_a_judge_of_assay_takes_the_place_of_keys(project):
    project.entry(
        "evaluator",
        "contains",
        "src.evaluator.llm.LLMScorer",
        {
            "llm_name": "gpt4o",
            "judge_task": "humanlike",
            "api_keys": {"key1": "xxx"},
            "max_workers": 3,
        },
    )
    project.write(
        "judge.py",
        'def generate(messages):\n    return \'{"Explanation": "fine", "Score": 4.5}\'\n',
    )
    project.entry(
        "summarizer",
        "avg",
        "src.summarizer.summarizer.AvgThreshold",
        {"rescale": "linear"},
    )

    result = project.run(
        "task", judges={"judge": f"{project.root / 'judge.py'}:generate"}
    )

    assert result.results[0].value == 90.0
    assert result.results[0].details["statistic"]["above_threshold"] == "above60: 2"


def test_a_judge_without_key_or_model_is_refused_before_the_run(project):
    project.entry(
        "evaluator",
        "contains",
        "src.evaluator.llm.LLMScorer",
        {"llm_name": "g", "judge_task": "aed", "api_keys": {"k": "xxx"}},
    )

    with pytest.raises(Exception, match="needs a model as 'judge'"):
        project.run("task")


def test_an_unknown_judge_task_is_answered_with_the_nearest():
    with pytest.raises(Exception, match="did you mean 'humanlike'"):
        LLMScorer("g", "humanlik", {"k": "x"})


@pytest.mark.parametrize(("era", "label"), [("seed", "WER"), ("newest", "WER_or_CER")])
def test_the_name_of_an_error_rate_is_that_of_its_era(project, era, label):
    counts = {"subs": 1, "dele": 0, "inse": 0, "ref_len": 4}
    evaluator = (
        "class Contains:\n    def evaluate(self, preds, refs, infos):\n"
        f"        return [{{'key': i['key'], 'score': {counts}}} for i in infos]\n"
    )
    project.write("src/evaluator/contains.py", evaluator)
    project.entry("summarizer", "avg", "src.summarizer.summarizer.AvgWER", {})
    project.rows(
        {"key": "x", "pred": "p", "ref": "r"}, file="save/prediction/echo/task.jsonl"
    )

    project.televal("eval", era=era)

    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": f"{label}: 25.00%"}
    ]


def test_a_speech_evaluator_asks_for_its_recognizer(project):
    project.entry(
        "evaluator",
        "contains",
        "src.evaluator.asr.ASR",
        {"model": "paraformer-zh", "max_workers": 1},
    )
    project.entry(
        "summarizer", "avg", "src.summarizer.summarizer.AvgWER", {"reverse": True}
    )

    with pytest.raises(Exception, match="needs a model as 'asr'"):
        project.run("task")
