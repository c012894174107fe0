"""What users of lm-eval, inspect_ai and evalscope type: each row works, or is answered with assay's word for it."""

import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest
from each_row import each
from http_thread import in_a_thread

from assay.cli.habits import HABITS, RENAMED, SHORT, translate
from assay.cli.main import ANSWERS
from assay.cli.run import parser

RUN = ("run", "sums.jsonl", "--model", "scripted", "-a", "answers=4", "-o", "out")

WORKS = [
    (
        (
            "--tasks",
            "sums.jsonl",
            "--model",
            "scripted",
            "--limit",
            "2",
            "--output_path",
            "out",
        ),
        "2 / 2",
    ),
    (("run", "sums.jsonl", "--model", "mockllm/model", "-o", "out"), "scripted"),
    (("run", "sums.jsonl", "--model", "dummy", "-o", "out"), "scripted"),
    (
        (
            "run",
            "--datasets",
            "sums.jsonl",
            "--model",
            "scripted",
            "--work-dir",
            "o",
            "--eval-batch-size",
            "2",
        ),
        "3 / 3",
    ),
    ((*RUN, "--predict_only"), "answered"),
    ((*RUN, "-x"), "answered"),
    ((*RUN, "--no-score"), "answered"),
    ((*RUN, "--epochs-reducer", "mean", "--epochs", "2"), "3 / 3"),
    (("eval", "bench.py@second", "--model", "scripted", "-o", "out"), "second"),
    (
        (
            "run",
            "--include_path",
            "mine",
            "--tasks",
            "third",
            "--model",
            "scripted",
            "-o",
            "out",
        ),
        "third",
    ),
    (("run", "--tasks", "list"), "gsm8k"),
    (("ls", "tasks"), "gsm8k"),
    (("validate", "sums.jsonl"), "no fault found"),
    (
        (
            "run",
            "bbh_boolean_expressions",
            "--data",
            "mini",
            "--model",
            "scripted",
            "-o",
            "o",
        ),
        "bbh_boolean_expressions",
    ),
    (
        (
            "run",
            "bbh_cot_fewshot_boolean_expressions",
            "--data",
            "mini",
            "--model",
            "scripted",
            "-o",
            "o",
        ),
        "bbh_",
    ),
    (
        ("run", "mmlu_anatomy", "--data", "mini", "--model", "scripted", "-o", "out"),
        "mmlu_anatomy",
    ),
    (
        ("run", "mmlu_pro_math", "--data", "mini", "--model", "scripted", "--dry_run"),
        "mmlu_pro_math@direct-0shot",
    ),
    (("show", "mmlu_anatomy", "--data", "mini"), "mmlu_anatomy"),
]

EFFECTS = [
    ((*RUN, "--batch_size", "auto"), {"batch_size": "auto"}),
    ((*RUN, "--batch_size", "auto:4"), {"batch_size": "auto"}),
    ((*RUN, "--eval-batch-size", "2"), {"batch_size": 2}),
    ((*RUN, "--apply_chat_template"), {"apply_chat_template": True}),
    ((*RUN, "--apply_chat_template", "false"), {"apply_chat_template": False}),
    (
        (*RUN, "--apply_chat_template", "--fewshot_as_multiturn", "--num_fewshot", "1"),
        {"apply_chat_template": True, "fewshot_as_multiturn": True, "num_fewshot": 1},
    ),
    ((*RUN, "--use_cache", "kept"), {"cache": "kept"}),
    (
        (*RUN, "--gen_kwargs", 'do_sample=False,max_gen_toks=16,until=["a"],temperature=0.3'),
        {"generation": {"max_tokens": 16, "stop": ["a"], "temperature": 0.0}},
    ),
    (
        (*RUN, "--generation-config", "do_sample=true,max_new_tokens=16"),
        {"generation": {"max_tokens": 16, "temperature": 1.0}},
    ),
    ((*RUN, "-G", "max_gen_toks=9"), {"generation": {"max_tokens": 9}}),
    ((*RUN, "-G", "stop=null,max_gen_toks=9"), {"generation": {"max_tokens": 9, "stop": []}}),
    ((*RUN, "--max_gen_toks", "5"), {"generation": {"max_tokens": 5}}),
    ((*RUN, "--max_new_tokens", "6"), {"generation": {"max_tokens": 6}}),
    ((*RUN, "--stop-seqs", "x"), {"generation": {"stop": ["x"]}}),
    ((*RUN, "--stop", r"。\n", "--stop", r"\boxed"), {"generation": {"stop": ["。\n", r"\boxed"]}}),
    ((*RUN, "--seed", "7,7,7,7"), {"seed": 7}),
    ((*RUN, "--fail-on-error", "0.1"), {"on_error": "0.1"}),
    ((*RUN, "--fail-on-error"), {"on_error": "stop"}),
    ((*RUN, "--no-fail-on-error"), {"on_error": "continue"}),
    ((*RUN, "--continue-on-fail"), {"on_error": "continue"}),
    ((*RUN, "--ignore-errors"), {"on_error": "continue"}),
    ((*RUN, "--sample-shuffle", "5"), {"shuffle": True, "seed": 5}),
    ((*RUN, "--sample-shuffle"), {"shuffle": True}),
    ((*RUN, "--epochs-reducer", "max", "--epochs", "2"), {"reducer": "max", "epochs": 2}),
    ((*RUN, "--num_samples", "2"), {"limit": "2"}),
    ((*RUN, "--n_shot", "1"), {"num_fewshot": 1}),
    ((*RUN, "--num_shots", "1"), {"num_fewshot": 1}),
    ((*RUN, "--fewshot", "1"), {"num_fewshot": 1}),
    ((*RUN, "--dataset-dir", "sums.jsonl"), {"data": "sums.jsonl"}),
    (
        ("eval", "--tasks", "sums.jsonl", "--model", "scripted", "--log_dir", "out"),
        {"output": "out"},
    ),
    (
        ("eval-set", "sums.jsonl", "--model", "scripted", "--log-dir", "out"),
        {"output": "out"},
    ),
    (
        ("run", "sums.jsonl", "--model", "scripted", "-M", "answers=4", "-o", "out"),
        {"model_args": {"answers": 4}},
    ),
]  # fmt: skip
"""What is typed, and the settings it becomes."""
BECOMES = [
    (("--model_base_url", "http://h/v1"), ["--base_url", "http://h/v1"]),
    (("--api_url", "http://h/v1"), ["--base_url", "http://h/v1"]),
    (("--api_base", "http://h/v1"), ["--base_url", "http://h/v1"]),
    (("--model_role", "judge=x"), ["--judge", "judge=x"]),
    (("--judge_model", "x"), ["--judge", "x"]),
    (("--judge_model_args", "a=b"), ["--judge_args", "a=b"]),
    (("--model_config", "c.yaml"), ["--config", "c.yaml"]),
    (("--run_config", "c.yaml"), ["--config", "c.yaml"]),
    (("--num-choices", "2"), ["--n", "2"]),
    (("--top_logprobs", "3"), ["--logprobs", "3"]),
    (("--chat_template", "t"), ["-a", "chat_template=t"]),
    (("--peft", "p"), ["-a", "adapter=p"]),
    (("--revision", "r"), ["-a", "revision=r"]),
    (("--dtype", "d"), ["-a", "dtype=d"]),
    (("--timeout", "9"), ["-a", "total_timeout=9"]),
]
"""Flags that need a model or a file which is not here, and the arguments they become."""
NOTED = [
    ((*RUN, "--device", "cuda"), "scripted has no device to choose"),
    ((*RUN, "--verbosity", "INFO"), "--verbosity: not used"),
    ((*RUN, "--log-level", "info"), "--log_level: not used"),
    ((*RUN, "--display", "none"), "--display: a bar on a terminal"),
    ((*RUN, "--max-retries", "3"), "--max_retries: failures that may pass"),
]
"""Flags that change nothing, and what is said of them."""
ANSWERED = [
    ((*RUN, "--wandb_args", "project=x"), "assay export RUN"),
    ((*RUN, "--hf_hub_log_args", "hub_results_org=x"), "assay export RUN"),
    ((*RUN, "--api_key", "sk-abcdefghijklmnopqrstuvwx"), "OPENAI_API_KEY"),
    ((*RUN, "-T", "subject=anatomy"), "has no arguments; fix: --limit, --num_fewshot"),
    ((*RUN, "--solver", "generate"), "--template"),
    ((*RUN, "-S", "a=b"), "--template"),
    ((*RUN, "--sandbox", "docker"), "chooses the sandbox"),
    ((*RUN, "--dataset-args", "{}"), "--limit"),
    ((*RUN, "--seed", "0,1234,1234,1234"), "--seed 1234"),
    ((*RUN, "--batch_size", "many"), "a whole number, or auto"),
    ((*RUN, "--gen_kwargs", "num_beams=4"), "leave num_beams out"),
    ((*RUN, "--gen_kwargs", "do_sample=maybe"), "do_sample"),
    ((*RUN, "--include_path", "nowhere"), "--include_path nowhere is not a folder"),
    ((*RUN, "--rerun-review"), "assay score RUN"),
    (("run", "sums.jsonl", "--model", "groq/llama-3"), "litellm/groq/llama-3"),
    (("run", "sums.jsonl", "--model", "ollama/llama3"), "openai/llama3 --base_url http://localhost:11434/v1"),
    (("run", "sums.jsonl", "--model", "openay/gpt-x"), "did you mean openai/gpt-x?"),
    (("run", "sums.jsonl", "--model", "gpt-4o"), "openai/gpt-4o --base_url URL"),
    (("run", "sums.jsonl", "--model", "hf"), "--model hf/PATH_OR_HUB_ID"),
    (("run", "sums.jsonl", "--model", "local-chat-completions"), "openai/NAME --base_url URL"),
    (("run", "sums.jsonl", "--model", "mine"), "no config.json"),
    (("run", "sums.jsonl", "--model", "adapter"), "--model hf/org/base -a adapter=adapter"),
    (("run", "mmlu_anatmy", "--data", "mini", "--model", "scripted"), "did you mean mmlu_anatomy?"),
    (("log", "list"), "assay show RUN"),
    (("perf",), "assay run"),
]  # fmt: skip


def as_typed(value):
    return " ".join(value) if isinstance(value, tuple) else ""


@pytest.fixture
def typist(assay, folder, monkeypatch):
    """The command line in a folder with a task file of two tasks, a folder of tasks and an adapter."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    rows = "[{'question': '2+2?', 'answer': '4'}]"
    (folder / "bench.py").write_text(
        f"from assay import Task\nfirst = Task('first', {rows})\nsecond = Task('second', {rows})\n"
    )
    (folder / "mine" / "deep").mkdir(parents=True)
    (folder / "mine" / "deep" / "third.yaml").write_text("dataset: ../../sums.jsonl\n")
    (folder / "adapter").mkdir()
    (folder / "adapter" / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": "org/base"})
    )
    return assay


@pytest.mark.parametrize(("typed", "shown"), WORKS, ids=as_typed)
def test_what_users_of_other_tools_type_works(typist, typed, shown):
    said = typist(*typed)

    assert said.code == 0, said.err
    assert shown in said.out + said.err


@pytest.mark.parametrize(("typed", "settings"), EFFECTS, ids=as_typed)
def test_a_flag_of_another_tool_has_its_effect(typist, folder, typed, settings):
    said = typist(*typed)

    assert said.code == 0, said.err
    config = json.loads((folder / "out" / "run.json").read_text())["config"]
    given = {"model_args": {"answers": 4}, "output": "out"} | settings
    unchanged = ("tasks", "models", *({"model_args"} - config.keys()))
    expected = {name: value for name, value in given.items() if name not in unchanged}
    found = {name: value for name, value in config.items() if name not in unchanged}
    if isinstance(found.get("data"), str):
        found["data"] = Path(found["data"]).name
    assert found == expected


@pytest.mark.parametrize(("typed", "arguments"), BECOMES, ids=as_typed)
def test_a_renamed_flag_becomes_an_argument_of_assay(typed, arguments):
    translated = translate(typed, list(parser()._option_string_actions))

    words = " ".join(translated.arguments)
    if words.startswith("--"):
        words = words.replace("=", " ", 1)
    assert words == " ".join(arguments)
    assert not translated.notes and not translated.faults


def test_every_renamed_flag_has_a_row():
    typed = {word for words, _ in (*EFFECTS, *BECOMES) for word in words}
    names = {word.lstrip("-").replace("-", "_") for word in typed if word[0] == "-"}

    assert RENAMED.keys() <= names


@pytest.mark.parametrize(("typed", "note"), NOTED, ids=as_typed)
def test_a_flag_without_effect_is_reported(typist, folder, typed, note):
    said = typist(*typed)

    assert said.code == 0, said.err
    assert note in said.err
    config = json.loads((folder / "out" / "run.json").read_text())["config"]
    assert config.keys() <= {"tasks", "models", "model_args", "output"}


@pytest.mark.parametrize("flag", ["--sample-shuffle", "--fail-on-error"])
def test_a_word_after_a_flag_with_an_optional_number_is_a_task(typist, folder, flag):
    said = typist("run", flag, "sums.jsonl", "--model", "scripted", "-o", "out")

    assert said.code == 0, said.err
    assert "3 / 3" in said.out


@pytest.mark.parametrize(("typed", "word"), ANSWERED, ids=as_typed)
def test_what_assay_does_not_have_is_answered_with_its_own_word(
    typist, folder, typed, word
):
    said = typist(*typed)

    assert said.code == 2
    assert "; fix: " in said.err
    assert word in said.err
    assert not (folder / "out").exists()


def test_a_key_on_the_command_line_is_neither_shown_nor_kept(typist, folder):
    said = typist(*RUN, "--api_key=sk-abcdefghijklmnopqrstuvwx")

    assert "sk-abc" not in said.err + said.out
    assert not list(folder.rglob("run.json"))


def test_no_option_of_assay_is_shadowed_by_a_habit_of_another_tool():
    own = {
        name.lstrip("-").replace("-", "_") for name in parser()._option_string_actions
    }

    assert not own & HABITS.keys()
    assert not set(parser()._option_string_actions) & SHORT.keys()


def test_every_flag_that_is_renamed_becomes_an_option_of_assay():
    known = parser()._option_string_actions

    assert {target.split("=")[0].split(" ")[0] for target in RENAMED.values()} <= set(
        known
    )


@each("name", sorted(HABITS))
def test_a_habit_either_becomes_something_or_says_something(name):
    habit = HABITS[name]

    assert bool(habit.becomes) + bool(habit.note) + bool(habit.answer) == 1


def test_a_misspelt_flag_of_another_tool_is_answered_with_its_name(assay):
    said = assay("run", "sums.jsonl", "--log_sampels", "x")

    assert said.code == 2
    assert "did you mean --log_samples?" in said.err


@pytest.mark.parametrize("flag", ["--wandb", "--nonsense", "-Q"])
def test_an_unknown_flag_is_not_answered_with_an_unrelated_one(assay, flag):
    said = assay("run", "sums.jsonl", flag, "x")

    assert said.code == 2
    assert "did you mean" not in said.err


def test_what_follows_two_dashes_is_left_alone():
    assert translate(["--", "--log_samples"], []).arguments == ["--", "--log_samples"]


@pytest.mark.parametrize("verb", sorted(ANSWERS))
def test_a_verb_of_another_tool_is_answered_in_one_line(assay, verb):
    said = assay(verb)

    assert said.code == 2
    assert said.err.count("\n") == 1 and "assay" in said.err


def test_a_run_is_taken_up_again_by_eval_retry(typist, folder):
    typist(*RUN, "--limit", "2")
    said = typist("eval-retry", "out")

    assert said.code == 0
    assert "2 / 2" in said.out
    assert [path.parent.name for path in folder.rglob("run.json")] == ["out"]


def test_greedy_decoding_is_temperature_zero_whatever_the_other_options_are(
    typist, folder
):
    typist(
        *RUN,
        "--gen_kwargs",
        'do_sample=False,max_gen_toks=16,until=["a", "\\n"],temperature=0.3',
    )

    config = json.loads((folder / "out" / "run.json").read_text())["config"]
    assert config["generation"] == {
        "temperature": 0.0,
        "max_tokens": 16,
        "stop": ["a", "\n"],
    }


def test_a_model_has_one_name_however_it_was_typed(typist, folder):
    typist("run", "sums.jsonl", "--model", "mockllm/model", "-o", "out")

    manifest = json.loads((folder / "out" / "run.json").read_text())
    assert manifest["config"]["models"] == ["scripted"]


def test_answers_that_were_only_predicted_are_scored_later(typist):
    asked = typist(*RUN, "--predict_only")
    scored = typist("score", "out")

    assert "answered" in asked.out and "exact_match" not in asked.out
    assert "exact_match" in scored.out and "0.333" in scored.out


def test_the_same_command_without_predict_only_asks_nothing_again(typist, folder):
    typist("run", "sums.jsonl", "--model", "four.py:generate", "--predict_only")
    said = typist("run", "sums.jsonl", "--model", "four.py:generate", "--json")

    assert len(list(folder.rglob("run.json"))) == 1
    assert [spent["asked"] for spent in said.json["usage"].values()] == [0]


def test_chat_templates_are_applied_or_not_as_said(typist, folder):
    (folder / "text.yaml").write_text(
        "dataset: sums.jsonl\ntemplate: {name: without_chat}\n"
    )

    as_chat = typist(
        "run", "text.yaml", "--model", "scripted", "--dry_run", "--apply_chat_template"
    )
    as_text = typist(
        "run",
        "sums.jsonl",
        "--model",
        "scripted",
        "--dry_run",
        "--apply_chat_template",
        "false",
    )

    assert "user:" in as_chat.out
    assert "text:\n      2+2?\n" in as_text.out


def test_shots_are_turns_or_one_text_as_said(typist):
    shots = (
        "run",
        "sums.jsonl",
        "--model",
        "scripted",
        "--dry_run",
        "--num_fewshot",
        "1",
        "--fewshot_as_multiturn",
    )

    assert "assistant:" in typist(*shots).out
    assert "assistant:" not in typist(*shots, "false").out


class Endpoint(BaseHTTPRequestHandler):
    """Answers every chat with 4, and every completion with 4, too."""

    asked: ClassVar[list] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body["model"]))
        choice = {
            "message": {"role": "assistant", "content": "4"},
            "text": "4",
            "finish_reason": "stop",
        }
        reply = json.dumps({"id": str(len(self.asked)), "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args):
        pass


@pytest.fixture
def endpoint():
    Endpoint.asked.clear()
    with in_a_thread(Endpoint) as server:
        yield f"http://127.0.0.1:{server.server_port}/v1"


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        (
            "--model local-chat-completions --model_args model=m,base_url={url}/chat/completions,timeout=9",
            "/chat",
        ),
        (
            "--model local-completions --model_args model=m,base_url={url}/completions,tokenizer_backend=None",
            "",
        ),
        ("--model m --api-url {url} --eval-type openai_api", "/chat"),
        ("--model m --model-base-url {url}/ --max-connections 2", "/chat"),
        ("--model openai/m --base_url {url} --batch_size auto", "/chat"),
    ],
)
def test_an_endpoint_is_asked_as_users_of_other_tools_name_it(
    typist, endpoint, typed, path
):
    said = typist("run", "sums.jsonl", *typed.format(url=endpoint).split(), "-o", "out")

    assert said.code == 0, said.err
    assert "openai/m" in said.out and "0.333" in said.out
    assert Endpoint.asked == [(f"/v1{path}/completions", "m")] * 3


def test_export_answers_what_it_does_not_write(typist):
    typist(*RUN)

    assert typist("export", "out", "--to", "lm-eval").code == 0
    assert "records.jsonl" in typist("export", "out", "--to", "jsonl").err
    assert "assay report RUN" in typist("export", "out", "--to", "html").err


def test_help_and_habits_load_neither_numpy_nor_the_runner():
    code = (
        "import sys; from assay.cli.run import parser; from assay.cli.habits import translate;"
        " translate(['--log_samples'], list(parser()._option_string_actions));"
        " sys.exit(any(name in sys.modules for name in ('numpy', 'torch', 'assay.runner.run')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
