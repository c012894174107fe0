"""`assay parity`: answers that depend on their neighbours are found, ties and failures told apart."""

import json

import pytest

from assay.cli.parity import EXIT_DRIFT, command
from assay.core import UsageError

STEADY = """
def generate(messages):
    return messages[-1]["content"].upper()
"""
DRIFTING = """
from assay.core import Output

class Drifting:
    def generate(self, requests: list) -> list:
        return [Output.of(f"{r.prompt.text} of {len(requests)}") for r in requests]
"""
TELLING = """
import json
from dataclasses import dataclass
from pathlib import Path
from assay.core import Output

@dataclass
class Telling:
    base_url: str = ""

    def generate(self, requests: list) -> list:
        with (Path(__file__).parent / "told.jsonl").open("a") as log:
            for request in requests:
                o = request.options
                told = [o.temperature, o.top_p, o.max_tokens, o.seed, self.base_url, request.seed]
                log.write(json.dumps(told) + "\\n")
        return [Output.of("x") for _ in requests]
"""
WEIGHING = """
from assay.core import Likelihood, Output

class Weighing:
    apart = 0.0

    def generate(self, requests: list) -> list:
        return [Output.of("x") for _ in requests]

    def likelihood(self, requests: list) -> list:
        by = self.apart * len(requests)
        return [Output(likelihoods=tuple(Likelihood(-1.0 - i - by) for i, _ in enumerate(r.prompt.continuations)))
                for r in requests]

class Near(Weighing):
    apart = 1e-6

class Far(Weighing):
    apart = 0.1
"""


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows.jsonl"
    lines = [
        {"question": f"What is {n}?", "choices": ["one", "two"], "answer": "A"}
        for n in range(6)
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def model_in(tmp_path, source, name):
    file = tmp_path / "model.py"
    file.write_text(source)
    return f"{file}:{name}"


def weighing_task(tmp_path, rows):
    task = tmp_path / "weighed.yaml"
    task.write_text(
        f"name: weighed\ndataset: {rows}\ntemplate: choice_likelihood\nscorers: [choice_likelihood]\n"
    )
    return str(task)


def test_a_steady_model_does_not_drift(tmp_path, rows, capsys):
    code = command(
        [str(rows), "--model", model_in(tmp_path, STEADY, "generate"), "--sizes", "2,6"]
    )

    assert code == 0
    shown = capsys.readouterr().out
    assert shown.count("6 compared, 0 drifted") == 4
    assert "batch    2 reversed" in shown


def test_an_answer_that_depends_on_the_batch_is_drift(tmp_path, rows, capsys):
    drifting = model_in(tmp_path, DRIFTING, "Drifting")

    code = command(
        [str(rows), "--model", drifting, "--sizes", "3", "-k", "4", "--json"]
    )

    document = json.loads(capsys.readouterr().out)
    first = document["cells"][0]["parity"][0]
    assert code == EXIT_DRIFT
    assert (first["batch"], first["compared"], len(first["drifted"])) == (3, 4, 3)


def test_likelihoods_may_differ_by_rounding_and_no_more(tmp_path, rows, capsys):
    task = weighing_task(tmp_path, rows)

    near = command(
        [task, "--model", model_in(tmp_path, WEIGHING, "Near"), "--sizes", "4"]
    )
    said = capsys.readouterr().out
    far = command(
        [task, "--model", model_in(tmp_path, WEIGHING, "Far"), "--sizes", "4"]
    )

    assert near == 0
    assert "log-likelihoods at most 3.0e-06 apart" in said
    assert far == EXIT_DRIFT


def test_generation_options_a_seed_and_an_endpoint_reach_the_model(
    tmp_path, rows, capsys
):
    told = model_in(tmp_path, TELLING, "Telling")
    given = [
        "--temperature",
        "0.5",
        "--top_p",
        "0.9",
        "--max_tokens",
        "3",
        "--seed",
        "7",
    ]

    code = command(
        [
            str(rows),
            "--model",
            told,
            "--sizes",
            "2",
            *given,
            "--base_url",
            "http://localhost:1/v1",
        ]
    )

    assert code == 0
    lines = {
        tuple(json.loads(line))
        for line in (tmp_path / "told.jsonl").read_text().splitlines()
    }
    assert {line[:5] for line in lines} == {(0.5, 0.9, 3, 7, "http://localhost:1/v1")}
    assert (
        len({line[5] for line in lines}) == 6
    )  # one for each sample, the same in every batch


def test_sizes_that_are_not_numbers_are_refused(tmp_path, rows):
    with pytest.raises(UsageError, match="--sizes takes numbers"):
        command(
            [
                str(rows),
                "--model",
                model_in(tmp_path, STEADY, "generate"),
                "--sizes",
                "some",
            ]
        )


@pytest.mark.torch
def test_a_local_transformers_model_keeps_parity(tmp_path, rows, capsys):
    pytest.importorskip("torch", reason="pip install torch transformers")
    transformers = pytest.importorskip(
        "transformers", reason="pip install torch transformers"
    )
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    torch.manual_seed(0)
    torch.set_num_threads(1)
    vocabulary = {
        c: i
        for i, c in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), "</s>"])
    }
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    folder = tmp_path / "llama"
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="</s>"
    ).save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.2,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    wrapped = tmp_path / "local.py"
    wrapped.write_text(
        "from assay.models.local_transformers import LocalTransformers\n"
        f"model = LocalTransformers({str(folder)!r}, max_tokens=8)\n"
    )

    code = command(
        [weighing_task(tmp_path, rows), "--model", f"{wrapped}:model", "--sizes", "2,6"]
    )
    generated = command(
        [
            str(rows),
            "--model",
            f"{wrapped}:model",
            "--sizes",
            "2,6",
            "--max_tokens",
            "8",
        ]
    )

    assert (code, generated) == (0, 0)
    assert capsys.readouterr().out.count("6 compared, 0 drifted") == 8
