"""The original command line, flag by flag: served, of no effect and said so, or refused with why."""

import json
import sys
import threading

import pytest

from assay.cli.vlmeval import command
from assay.core import MissingExtra, UnknownName, UsageError
from assay.dialects.vlmeval.vlmeval_command import evaluate
from assay.store import RunReader

HEADER = "index image question A B answer"


def text_of(body: dict) -> str:
    """The words of the last message of a request."""
    content = body["messages"][-1]["content"]
    return (
        content
        if isinstance(content, str)
        else " ".join(part.get("text", "") for part in content)
    )


@pytest.fixture
def mine(table, picture):
    return table(
        "Mine",
        HEADER,
        [[n, picture(n), f"Which {n}?", "cat", "dog", "A"] for n in range(3)],
    )


JUDGED = """
    from vlmeval.smp import *
    from vlmeval.dataset import ImageBaseDataset
    from vlmeval.dataset.utils import build_judge

    class Judged(ImageBaseDataset):
        TYPE = 'VQA'
        DATASET_URL = {'Judged': ''}
        TOLD = []

        def build_prompt(self, line):
            return [dict(type='text', value=line['question'])]

        def evaluate(self, eval_file, **judge_kwargs):
            self.TOLD.append(dict(judge_kwargs))
            if judge_kwargs['model'] == 'exact_matching':
                return {'judged': 0}
            judge = build_judge(**judge_kwargs)
            data = load(eval_file)
            return {'judged': float(np.mean([judge.generate(f'Is {p} right?') == 'yes' for p in data['prediction']]))}
"""


@pytest.fixture
def judged(table, file):
    table("Judged", "index question answer", [[0, "a", "x"], [1, "b", "x"]])
    return file("judged.py", JUDGED)


@pytest.fixture
def shout(file):
    return file("shout.py", "def answer(text):\n    return text.upper()\n") + ":answer"


def test_base_url_asks_an_endpoint_and_the_key_comes_from_the_environment(
    mine, endpoint, monkeypatch, tmp_path
):
    monkeypatch.setenv("MY_KEY", "sk-from-the-environment")
    arguments = [
        "--data",
        "Mine",
        "--model",
        "some-vlm",
        "--base-url",
        endpoint.url,
        "--key",
        "MY_KEY",
    ]
    more = [
        "--max-tokens",
        "7",
        "--temperature",
        "0.5",
        "--top-p",
        "0.9",
        "--extra-body",
        '{"tier": "x"}',
    ]

    (result,) = evaluate([*arguments, *more])

    path, headers, body = endpoint.seen[0]
    assert result.value("exact_matching") == 1.0
    assert (path, headers["Authorization"]) == (
        "/v1/chat/completions",
        "Bearer sk-from-the-environment",
    )
    assert (
        body["model"],
        body["max_tokens"],
        body["temperature"],
        body["top_p"],
        body["tier"],
    ) == (
        "some-vlm",
        7,
        0.5,
        0.9,
        "x",
    )
    assert any(part["type"] == "image_url" for part in body["messages"][0]["content"])
    assert all(
        b"sk-from-the-environment" not in f.read_bytes()
        for f in tmp_path.rglob("*")
        if f.is_file()
    )


def test_api_nproc_is_how_many_are_asked_at_once(table, picture, endpoint):
    table(
        "Mine",
        HEADER,
        [[n, picture(n), f"Which {n}?", "cat", "dog", "A"] for n in range(6)],
    )
    endpoint.meet = threading.Barrier(3)  # answers only when three ask at the same time

    (result,) = evaluate(
        [
            "--data",
            "Mine",
            "--model",
            "m",
            "--base-url",
            endpoint.url,
            "--api-nproc",
            "3",
        ]
    )

    assert result.status == "complete"
    assert endpoint.most == 3


def test_a_judge_at_an_endpoint_reads_what_the_rules_cannot(
    mine, early_model, endpoint, monkeypatch
):
    monkeypatch.setenv("JUDGE_KEY", "sk-judge")
    model = early_model({0: "a feline", 1: "B", 2: "A"})
    judge = [
        "--judge",
        "gpt-4o-mini",
        "--judge-base-url",
        endpoint.url,
        "--judge-key",
        "JUDGE_KEY",
    ]

    (result,) = evaluate(
        ["--data", "Mine", "--model", model, *judge, "--judge-timeout", "30"]
    )

    assert (result.value("exact_matching"), result.value("judge")) == (
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
    )
    assert [
        (body["model"], headers["Authorization"]) for _, headers, body in endpoint.seen
    ] == [("gpt-4o-mini", "Bearer sk-judge")]


def test_exact_matching_is_not_a_judge(mine, early_model):
    model = early_model(dict.fromkeys(range(3), "A"))

    (result,) = evaluate(
        ["--data", "Mine", "--model", model, "--judge", "exact_matching"]
    )

    assert [r.metric for r in result] == ["exact_matching"]


def test_judge_args_and_use_verifier_reach_the_users_evaluate(judged, shout, endpoint):
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    endpoint.answer = lambda body: "yes" if "A" in text_of(body) else "no"
    judge = [
        "--judge",
        "gpt-4o-mini",
        "--judge-base-url",
        endpoint.url,
        "--use-verifier",
        "--retry",
        "5",
    ]
    more = [
        "--judge-args",
        '{"temperature": 0.25, "strict": true}',
        "--judge-api-nproc",
        "2",
        "--judge-timeout",
        "9",
    ]

    (result,) = evaluate(
        ["--data", f"{judged}:Judged", "--model", shout, *judge, *more]
    )

    (told,) = TOOLKIT.load(judged).module.Judged.TOLD
    assert result.value("evaluate.judged") == 0.5
    assert told == {
        "verbose": False,
        "temperature": 0.25,
        "strict": True,
        "retry": 5,
        "timeout": 9.0,
        "nproc": 2,
        "use_verifier": True,
        "model": "gpt-4o-mini",
    }
    assert {body["temperature"] for _, _, body in endpoint.seen} == {0.25}


def test_without_a_judge_evaluate_gets_exact_matching(judged, shout):
    (result,) = evaluate(["--data", f"{judged}:Judged", "--model", shout])

    assert result.value("evaluate.judged") == 0.0


def test_use_verifier_needs_an_evaluate_of_ones_own(mine, early_model):
    with pytest.raises(
        UsageError,
        match=r"--use-verifier is for an `evaluate` of your own; fix: give --judge MODEL",
    ):
        list(evaluate(["--data", "Mine", "--model", early_model({}), "--use-verifier"]))


def test_judge_args_a_judge_does_not_know_are_refused_by_name(
    mine, early_model, endpoint
):
    judge = [
        "--judge",
        "x",
        "--judge-base-url",
        endpoint.url,
        "--judge-args",
        '{"strict": 1}',
    ]

    with pytest.raises(UsageError, match="the judge openai/x takes no 'strict'"):
        list(evaluate(["--data", "Mine", "--model", early_model({}), *judge]))


MODELS = """
    from functools import partial
    from vlmeval.config import supported_VLM
    from vlmeval.vlm import BaseModel
    from vlmeval.dataset import ImageMCQDataset

    class Word(BaseModel):
        BUILT = []
        def __init__(self, word='A', use_vllm=False, retry=0):
            self.BUILT.append((word, use_vllm, retry))
            self.word = word
        def generate_inner(self, message, dataset=None):
            return self.word + ('' if dataset == 'Mine' else '!')

    class Bare:
        def generate(self, image_path, prompt, dataset=None):
            return 'A'

    class MyChoices(ImageMCQDataset):
        def __init__(self, dataset='Mine', skip_noimg=True, style='plain'):
            super().__init__(dataset, skip_noimg)
            self.style = style
        def build_prompt(self, line):
            message = super().build_prompt(line)
            message[-1]['value'] += self.style
            return message

    supported_VLM['word-b'] = partial(Word, word='B')
"""


@pytest.fixture
def models(file):
    return file("models.py", MODELS)


def test_a_config_names_classes_and_their_arguments(
    mine, models, endpoint, file, tmp_path
):
    config = file(
        "run.json",
        json.dumps(
            {
                "model": {
                    "wordy": {"class": "Word", "word": "A"},
                    "word-b": {},
                    "remote": {
                        "class": "GPT4V",
                        "model": "gpt-x",
                        "api_base": f"{endpoint.url}/chat/completions",
                        "temperature": 0,
                        "retry": 3,
                    },
                },
                "data": {
                    "Mine": {},
                    "Shouted": {
                        "class": "MyChoices",
                        "dataset": "Mine",
                        "style": " Shout!",
                    },
                },
            }
        ),
    )

    results = list(evaluate(["--config", config, "--register", models]))

    assert [result.value("exact_matching") for result in results] == [
        1.0,
        1.0,
        0.0,
        0.0,
        1.0,
        1.0,
    ]
    made = {
        path.relative_to(tmp_path / "outputs").as_posix()
        for path in (tmp_path / "outputs").glob("*/*.xlsx")
    }
    assert {
        "wordy/wordy_Shouted.xlsx",
        "word-b/word-b_Mine.xlsx",
        "remote/remote_Mine.xlsx",
    } <= made
    asked = [text_of(body) for _, _, body in endpoint.seen]
    assert sorted("Shout!" in text for text in asked) == [False] * 3 + [True] * 3
    assert {body["temperature"] for _, _, body in endpoint.seen} == {0.0}


def test_a_run_of_a_config_is_scored_again(mine, models, file):
    from assay.runner.run import score

    config = {
        "model": {"w": {"class": "Word"}},
        "data": {"Mine": {"class": "MyChoices", "dataset": "Mine"}},
    }

    (result,) = evaluate(
        ["--config", file("run.json", json.dumps(config)), "--register", models]
    )

    assert (
        score(result.folder).value("exact_matching")
        == result.value("exact_matching")
        == 1.0
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"model": {"x": {"class": "Wrod"}}, "data": {"Mine": {}}},
            "unknown model class 'Wrod'.*Word",
        ),
        (
            {"model": {"word-b": {}}, "data": {"X": {"class": "MyChoice"}}},
            "unknown dataset class.*MyChoices",
        ),
        (
            {"model": {"word-b": {}}, "data": {"X": {"dataset": "Mine"}}},
            "data.X`: no `class`",
        ),
        ({"model": {"word-b": {}}}, "`data` must be an object of names"),
        (
            {"model": {"word-b": 3}, "data": {"Mine": {}}},
            "model.word-b`: expected an object, got 3",
        ),
        (
            {"model": {"r": {"class": "GPT4V", "key": "sk-x"}}, "data": {"Mine": {}}},
            "a key does not belong",
        ),
    ],
)
def test_a_config_that_cannot_be_is_refused_before_anything_runs(
    mine, models, file, config, message, tmp_path
):
    with pytest.raises(UsageError, match=message):
        list(
            evaluate(
                ["--config", file("run.json", json.dumps(config)), "--register", models]
            )
        )

    assert not (tmp_path / "outputs").exists()


def test_an_argument_that_a_dataset_class_does_not_take_is_named(mine, models, file):
    config = {
        "model": {"word-b": {}},
        "data": {"X": {"class": "MyChoices", "dataset": "Mine", "styel": "x"}},
    }

    with pytest.raises(
        UsageError,
        match=r"class MyChoices takes no 'styel'.*dataset, skip_noimg, style",
    ):
        list(
            evaluate(
                ["--config", file("run.json", json.dumps(config)), "--register", models]
            )
        )


def test_data_config_gives_a_name_of_data_its_class(mine, models, endpoint, tmp_path):
    custom = {"Custom": {"class": "MyChoices", "dataset": "Mine", "style": " Loud!"}}
    arguments = [
        "--data",
        "Custom",
        "--data-config",
        json.dumps(custom),
        "--register",
        models,
        "--model",
        "m",
    ]

    (result,) = evaluate([*arguments, "--base-url", endpoint.url])

    assert result.value("exact_matching") == 1.0
    assert all("Loud!" in text_of(body) for _, _, body in endpoint.seen)
    assert (tmp_path / "outputs" / "m" / "m_Custom.xlsx").exists()


def test_data_config_with_a_name_that_data_has_not_is_refused(mine, models):
    with pytest.raises(UnknownName, match="its names are those of --data"):
        list(
            evaluate(
                [
                    "--data",
                    "Mine",
                    "--data-config",
                    '{"Othr": {"class": "MyChoices"}}',
                    "--model",
                    "x",
                ]
            )
        )


def test_use_vllm_and_retry_go_to_a_class_that_takes_them(mine, models):
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    arguments = [
        "--data",
        "Mine",
        "--register",
        models,
        "--model",
        "Word",
        "--use-vllm",
        "--retry",
        "4",
    ]
    (result,) = evaluate(arguments)

    assert result.status == "complete"
    assert TOOLKIT.load(models).module.Word.BUILT[-1] == ("A", True, 4)


@pytest.mark.parametrize("model", ["Bare", "openai/x"])
def test_use_vllm_is_refused_for_a_model_that_does_not_take_it(
    mine, models, endpoint, model
):
    with pytest.raises(
        UsageError,
        match=r"--use-vllm: .* is not built with use_vllm; fix: start the server",
    ):
        list(
            evaluate(
                ["--data", "Mine", "--register", models, "--model", model, "--use-vllm"]
            )
        )


@pytest.mark.parametrize(
    "flag", [["--base-url", "http://x/v1"], ["--extra-body", "{}"], ["--timeout", "3"]]
)
def test_flags_of_an_endpoint_are_refused_for_a_class(mine, models, flag):
    with pytest.raises(
        UsageError, match=f"{flag[0]} is for a model behind an endpoint"
    ):
        list(evaluate(["--data", "Mine", "--model", f"{models}:Bare", *flag]))


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--thinker"], "it doubled --max-tokens"),
        (["--custom-prompt", "x"], "write use_custom_prompt"),
        (["--video-llm"], "videos reach an endpoint as images"),
        (["--local-media"], "images are sent"),
        (["--reuse-aux", "none"], "--fresh starts again"),
        (["--judge-args", '{"key": "sk-x"}'], "--judge-key VARIABLE"),
        (["--judge-args", "[1]"], "expected a JSON object"),
        (["--config", "x.json"], "leave out --data"),
        (["--jugde", "x"], "did you mean --judge"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(mine, early_model, flags, why):
    with pytest.raises(UsageError, match=why) as refused:
        list(evaluate(["--data", "Mine", "--model", early_model({}), *flags]))

    assert "\n" not in str(refused.value)


def test_torchrun_is_refused(mine, early_model, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")

    with pytest.raises(UsageError, match="started by torchrun"):
        list(evaluate(["--data", "Mine", "--model", early_model({})]))


def test_flags_without_effect_are_reported(mine, early_model, capsys):
    model = early_model(dict.fromkeys(range(3), "A"))

    code = command(
        [
            "--data",
            "Mine",
            "--model",
            model,
            "--ignore",
            "--verbose",
            "--api-mode",
            "--json",
        ]
    )

    said = capsys.readouterr()
    assert code == 0
    assert (
        "note: --ignore, --verbose, --api-mode: assay decides this itself" in said.err
    )
    assert len(json.loads(said.out)["runs"]) == 1


def test_retry_is_reported_as_without_effect_for_an_endpoint(mine, endpoint, capsys):
    code = command(
        ["--data", "Mine", "--model", "m", "--base-url", endpoint.url, "--retry", "2"]
    )

    assert code == 0
    assert "note: --retry: assay decides this itself" in capsys.readouterr().err


def test_the_same_command_again_asks_nothing_twice_and_fresh_asks_all(mine, endpoint):
    arguments = ["--data", "Mine", "--model", "m", "--base-url", endpoint.url]

    counts = []
    for more in ([], ["--reuse"], ["--fresh"]):
        list(evaluate([*arguments, *more]))
        counts.append(len(endpoint.seen))

    assert counts[:2] == [3, 3]
    assert counts[2] == 6


def test_keep_failed_does_not_ask_again_for_what_failed(mine, file, tmp_path):
    source = """
        class Moody:
            def generate(self, image_path, prompt, dataset=None):
                with open('calls.txt', 'a') as log:
                    log.write('x')
                if 'Which 1' in prompt:
                    raise ValueError('not today')
                return 'A'
    """
    arguments = ["--data", "Mine", "--model", file("moody.py", source) + ":Moody"]
    asked = []
    for more in ([], ["--keep-failed"], []):
        list(evaluate([*arguments, *more]))
        asked.append(len((tmp_path / "calls.txt").read_text()))

    assert asked[1] == asked[0]
    assert asked[2] > asked[1]


def test_modes_infer_then_eval_with_another_judge(mine, early_model, file):
    model = early_model({0: "hm", 1: "A", 2: "B"})
    judge = file("judge.py", "def judge(text):\n    return 'A'\n") + ":judge"
    arguments = ["--data", "Mine", "--model", model]

    (inferred,) = evaluate([*arguments, "--mode", "infer"])
    (judged,) = evaluate([*arguments, "--mode", "eval", "--judge", judge])

    assert [r.metric for r in inferred] == ["answered"]
    assert judged.value("judge") == pytest.approx(2 / 3)
    assert judged.folder == inferred.folder
    assert any("#judge" in task for task, _ in RunReader(judged.folder).index.cells)


@pytest.mark.parametrize(
    ("place", "suffix"),
    [("", "xlsx"), ("T20250101_G1a2b3c4d", "tsv"), ("T20250101", "json")],
)
@pytest.mark.parametrize("more", [["--mode", "eval"], ["--reuse"]])
def test_predictions_that_upstream_wrote_are_evaluated_without_asking_a_model(
    mine, tmp_path, place, suffix, more
):
    import pandas

    rows = pandas.read_csv(mine, sep="\t").drop(columns=["image"])
    rows["prediction"] = ["A", "Failed to obtain answer via API.", rows["answer"][2]]
    folder = tmp_path / "outputs" / "Elsewhere" / place
    folder.mkdir(parents=True)
    target = folder / f"Elsewhere_Mine.{suffix}"
    writers = {
        "xlsx": rows.to_excel,
        "tsv": lambda path, index: rows.to_csv(path, sep="\t", index=index),
    }
    writers.get(suffix, lambda path, index: rows.to_json(path, orient="records"))(
        target, index=False
    )

    (result,) = evaluate(["--data", "Mine", "--model", "nobody.py:Elsewhere", *more])

    assert result.results[0].outcomes == {"scored": 2, "model_error": 1}
    assert [
        path.name
        for path in (tmp_path / "outputs/Elsewhere").glob("T*/Elsewhere_Mine.xlsx")
    ]


def test_datasets_of_documents_receive_the_models_name(table, picture, file, tmp_path):
    table("SLIDEVQA", "index image question answer", [[0, picture(0), "a", "x"]])
    table("Slides", "index image question answer", [[0, picture(0), "a", "x"]])
    source = """
        from vlmeval.dataset import ImageBaseDataset

        class Slides(ImageBaseDataset):
            DATASET_URL = {'SLIDEVQA': '', 'Slides': ''}
            def __init__(self, dataset, **kwargs):
                self.told = dict(kwargs)
                super().__init__(dataset)
            def build_prompt(self, line):
                return [dict(type='text', value=str(self.told))]
            def evaluate(self, eval_file, **judge_kwargs):
                from vlmeval.smp import load
                return {'told': float("'model': 'echo'" in load(eval_file)['prediction'][0])}
    """
    data, model = (
        file("d.py", source),
        file("m.py", "def echo(text):\n    return text\n") + ":echo",
    )

    found = [
        next(evaluate(["--data", f"{data}:Slides@{name}", "--model", model])).value(
            "evaluate.told"
        )
        for name in ("SLIDEVQA", "Slides")
    ]

    assert found == [1.0, 0.0]


def test_a_table_without_predictions_is_refused(mine, tmp_path):
    folder = tmp_path / "outputs" / "Elsewhere"
    folder.mkdir(parents=True)
    (folder / "Elsewhere_Mine.tsv").write_text("index\tanswer\n0\tA\n")

    with pytest.raises(
        UsageError, match=r"it needs `index` and `prediction`, and has index, answer"
    ):
        list(
            evaluate(
                ["--data", "Mine", "--model", "nobody.py:Elsewhere", "--mode", "eval"]
            )
        )


def test_eval_without_predictions_says_what_to_run_first(mine, early_model):
    with pytest.raises(
        UsageError, match=r"no predictions of Reader on Mine.*run --mode infer first"
    ):
        list(evaluate(["--data", "Mine", "--model", early_model({}), "--mode", "eval"]))


def test_a_pair_that_cannot_be_run_does_not_stop_the_others(mine, early_model, capsys):
    code = command(
        [
            "--data",
            "Missing",
            "Mine",
            "--model",
            early_model(dict.fromkeys(range(3), "A")),
        ]
    )

    said = capsys.readouterr()
    assert code == 2
    assert "unknown dataset 'Missing'" in said.err
    assert "exact_matching" in said.out


def test_mmeval_root_and_eval_format_are_obeyed(
    mine, early_model, monkeypatch, tmp_path
):
    monkeypatch.setenv("MMEVAL_ROOT", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("EVAL_FORMAT", "json")

    list(
        evaluate(
            ["--data", "Mine", "--model", early_model(dict.fromkeys(range(3), "A"))]
        )
    )

    accuracy = json.loads(
        (tmp_path / "elsewhere" / "Reader" / "Reader_Mine_acc.json").read_text()
    )
    assert accuracy == [{"split": "dev", "Overall": 1.0}]


def test_an_unknown_model_is_an_error_with_a_fix(mine):
    with pytest.raises(UnknownName, match=r"unknown model 'nobody'.*--register FILE"):
        list(evaluate(["--data", "Mine", "--model", "nobody"]))


def test_use_vllm_runs_weights_of_hf_in_vllm(mine, tmp_path):
    from assay.dialects.vlmeval.flags import parse
    from assay.dialects.vlmeval.vlmeval_pairs import pairs_of
    from assay.registry import models as registry

    if "vllm" not in registry:
        pytest.skip("no model `vllm` is registered")

    (pair,) = pairs_of(
        parse(["--data", "Mine", "--model", "hf/org/name", "--use-vllm"]), tmp_path
    )

    assert (pair.model, dict(pair.model_args)) == ("vllm/org/name", {})


def test_local_llm_replaces_any_requested_judge(
    mine, early_model, endpoint, monkeypatch
):
    monkeypatch.setenv("LOCAL_LLM", "my-local-judge")
    judge = ["--judge", "gpt-4o", "--judge-base-url", endpoint.url]

    list(
        evaluate(
            [
                "--data",
                "Mine",
                "--model",
                early_model(dict.fromkeys(range(3), "hm")),
                *judge,
            ]
        )
    )

    assert {body["model"] for _, _, body in endpoint.seen} == {"my-local-judge"}


def test_files_beside_the_predictions_are_named_as_newer_code_names_them(
    file, monkeypatch
):
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    smp = TOOLKIT.load(file("x.py", "from vlmeval.smp import *")).module

    made = [
        smp.get_intermediate_file_path("out/m_D.xlsx", end)
        for end in ("_acc", "_tmp", "_rating", "_gpt")
    ]

    assert made == [
        "out/m_D_acc.csv",
        "out/m_D_tmp.pkl",
        "out/m_D_rating.json",
        "out/m_D_gpt.xlsx",
    ]
    assert smp.get_pred_file_path("out", "m", "D") == "out/m_D.xlsx"
    monkeypatch.setenv("EVAL_FORMAT", "yaml")
    with pytest.raises(
        UsageError, match=r"EVAL_FORMAT is 'yaml'; fix: one of csv, json"
    ):
        smp.get_eval_file_format()


def test_all_datasets_of_a_command_share_one_folder_under_their_own_names(
    table, picture, early_model, tmp_path
):
    for name in ("猫狗", "山水"):
        table(name, HEADER, [[0, picture(0), "Which?", "cat", "dog", "A"]])

    results = list(
        evaluate(
            [
                "--data",
                "猫狗",
                "山水",
                "--model",
                early_model({0: "A"}),
                "--work-dir",
                "out",
            ]
        )
    )

    [folder] = (tmp_path / "out" / "Reader").glob("T*")
    assert len(results) == 2
    assert {"Reader_猫狗.xlsx", "Reader_山水.xlsx", "run_猫狗", "run_山水"} <= {
        path.name for path in folder.iterdir()
    }


def test_what_an_evaluate_dumped_is_linked_one_level_up_too(
    table, file, shout, tmp_path
):
    table("Mine", "index question answer", [[0, "a", "x"]])
    source = """
        from vlmeval.smp import *
        from vlmeval.dataset import ImageBaseDataset

        class Mine(ImageBaseDataset):
            TYPE = 'VQA'
            DATASET_URL = {'Mine': ''}

            def build_prompt(self, line):
                return [dict(type='text', value=line['question'])]

            def evaluate(self, eval_file, **judge_kwargs):
                dump({'right': 1}, eval_file.replace('.xlsx', '_mine.json'))
                return {'right': 1}
    """

    list(
        evaluate(
            [
                "--data",
                "Mine",
                "--register",
                file("d.py", source),
                "--model",
                shout,
                "--work-dir",
                "out",
            ]
        )
    )

    link = tmp_path / "out" / "answer" / "answer_Mine_mine.json"
    assert link.is_symlink() and json.loads(link.read_text()) == {"right": 1}


@pytest.mark.parametrize("prediction_format", ["xlsx", "tsv"])
def test_a_missing_excel_library_is_reported_before_a_model_is_called(
    mine, endpoint, monkeypatch, prediction_format
):
    monkeypatch.setenv("PRED_FORMAT", prediction_format)
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    with pytest.raises(MissingExtra, match=r"openpyxl.* pip install 'assay\[guests\]'"):
        list(evaluate(["--data", "Mine", "--model", "m", "--base-url", endpoint.url]))

    assert endpoint.seen == []


@pytest.mark.parametrize(
    ("data", "models"),
    [(["q", "other/q.tsv"], ["a.py:M"]), (["q"], ["a.py:M", "b.py:M"])],
)
def test_models_or_datasets_that_would_share_their_files_are_refused(
    table, picture, file, tmp_path, data, models
):
    path = table("q", "index image question answer", [[0, picture(0), "Q", "x"]])
    (tmp_path / "other").mkdir()
    (tmp_path / "other/q.tsv").write_bytes(path.read_bytes())
    source = """
        class M:
            def generate(self, image_path, prompt, dataset=None):
                return 'x'
        """
    for name in ("a.py", "b.py"):
        file(name, source)

    with pytest.raises(UsageError, match=r"two (models|datasets) have the name"):
        list(evaluate(["--data", *data, "--model", *models, "--work-dir", "w"]))
