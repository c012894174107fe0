"""`assay run --dry_run`: nothing is written, no model is loaded, everything is counted."""

import json

import pytest

FOUR = ("--model", "four.py:generate")


def test_the_first_prompt_and_the_counts_are_shown(assay, folder):
    said = assay("run", "sums.jsonl", *FOUR, "--dry_run", "--epochs", "2")

    assert said.code == 0
    assert "2+2?" in said.out and "samples 3, epochs 2, requests 6" in said.out
    assert "characters / 4" in said.out and "cost: unknown" in said.out
    assert not (folder / "runs").exists() and "loading" not in said.out


def test_a_class_is_not_built(assay, folder):
    (folder / "big.py").write_text(
        "class Big:\n    def __init__(self):\n        raise RuntimeError('loaded')\n"
        "    def generate(self, messages):\n        return 'x'\n"
    )

    assert assay("run", "sums.jsonl", "--model", "big.py:Big", "--dry_run").code == 0


def test_json_is_one_document(assay):
    said = assay(
        "run", "sums.jsonl", *FOUR, "--dry_run", "--json", "--max_tokens", "10"
    )

    cell = said.json["cells"][0]
    assert cell["first_prompt"]["messages"] == [{"role": "user", "content": "2+2?"}]
    assert cell["tokens"] == {
        "input": 3,
        "output_at_most": 30,
        "counted_by": "characters / 4",
    }
    assert cell["cost_at_most"] is None


def test_prices_give_a_cost(assay):
    prices = "price_input=1000000,price_output=2000000"

    said = assay(
        "run",
        "sums.jsonl",
        *FOUR,
        "--dry_run",
        "--json",
        "--max_tokens",
        "10",
        "-a",
        prices,
    )

    assert said.json["cells"][0]["cost_at_most"] == pytest.approx(3 * 1 + 30 * 2)


def test_without_a_limit_on_answers_the_cost_is_unknown(assay):
    said = assay(
        "run",
        "sums.jsonl",
        *FOUR,
        "--dry_run",
        "--json",
        "-a",
        "price_input=1,price_output=2",
    )

    assert said.json["cells"][0]["cost_at_most"] is None


def test_rounds_of_a_dialogue_are_requests(assay, folder):
    row = {"turns": ["hello", "and then?", "bye"], "answer": "x"}
    (folder / "talk.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")

    said = assay("run", "talk.jsonl", *FOUR, "--dry_run", "--json")

    assert said.json["cells"][0]["samples"] == 2 and said.json["requests"] == 6


def test_data_of_unknown_length_is_counted_by_reading(assay, folder):
    (folder / "bench.py").write_text(
        "def dataset():\n    for i in range(450):\n        yield {'question': f'{i}?', 'answer': str(i)}\n"
    )

    assert (
        assay("run", "bench.py", *FOUR, "--dry_run", "--json").json["requests"] == 450
    )
    assert (
        assay("run", "bench.py", *FOUR, "--dry_run", "--json", "--limit", "300").json[
            "requests"
        ]
        == 300
    )
    assert (
        assay("run", "bench.py", *FOUR, "--dry_run", "--json", "--shard", "1/3").json[
            "requests"
        ]
        == 150
    )


def test_continuations_that_are_weighed_are_shown(assay, folder):
    (folder / "quiz.jsonl").write_text(
        '{"question": "sky?", "options": ["blue", "red"], "answer": "A"}\n'
    )
    (folder / "weigher.py").write_text(
        "class Weigher:\n    def generate(self, messages):\n        return 'x'\n"
        "    def likelihood(self, requests):\n        return [[-1.0, -2.0] for _ in requests]\n"
    )

    said = assay(
        "run",
        "quiz.jsonl",
        "--model",
        "weigher.py:Weigher",
        "--template",
        "choice_likelihood",
        "--dry_run",
    )

    assert said.code == 0 and "continuation 1: ' A'" in said.out


def test_a_template_that_shows_no_options_is_refused_as_in_a_run(assay, folder):
    (folder / "pick.jsonl").write_text(
        '{"question": "Sky?", "choices": ["blue", "red"], "answer": "A"}\n'
    )
    (folder / "weigh.py").write_text(
        "class Weigh:\n    def generate(self, requests):\n        return ['A' for _ in requests]\n"
        "    def likelihood(self, requests):\n        return [[0.0, 0.0] for _ in requests]\n\nmodel = Weigh()\n"
    )
    options = (
        "--model",
        "weigh.py:model",
        "--measure",
        "likelihood",
        "--template",
        "{{ question }} Say:",
    )

    said = assay("run", "pick.jsonl", *options, "--dry_run")

    assert (
        said.code == 2
        and "no sample can be asked: the prompt does not show the options" in said.err
    )


def test_faults_are_found_as_in_a_run(assay):
    assert assay("run", "nope.jsonl", *FOUR, "--dry_run").code == 2


def test_replicas_that_cannot_be_are_found_as_in_a_run(assay):
    said = assay("run", "sums.jsonl", *FOUR, "--replicas", "0", "--dry_run")

    assert said.code == 2 and "--replicas is 0; fix: at least 1" in said.err


READER = """
from assay.core import Abilities, Output
class Reader:
    abilities = Abilities()
    identity = {{"reader": 1}}
    def generate(self, requests):
        return [Output.of("x") for r in requests]
    def shown(self, prompt):
        return "<s><s>[INST]" + prompt.messages[0].text + "[/INST]"
    def preflight(self, prompt, stops=()):
        return {faults}
"""


def test_a_model_that_renders_prompts_shows_the_first_with_its_special_tokens(
    assay, folder
):
    (folder / "reader.py").write_text(READER.format(faults=[]))

    said = assay("run", "sums.jsonl", "--model", "reader.py:Reader", "--dry_run")

    assert said.code == 0
    assert "as the model reads it:\n      <s><s>[INST]2+2?[/INST]" in said.out


def test_what_is_wrong_with_a_chat_template_is_a_fault_and_the_command_fails(
    assay, folder
):
    (folder / "reader.py").write_text(
        READER.format(faults=["two beginning-of-sequence tokens"])
    )

    said = assay("run", "sums.jsonl", "--model", "reader.py:Reader", "--dry_run")
    document = assay(
        "run", "sums.jsonl", "--model", "reader.py:Reader", "--dry_run", "--json"
    )

    assert said.code == 1 and "fault: two beginning-of-sequence tokens" in said.out
    assert document.code == 1 and document.json["cells"][0]["faults"] == [
        "two beginning-of-sequence tokens"
    ]
    assert document.json["cells"][0]["rendered"].startswith("<s><s>")


def test_a_model_whose_tokenizer_cannot_be_had_says_why(assay, folder):
    lacks = 'from assay.core import MissingExtra; raise MissingExtra("x", "transformers"); return ""'
    text = READER.format(faults=[]).replace('return "<s><s>[INST]"', lacks)
    (folder / "reader.py").write_text(text)

    said = assay("run", "sums.jsonl", "--model", "reader.py:Reader", "--dry_run")

    assert (
        said.code == 0
        and "cannot be shown (" in said.out
        and "pip install transformers" in said.out
    )


def test_samples_that_no_prompt_can_be_made_of_are_counted_with_the_first_reason(
    assay, folder
):
    (folder / "outside.yaml").write_text(
        "dataset: sums.jsonl\ntemplate:\n  - role: user\n    content:\n"
        "      - {type: image, image: /etc/passwd}\n      - {type: text, text: '{{ question }}'}\n"
    )

    said = assay("run", "outside.yaml", *FOUR, "--dry_run")

    assert (
        "3 of the first 3 samples have no prompt; the first: " in said.out
        and "/etc/passwd" in said.out
    )
