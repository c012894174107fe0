"""What a user's own code gets and sees: loaders, batches, names, hooks, files and eras, in the default protocol."""

import json

import pytest

from assay.cli.main import main
from assay.dialects.protocol import OURS, UPSTREAM, following, is_upstream
from assay.dialects.televal.answer_evaluators import ExistMatch
from assay.dialects.televal.data_templates import DataTemplate
from assay.dialects.televal.eras import era_of
from assay.dialects.televal.facade.dataset import BatchLoader
from assay.dialects.televal.judge_evaluators import TASK_PROMPT_MAP
from assay.dialects.televal.summaries import AvgInfo, AvgThreshold, Summarizer
from assay.dialects.televal.televal_model_bases import Model
from assay.runner.options import RunOptions

LOADERS = """
from src.dataset import BatchLoader

class Filtered(BatchLoader):
    @staticmethod
    def load_jsonl(file, tuple_decode):
        return [row for row in BatchLoader.load_jsonl(file, tuple_decode) if row["key"] == "b"]

class Upper(BatchLoader):
    def __next__(self):
        return [{**row, "query": "Q:" + row["query"]} for row in super().__next__()]

class ByFrame(BatchLoader):
    def __init__(self, **options):
        super().__init__(**options)
        self.df = self.df[self.df["key"] == "b"]
"""
RANK = """
from src.evaluator.base import Evaluator

class Rank(Evaluator):
    def evaluate(self, preds, refs, pred_info_list, **kwargs):
        return [{"key": info["key"], "score": n + 1} for n, info in enumerate(pred_info_list)]
"""
HELPERS = """
import json

def emotion(messages):
    return json.dumps({"生气/angry": 0.3, "happy": 0.6, "neutral": 0.9})
"""


@pytest.mark.parametrize(
    ("kind", "queries"),
    [
        ("Filtered", ["null"]),
        ("Upper", ["Q:is it 1949?", "Q:null"]),
        ("ByFrame", ["null"]),
    ],
)
def test_what_a_users_loader_gives_is_what_the_model_is_asked(project, kind, queries):
    project.write("src/my_data.py", LOADERS)
    project.entry("dataset", "data", f"src.my_data.{kind}", project.args["dataset"])

    project.televal("infer")

    assert [
        line["query"] for line in project.lines("save/prediction/echo/task.jsonl")
    ] == queries


def test_gaps_of_a_users_table_are_nothing_to_the_template(project):
    project.write("src/my_data.py", LOADERS)
    project.entry(
        "dataset",
        "data",
        "src.my_data.ByFrame",
        {**project.args["dataset"], "extra_col": ["more"]},
    )
    project.rows(
        {"key": "a", "query": "q", "answer": "q", "more": 1},
        {"key": "b", "query": "r", "answer": "r"},
    )

    project.televal("infer")

    assert project.lines("save/prediction/echo/task.jsonl")[0]["more"] is None


def test_a_loader_of_rows_that_are_not_there_says_so_when_it_is_built(tmp_path):
    with pytest.raises(NotImplementedError, match="no rows in nowhere"):
        BatchLoader("nowhere.jsonl")


@pytest.mark.parametrize("times", range(3))
def test_an_evaluator_of_lists_gets_the_batches_of_the_file(project, times):
    project.write("src/evaluator/rank.py", RANK)
    project.entry("evaluator", "contains", "src.evaluator.rank.Rank", {})
    rows = [{"key": str(n), "pred": "x", "ref": "x"} for n in range(7)]
    project.rows(*rows, file="save/prediction/echo/task.jsonl")

    project.televal("eval", bsz=3)

    scores = [
        line["score"] for line in project.lines("save/result/echo/task_judge.jsonl")
    ]
    assert scores == [1, 2, 3, 1, 2, 3, 1]


def test_lists_are_judged_again_in_batches_of_another_size_and_beside_a_changed_line(
    project,
):
    counting = RANK.replace(
        '"score": n + 1', '"score": n + 10 * sum(len(pred) for pred in preds)'
    )
    project.write("src/evaluator/rank.py", counting)
    project.entry("evaluator", "contains", "src.evaluator.rank.Rank", {})
    rows = [{"key": str(n), "pred": "x", "ref": "x"} for n in range(4)]
    seen = []
    for size, first in ((4, "x"), (2, "x"), (2, "xx")):
        project.rows(
            {**rows[0], "pred": first},
            *rows[1:],
            file="save/prediction/echo/task.jsonl",
        )
        project.televal("eval", bsz=size)
        seen.append(
            [
                line["score"]
                for line in project.lines("save/result/echo/task_judge.jsonl")
            ]
        )

    assert seen == [[40, 41, 42, 43], [20, 21, 20, 21], [30, 31, 20, 21]]


def test_the_own_load_of_a_users_template_renders_the_rows(project):
    project.write(
        "src/prompt/loud.py",
        "from src.prompt.template import DataTemplate\n\n"
        "class Loud(DataTemplate):\n"
        "    def load(self, **row):\n"
        "        return super().load(**{**row, 'query': row['query'].upper()})\n",
    )
    text = [{"role": "user", "content": {"text": "{{query}}"}}]
    project.entry("template", "ask", "src.prompt.loud.Loud", {"template": text})

    project.televal("infer")

    predictions = project.lines("save/prediction/echo/task.jsonl")
    assert [line["pred"] for line in predictions] == ["echo IS IT 1949?", "echo NULL"]


def test_an_evaluator_that_exhausts_an_iterator_fails_only_its_sample(project):
    project.write(
        "src/evaluator/contains.py",
        "from src.utils import parallel_batch\n\n"
        "class Contains:\n"
        "    @parallel_batch(default_workers=2)\n"
        "    def evaluate(self, pred, ref, pred_info, **kwargs):\n"
        "        score = next(part for part in [pred] if ref in part)\n"
        "        return {'key': pred_info['key'], 'score': int(bool(score))}\n",
    )

    result = project.run("task").results[0]

    assert result.value == 1.0
    assert result.outcomes == {"scored": 1, "judge_error": 1}


def test_an_evaluator_of_lists_is_asked_line_by_line_where_the_lines_are_not_known_yet(
    project,
):
    project.write("src/evaluator/rank.py", RANK)
    project.entry("evaluator", "contains", "src.evaluator.rank.Rank", {})
    project.change("eval_task", "judge", batch_size=2)

    result = project.run("task")

    assert result.results[0].value == 1.0


def test_asking_a_model_needs_no_evaluator(project):
    project.change("infer_task", "task", eval_task="gone")

    project.televal("infer")

    assert len(project.lines("save/prediction/echo/task.jsonl")) == 2


def test_judging_by_another_eval_task_does_not_need_the_tasks_own(project):
    project.televal("infer")
    project.change("infer_task", "task", eval_task="gone")

    project.televal("eval", eval_task="judge")

    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": "AVG: 50.00%"}
    ]


def test_judging_needs_neither_model_nor_template_nor_data(project):
    project.televal("infer")
    for path in (
        "src/models/echo.py",
        "registry/model/echo.yaml",
        "registry/template/ask.yaml",
    ):
        (project.root / path).unlink()
    (project.registry / "dataset" / "data.yaml").unlink()

    project.televal("eval")

    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": "AVG: 50.00%"}
    ]


def test_predictions_that_upstream_named_by_the_dataset_are_found(project):
    project.rows(
        {"key": "a", "pred": "1949", "ref": "1949"},
        file="save/prediction/echo/data.jsonl",
    )

    project.televal("eval")

    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": "AVG: 100.00%"}
    ]


def test_a_model_that_is_named_by_its_file_leaves_its_predictions(project):
    project.televal("infer", model=f"{project.root}/src/models/echo.py:Echo")

    (file,) = (project.root / "save" / "prediction").glob("*/task.jsonl")
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2


def test_a_judge_that_asks_its_own_way_is_asked_that_way(project):
    project.write(
        "src/evaluator/mine.py",
        "from src.evaluator.llm import LLMScorer\n\nclass Mine(LLMScorer):\n"
        "    def api_generate(self, temp, api_key, url):\n"
        "        assert api_key == 'v1' and 'k1' in url\n"
        '        return \'{"Explanation": "fine", "Score": 4.5}\'\n',
    )
    args = {"llm_name": "m", "judge_task": "aed", "api_keys": {"k1": "v1"}}
    project.entry("evaluator", "contains", "src.evaluator.mine.Mine", args)
    project.entry(
        "summarizer",
        "avg",
        "src.summarizer.summarizer.AvgThreshold",
        {"rescale": "linear"},
    )
    project.televal("infer")

    with pytest.warns(UserWarning, match="holds a key"):
        project.televal("eval")

    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": "AVG: 90.00", "above_threshold": "above60: 2"}
    ]


def test_a_summarizer_of_a_user_rescales_by_the_base_class():
    class Mine(Summarizer):
        def statistic(self, scores, **kwargs):
            self._check_scores(scores)
            return {"score": sum(self.rescale_func(float(score)) for score in scores)}

    assert Mine("linear").statistic([1, "2"]) == {"score": 60.0}
    with pytest.raises(ValueError, match="a score is None"):
        Mine().statistic([None])


def test_scores_that_are_texts_are_numbers():
    assert AvgInfo().statistic(["4", "5"]) == {"score": "AVG: 450.00%"}
    assert AvgThreshold("power").statistic(["5", "4"])["score"] == "AVG: 82.00"


def test_scores_beyond_the_scale_still_have_a_summary(project):
    project.entry(
        "summarizer",
        "avg",
        "src.summarizer.summarizer.AvgThreshold",
        {"rescale": "power"},
    )
    project.write(
        "src/evaluator/contains.py",
        "class Contains:\n    def evaluate(self, preds, refs, infos):\n"
        "        return [{'key': i['key'], 'score': 9} for i in infos]\n",
    )
    project.televal("infer")

    project.televal("eval")

    assert (
        project.lines("save/summary/echo/task_judge.jsonl")[0]["score"] == "AVG: 324.00"
    )


@pytest.mark.parametrize(("strict", "score"), [(True, 60.0), (False, 90.0)])
def test_the_feelings_that_are_listened_for_are_those_of_the_answer(
    project, strict, score
):
    helpers = project.write("helpers.py", HELPERS)
    sound = project.wav("a.wav")
    line = {
        "key": "a",
        "pred": "x",
        "ref": "angry",
        "answer_emo": ["happy", "neutral"],
        "pred_audio": str(sound),
    }
    project.rows(line, file="save/prediction/echo/task.jsonl")
    project.entry(
        "evaluator",
        "contains",
        "src.evaluator.emo2vec.Emo2vec",
        {"model": "m", "strict": strict},
    )

    project.televal("eval", base=RunOptions(judges={"emotion": f"{helpers}:emotion"}))

    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": f"AVG: {score:.2f}%"}
    ]


def test_judge_prompts_explain_the_columns():
    age = TASK_PROMPT_MAP["age_care"](
        "P", "child", query="q", answer_age=["for a child"], answer_common="for all"
    )
    feeling = TASK_PROMPT_MAP["emotion_understand"]("P", "sad", query="q")

    assert (
        "[age of the speaker]\nchild" in age
        and "for a child" in age
        and "for all" in age
    )
    assert "[feeling of the user]\nsad" in feeling and "expected" not in feeling


def test_a_judge_of_assay_receives_every_column_of_a_prediction(project):
    helpers = project.write(
        "helpers.py",
        "def judge(messages):\n    text = str(messages)\n"
        '    return \'{"Explanation": "", "Score": %d}\' % (5 if \'for a child\' in text else 0)\n',
    )
    line = {
        "key": "a",
        "pred": "x",
        "ref": "child",
        "query": "q",
        "answer_age": ["for a child"],
        "answer_common": "c",
    }
    project.rows(line, file="save/prediction/echo/task.jsonl")
    args = {"llm_name": "m", "judge_task": "age_care", "api_keys": {"k": "xxx"}}
    project.entry("evaluator", "contains", "src.evaluator.llm.LLMScorer", args)

    project.televal("eval", base=RunOptions(judges={"judge": f"{helpers}:judge"}))

    assert project.lines("save/result/echo/task_judge.jsonl")[0]["score"] == 5.0


@pytest.mark.torch
def test_a_model_is_asked_without_gradients(project):
    pytest.importorskip("torch")
    project.model(
        "    def generate_once(self, audio, **kwargs):\n"
        "        import torch\n"
        "        return {'pred': str(self.net(torch.zeros(1)).numpy().shape)}\n"
        "    def __init__(self):\n"
        "        import torch\n"
        "        super().__init__()\n"
        "        self.net = torch.nn.Linear(1, 1)\n"
    )
    project.entry("model", "echo", "src.models.echo.Echo", {})

    project.televal("infer")

    assert project.lines("save/prediction/echo/task.jsonl")[0]["pred"] == "(1,)"


def test_a_sound_in_a_column_of_another_name_becomes_a_file(project):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    sound = {"bytes": project.wav("a.wav").read_bytes(), "path": None}
    folder = project.root / "data" / "parts"
    folder.mkdir()
    parquet.write_table(
        pa.Table.from_pylist([{"key": "a", "audio_only": sound, "answer": "x"}]),
        folder / "a.parquet",
    )
    project.change("dataset", "data", file="data/parts")
    text = [{"role": "user", "content": {"audio": "{{audio_only}}"}}]
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": text}
    )
    project.model(
        "    def generate_once(self, audio, **kwargs):\n        return {'pred': audio}\n"
    )

    project.televal("infer")

    assert project.lines("save/prediction/echo/task.jsonl")[0]["pred"].endswith(
        "a_audio_only.wav"
    )


@pytest.mark.parametrize(
    ("files", "era"),
    [
        (
            {
                "src/dataset.py": "class BatchLoader:\n    def __init__(self, file, is_local=False): ..."
            },
            "seed",
        ),
        (
            {
                "src/dataset.py": "class BatchLoader:\n    def __init__(self, file, do_infer=True): ..."
            },
            "newest",
        ),
        ({"registry/evaluator/a.yaml": "a: {args: {judge_task: nsv_care}}"}, "newest"),
        (
            {"registry/evaluator/a.yaml": "a:\n  args:\n    judge_task: para_care"},
            "seed",
        ),
        (
            {
                "registry/dataset/a.yaml": "a:\n  args:\n    is_local: True\n    batch_size: 2"
            },
            "seed",
        ),
        ({"registry/eval_task/a.yaml": "a:\n  args:\n    batch_size: 2"}, "newest"),
        ({}, "newest"),
    ],
)
def test_the_era_of_a_tree_is_read_from_its_files(tmp_path, files, era):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert era_of(tmp_path) == era


def test_a_model_that_is_asked_directly_gets_sounds_as_it_declares_them(project):
    class Echo(Model):
        def generate_once(self, audio, **kwargs):
            return {"pred": audio, "told": sorted(kwargs)}

    fitting, wide = (
        project.wav("fit.wav"),
        project.wav("wide.wav", rate=44100, channels=2),
    )
    ask = [
        [{"role": "user", "content": {"audio": str(path)}}] for path in (fitting, wide)
    ]

    first, second = Echo().inference(ask)

    assert first["pred"] == str(fitting) and second["pred"] != str(wide)
    assert first["told"] == ["assistant", "instruct", "query", "system", "type"]
    with pytest.raises(FileNotFoundError, match=r"nowhere.wav"):
        Echo().inference([[{"role": "user", "content": {"audio": "nowhere.wav"}}]])


@pytest.mark.parametrize(
    ("pred", "ref", "keep_punc", "score"),
    [
        ("北 京", ["北京"], True, 1),
        ("a, b", ["a,b"], True, 1),
        ("a b", ["a,b"], True, 0),
        ("a b", ["a,b"], False, 1),
        (None, ["none"], False, 0),
        ("ＡＢＣ", ["abc"], False, 1),
        ("U.S.A", ["U.S.A"], True, 1),
    ],
)
def test_exist_match_keeps_punctuation_as_tokens_and_takes_no_answer_for_none(
    pred, ref, keep_punc, score
):
    (made,) = ExistMatch(keep_punc=keep_punc).evaluate([pred], [ref], [{"key": "a"}])

    assert made["score"] == score


def test_a_gap_in_a_row_is_nothing_to_a_template_that_is_one_text():
    template = DataTemplate(
        '[{"text": {% if answer is none %}"bot"{% else %}{{ answer | tojson }}{% endif %}}]'
    )

    assert template.load(answer=float("nan")) == [{"text": "bot"}]


def test_the_rule_of_one_piece_of_work_is_not_that_of_the_process():
    with following("televal", UPSTREAM):
        inside = is_upstream("televal")
        with following("televal", OURS):
            deeper = is_upstream("televal")

    assert (inside, deeper, is_upstream("televal")) == (True, False, False)


def test_the_command_follows_upstream_when_asked(project, monkeypatch, capsys):
    monkeypatch.chdir(project.root)
    project.rows({"key": "a", "query": "is it 1949?", "answer": "1949"})

    for mode in ("infer", "eval"):
        assert (
            main(
                [
                    "televal",
                    "--mode",
                    mode,
                    "--task",
                    "task",
                    "--save_dir",
                    "res",
                    "--upstream",
                ]
            )
            == 0
        )

    written = (project.root / "res").glob("*/echo/*.jsonl")
    files = sorted(
        file.relative_to(project.root / "res").as_posix() for file in written
    )
    assert files == [
        "prediction/echo/data.jsonl",
        "result/echo/data_judge.jsonl",
        "summary/echo/data_judge.jsonl",
    ]


def test_upstream_uses_assays_avg_where_televal_lacks_the_class(project):
    project.entry(
        "summarizer", "avg", "src.summarizer.summarizer.Avg", {"score_scale": 1}
    )
    project.rows(
        {"key": "a", "query": "is it 1949?", "answer": "1949"},
        {"key": "b", "query": "is it not?", "answer": "1950"},
    )
    project.televal("infer", upstream=True)

    with pytest.warns(UserWarning, match="Avg, which TELEVAL does not define"):
        result, _ = project.televal("eval", upstream=True)

    assert result.results[0].value == 0.5
    assert project.lines("save/summary/echo/data_judge.jsonl") == [
        {"score": "AVG: 50.00%"}
    ]


def test_a_script_runs_the_stages_by_upstreams_own_names(project, monkeypatch, capfd):
    project.write(
        "tools/run.py",
        "from src.task import Pipeline\nfrom src.registry import registry\nfrom src.utils import make_object\n"
        "Pipeline.create(mode='infer', task='task', save_dir='res', bsz=None, keep_meta_info=True).run()\n"
        "print(registry.get_infer_task('task').dataset, registry.get_evaluator('contains').max_workers)\n"
        "print(make_object('src.models.echo.Echo', path='p').generate_once(None, query='x'))\n",
    )
    monkeypatch.chdir(project.root)

    assert main(["python", "tools/run.py"]) == 0

    assert capfd.readouterr().out.splitlines()[-2:] == [
        "data None",
        "{'pred': 'echo x'}",
    ]
    assert (
        json.loads(
            (project.root / "res/prediction/echo/task.jsonl")
            .read_text()
            .splitlines()[0]
        )["key"]
        == "a"
    )


def test_a_judge_is_asked_in_the_words_of_the_users_checkout_under_upstream(project):
    project.write(
        "src/prompt/llm_judge.py",
        "TASK_PROMPT_MAP = {'aed': lambda pred, ref, **info: f'THEIRS {pred} {info[\"n\"]}'}\n",
    )
    helpers = project.write(
        "helpers.py",
        "def judge(messages):\n    assert str(messages).count('THEIRS x 3') == 1, messages\n"
        '    return \'{"Explanation": "e", "Score": 4.9}\'\n',
    )
    project.rows(
        {"key": "a", "pred": "x", "ref": "r", "n": 3},
        file="save/prediction/echo/data.jsonl",
    )
    args = {"llm_name": "m", "judge_task": "aed", "api_keys": {"k": "xxx"}}
    project.entry("evaluator", "contains", "src.evaluator.llm.LLMScorer", args)

    project.televal(
        "eval", base=RunOptions(judges={"judge": f"{helpers}:judge"}), upstream=True
    )

    (line,) = project.lines("save/result/echo/data_judge.jsonl")
    assert line == {
        "key": "a",
        "pred": "x",
        "ref": "r",
        "score": 4.0,
        "reason": "e",
        "n": 3,
    }
    assert list(line) == ["key", "pred", "ref", "score", "reason", "n"]
