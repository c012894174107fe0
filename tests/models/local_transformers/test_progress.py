"""Progress of a transformers model inside a batch, and batch sizes that fit into memory."""

import json

import pytest

from assay.cli.main import main
from assay.core import (
    GenerateOptions,
    Message,
    Meter,
    Prompt,
    Reporting,
    Request,
    SizedByMemory,
)
from assay.models.local_transformers import memory

pytestmark = pytest.mark.torch


def ask(text, tokens=6, n=1):
    return Request(
        Prompt((Message.of("", text),)),
        GenerateOptions(max_tokens=tokens, n=n, temperature=0.0),
    )


def weigh(text):
    return Request(Prompt((Message.of("", text),), continuations=(" a", " b", " c")))


@pytest.fixture
def seen(llama):
    """Record what the meter showed at each forward pass."""
    meter, shown = Meter(), []
    llama.report_to(meter)
    llama._ready().model.register_forward_hook(
        lambda *_: shown.append((meter.ended, meter.tokens))
    )
    shown.clear()
    return meter, shown


def test_progress_of_answers_is_reported_token_by_token(llama, seen):
    meter, shown = seen

    llama.generate([ask(f"question {number}") for number in range(4)])

    ended = [value for value, _ in shown]
    assert ended == sorted(ended) and 0 < ended[-1] < 4
    assert meter.ended == 4
    assert meter.tokens == shown[-1][1] > 4 * 6


def test_several_candidates_of_a_request_are_one_request(llama, seen):
    meter, _ = seen

    llama.generate([ask("one", n=3), ask("two")])

    assert meter.ended == 2


def test_progress_of_likelihoods_is_reported_pass_by_pass(llama, seen):
    meter, shown = seen
    llama._ready().engine.budget = type(llama._ready().engine.budget)(64, 32)

    llama.likelihood([weigh(f"{number} " * 20) for number in range(6)])

    ended = [value for value, _ in shown]
    assert len(ended) > 2
    assert ended == sorted(ended) and 0 < ended[-1] < 6
    assert meter.ended == 6


def test_progress_is_reported_for_the_models_own_generate(llama, seen):
    meter, shown = seen
    llama._ready().plain_because = "for the test"

    llama.generate([ask("a"), ask("longer")])
    llama.likelihood([weigh("a"), weigh("longer")])

    assert meter.ended == 4
    assert shown[-1][0] > 2


def test_batch_repeated_after_an_out_of_memory_error_is_counted_once(
    llama, monkeypatch
):
    import torch

    llama.generate([ask("the first answer also checks the engine")])
    meter = Meter()
    llama.report_to(meter)
    engine = llama._ready().engine
    usual, failures = engine.decode, iter([False, False, True])
    seen = []

    def decode(*args):
        seen.append(meter.ended)
        if next(failures, False):
            raise torch.OutOfMemoryError("no room")
        return usual(*args)

    monkeypatch.setattr(engine, "decode", decode)
    llama.generate([ask("a"), ask("b")])

    assert seen[2] > 0 and max(seen) <= 2
    assert meter.ended == 2


def test_the_model_declares_its_abilities(llama):
    assert isinstance(llama, Reporting) and isinstance(llama, SizedByMemory)


@pytest.mark.parametrize(("room", "slots"), [(0, 1), (1_000_000, 7), (10**12, 32)])
def test_number_of_slots_follows_from_free_memory(llama, room, slots):
    engine = llama._ready().engine
    engine.room = room
    per_token = 2 * 2 * 2 * 8 * 4
    logits = 4 * 2 * 300

    assert memory.bytes_of_answer(engine.model, 512) == per_token * 512 + logits
    assert engine.slots_of(512) == slots
    assert llama.fit_memory().startswith(
        f"{engine.slots_of(2048 + 12)} answers at once"
    )


def test_number_of_slots_does_not_change_answers(llama):
    asked = [ask(f"question {number}") for number in range(5)]
    before = [output.text for output in llama.generate(asked)]
    engine = llama._ready().engine
    engine.forget()
    engine.room = 0

    assert [output.text for output in llama.generate(asked)] == before
    assert engine.generator.cache.count == 1


def test_free_memory_respects_the_limit_of_the_container(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable: 64 kB\n")
    (tmp_path / "limit").write_text("50000\n")
    (tmp_path / "usage").write_text("20000\n")
    (tmp_path / "no limit").write_text("max\n")

    monkeypatch.setattr(
        memory, "CGROUPS", ((str(tmp_path / "no limit"), str(tmp_path / "usage")),)
    )
    assert memory.free_of_machine(str(tmp_path / "meminfo")) == 64 * 1024
    monkeypatch.setattr(
        memory, "CGROUPS", ((str(tmp_path / "limit"), str(tmp_path / "usage")),)
    )
    assert memory.free_of_machine(str(tmp_path / "meminfo")) == 30_000


@pytest.mark.parametrize(
    "typed",
    [
        (
            "--model",
            "hf",
            "--model_args",
            "pretrained={folder},dtype=float32,trust_remote_code=False",
        ),
        ("--model", "{folder}", "--device", "cpu"),
        ("--model", "hf/{folder}", "--batch_size", "auto"),
    ],
)
def test_model_options_of_other_tools_are_accepted(
    llama_folder, tmp_path, monkeypatch, capsys, typed
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text(
        json.dumps({"question": "2+2?", "answer": "4"}) + "\n"
    )

    code = main(
        [
            "run",
            "sums.jsonl",
            *(text.format(folder=llama_folder) for text in typed),
            "--max_tokens",
            "4",
            "-o",
            "out",
        ]
    )

    said = capsys.readouterr()
    assert code == 0, said.err
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    assert [cell["model"] for cell in manifest["cells"]] == [f"hf/{llama_folder}"]
    if "auto" in typed:
        assert "--batch_size auto: 32 answers at once" in said.err


def test_engine_test_before_the_first_answer_is_not_counted_as_progress(llama):
    meter = Meter()
    llama.report_to(meter)
    llama.likelihood([weigh("a")])
    before = llama.counted.passes

    llama.generate([ask("a")])
    first = llama.counted.passes - before
    llama.generate([ask("b")])
    second = llama.counted.passes - before - first

    assert first == second
    assert meter.ended == 3
