"""The engine evaluators drive: tuples of two and three, tokens, logits, speeds."""

import json
from math import exp, log
from pathlib import Path
from typing import Any

import numpy
import pytest

from assay.core import (
    Abilities,
    Candidate,
    ModalityMismatch,
    Output,
    Sample,
    Text,
    Token,
    Usage,
)
from assay.dialects.pipeline.pipeline_engine import Engine, Generated, speed_of
from assay.dialects.pipeline.script_names import Direct, RWKVInferenceEngine
from assay.dialects.pipeline.tokenizers import PrivateTokenizer
from assay.models import adapt_model, build_model
from assay.models.scripted import Scripted

BIGRAM = f"{Path(__file__).parents[3] / 'examples' / 'bigram.py'}:Bigram"


def engine_of(model: Any) -> Engine:
    return Engine(Direct(adapt_model(model)))


def test_a_result_unpacks_into_two_and_into_three_in_one_process():
    made = Generated(("tokens", 1.5, None))

    tokens, seconds = made
    again, spent, speed = made
    first, *rest = made

    assert (tokens, seconds) == (again, spent) == ("tokens", 1.5)
    assert speed is None and first == "tokens" and rest == [1.5, None]


def test_apart_from_unpacking_it_is_a_triple():
    made = Generated((1, 2, 3))

    assert made == (1, 2, 3) and len(made) == 3 and made[2] == 3 and made[:2] == (1, 2)
    assert list(made) == [1, 2, 3] and max(made) == 3 and [*made] == [1, 2, 3]
    assert [pair for pair, _ in [made]] == [1] and [c for _, _, c in [made]] == [3]


def test_it_unpacks_inside_loops_functions_and_under_a_tracer():
    import sys

    def two() -> int:
        total = 0
        for _ in range(
            100
        ):  # often enough for the interpreter to specialise the instruction
            a, b = Generated((1, 2, 3))
            total += a + b
        return total

    def three() -> int:
        return sum(c for _ in range(100) for a, b, c in [Generated((1, 2, 3))])

    before = sys.gettrace()
    sys.settrace(lambda *given: None)
    try:
        traced = two()
    finally:
        sys.settrace(before)

    assert (two(), three(), traced) == (300, 300, 300)


def test_evaluators_of_both_eras_run_in_one_process():
    engine = engine_of(Scripted("four"))

    tokens, _ = engine.generate_batch(["2+2"], max_length=3)
    newer, seconds, speed = engine.generate_batch(
        ["2+2"], max_length=3, return_speed=True
    )

    assert engine.decode_tokens(tokens) == engine.decode_tokens(newer) == ["four"]
    assert seconds >= 0 and set(speed) >= {
        "forward_tps",
        "full_tps",
        "step_forward_ms_p50",
        "step_full_ms_p50",
    }


def test_tokens_are_an_array_with_a_size_a_shape_and_slices():
    engine = engine_of(Scripted(["one two  three\n", ""]))

    tokens, _ = engine.generate_batch(["a", "b"], max_length=5)

    assert (tokens.shape, tokens.size) == ((2, 5), 10)
    assert numpy.issubdtype(tokens.dtype, numpy.integer)
    assert engine.decode_tokens(tokens) == ["one two  three\n", ""]
    assert engine.decode_tokens(tokens[:1, :2]) == ["one two"]
    assert engine.decode_tokens(tokens[0]) == ["one two  three\n"]
    assert tokens[1].tolist() == [0, 0, 0, 0, 0]
    assert engine.tokenizer.decode(tokens[0]) == "one two  three\n"


def test_no_text_is_lost_where_the_answer_has_more_pieces_than_the_row():
    engine = engine_of(Scripted("a b c d e"))

    tokens, _ = engine.generate_batch(["x"], max_length=2)

    assert tokens.shape == (1, 2)
    assert engine.decode_tokens(tokens) == ["a b c d e"]


@pytest.mark.parametrize(
    "text", ["", " ", "word", "  two words ", "多选题 评估\n\n", "a\tb\u3000c", "\x00x"]
)
def test_private_ids_give_back_exactly_the_text(text: str):
    tokenizer = PrivateTokenizer()

    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_pieces_are_the_tokens_the_model_reported():
    candidate = Candidate(
        (Text("unbelievable"),), tokens=(Token("unbe", -1.0), Token("lievable", -0.5))
    )
    tokenizer = PrivateTokenizer()

    row = tokenizer.row(candidate, 10)

    assert [tokenizer.decode([token]) for token in row] == ["unbe", "lievable"]


def test_unknown_ids_decode_to_nothing():
    engine = engine_of(Scripted("x"))

    assert engine.decode_tokens(numpy.array([[999, 3]])) == [""]


class Spelling:
    """A model with a tokenizer of its own: one id for each letter, 1 ends a text."""

    abilities = Abilities(tokens=True)
    identity = {"spelling": 1}  # noqa: RUF012
    eos_token_id = 1

    @property
    def tokenizer(self) -> "Spelling":
        return self

    def encode(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, ids: list[int]) -> str:
        return "".join(chr(token) for token in ids)

    def generate(self, requests: Any) -> list[Output]:
        return [
            Output((Candidate((Text("yes"),), token_ids=(121, 101, 115)),))
            for _ in requests
        ]


def test_a_model_with_tokens_lends_its_own_ids():
    engine = engine_of(Spelling())

    tokens, _ = engine.generate_batch(["q"], max_length=5)

    assert tokens.tolist() == [[121, 101, 115, 1, 1]]
    assert engine.decode_tokens(tokens) == ["yes"]
    assert engine.tokenizer.encode("no") == [110, 111]


def test_noise_is_the_temperature_and_none_is_greedy():
    model = Scripted("x")
    engine = engine_of(model)

    engine.generate_batch(["a"], noise=0.7)
    engine.generate_batch(["a"])

    assert [request.options.temperature for request in model.calls] == [0.7, 0.0]


def test_a_model_of_free_roles_gets_plain_text_and_any_other_a_user_turn():
    class Continuing(Scripted):
        @property
        def abilities(self) -> Abilities:
            return Abilities(roles="free")

    plain, chatting = Continuing("x"), Scripted("x")
    for model in (plain, chatting):
        RWKVInferenceEngine(model).generate_batch(["once upon"])

    assert [message.role for message in plain.calls[0].messages] == [""]
    assert [message.role for message in chatting.calls[0].messages] == ["user"]


def test_a_single_text_in_place_of_a_list_is_refused():
    with pytest.raises(
        TypeError, match="takes a list of prompts, not the text 'hello'"
    ):
        engine_of(Scripted("x")).generate_batch("hello")


def test_generate_with_logprobs_gives_tokens_strings_and_alternatives():
    tokens = (Token("a", -0.1, (("a", -0.1), ("b", -2.0))), Token("!", -0.2))
    engine = engine_of(
        Scripted(lambda request: Candidate((Text("a!"),), tokens=tokens))
    )

    [made] = engine.generate_with_logprobs(["q"], max_length=4, top_logprobs=2)

    assert set(made) == {"tokens", "token_strs", "logprobs", "top_logprobs", "text"}
    assert (made["token_strs"], made["logprobs"], made["text"]) == (
        ["a", "!"],
        [-0.1, -0.2],
        "a!",
    )
    assert made["top_logprobs"] == [{"a": -0.1, "b": -2.0}, {"!": -0.2}]
    assert engine.tokenizer.decode(made["tokens"]) == "a!"


def test_the_most_probable_next_tokens_come_best_first():
    tokens = (Token("b", -2.0, (("b", -2.0), ("a", -0.5), ("c", -4.0))),)
    engine = engine_of(Scripted(lambda request: Candidate((Text("b"),), tokens=tokens)))

    made = engine.analyze_next_token("q", top_k=2)

    assert [(one["token_str"], one["logprob"], one["probability"]) for one in made] == [
        ("a", -0.5, exp(-0.5)),
        ("b", -2.0, exp(-2.0)),
    ]
    assert engine.tokenizer.decode([one["token"] for one in made]) == "ab"


class Reporting:
    """Reports the tokens it writes, and cannot weigh others."""

    abilities = Abilities(logprobs=True)
    identity = {"reporting": 1}  # noqa: RUF012

    def generate(self, requests: Any) -> list[Output]:
        return [
            Output((Candidate((Text("a"),), tokens=(Token("a", -1.0),)),))
            for _ in requests
        ]


def test_what_a_model_cannot_do_is_refused_by_name():
    plain = engine_of(lambda messages: "x")
    weighing = engine_of(Scripted("x"))

    with pytest.raises(
        ModalityMismatch, match="generate_with_logprobs: this model does not report"
    ):
        plain.generate_with_logprobs(["a"])
    with pytest.raises(
        ModalityMismatch,
        match=r"generate_with_logprobs\(echo=True\): this model cannot weigh",
    ):
        engine_of(Reporting()).generate_with_logprobs(["a"], echo=True)
    with pytest.raises(
        ModalityMismatch, match="forward_batch: this model cannot weigh given tokens"
    ):
        plain.model.forward_batch([[1]], None, full_output=True)
    with pytest.raises(ModalityMismatch, match=r"forward_batch\(full_output=False\)"):
        weighing.model.forward_batch([[1]], weighing.model.generate_zero_state(1))
    with pytest.raises(
        AttributeError, match="the engine of the pipeline dialect has no 'beam_search'"
    ):
        plain.beam_search()
    with pytest.raises(
        AttributeError, match="the model of the pipeline dialect has no 'forward_seq'"
    ):
        plain.model.forward_seq()


def test_logits_of_given_tokens_have_the_models_own_probabilities():
    engine = Engine(Direct(build_model(BIGRAM, {"text": "a b a c ."})))
    context, target = engine.tokenizer.encode("x a"), engine.tokenizer.encode(" b a")

    [out] = engine.model.forward_batch(
        [context + target], engine.model.generate_zero_state(1), full_output=True
    )

    # P(b | a) = 2/7 and P(a | b) = 2/6, both the model's first choice.
    for n, expected in enumerate((2 / 7, 2 / 6)):
        row = out[len(context) - 1 + n]
        share = exp(row[target[n]]) / numpy.exp(row).sum()
        assert share == pytest.approx(expected)
        assert numpy.argmax(row) == target[n]
    with pytest.raises(
        ModalityMismatch, match="the logits after the last token are not known"
    ):
        out[-1]


def test_logits_are_not_largest_at_a_token_the_model_would_not_write():
    engine = Engine(Direct(build_model(BIGRAM, {"text": "a b a c ."})))
    ids = engine.tokenizer.encode("a zebra")

    [out] = engine.model.forward_batch([ids], None, full_output=True)

    assert out[0][ids[1]] == pytest.approx(log(1 / 7))
    assert numpy.argmax(out[0]) == 0 and numpy.exp(out[0]).sum() == pytest.approx(1.0)


def test_speed_comes_from_what_was_generated_and_counts_the_models_tokens():
    output = Output((Candidate((Text("a b"),)),), usage=Usage(1, 20), seconds=0.5)
    model = Scripted(lambda request: output)
    engine = engine_of(model)
    engine.generate_batch(["x", "y"], max_length=50)

    speed = engine.measure_decode_speed(batch_size=128)

    assert len(model.calls) == 2
    assert speed == {
        "batch_size": 2.0,
        "forward_tps": 40.0,
        "full_tps": 40.0,
        "step_forward_ms_p50": 50.0,
        "step_full_ms_p50": 50.0,
    }


def test_the_engine_by_itself_asks_any_model_and_saves_what_it_said(tmp_path: Path):
    async def slow(messages: Any) -> str:
        return str(messages[-1]["content"]).upper()

    engine = RWKVInferenceEngine(slow)

    answers, file = engine.generate_and_save(
        ["a", "b"], "letters", output_dir=str(tmp_path), metadata={"by": "me"}
    )

    assert answers == ["A", "B"]
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
    assert [
        (line["index"], line["prompt"], line["response"], line["by"]) for line in lines
    ] == [
        (0, "a", "A", "me"),
        (1, "b", "B", "me"),
    ]


def test_partial_characters_are_not_certain_tokens():
    from stub_model import StubModel

    model = StubModel()
    engine = RWKVInferenceEngine(model)
    context, target = engine.tokenizer.encode("caf"), engine.tokenizer.encode("ß")

    [out] = engine.model.forward_batch([[0, *context, *target]], None, full_output=True)
    total = sum(float(out[len(context) + n][token]) for n, token in enumerate(target))

    assert len(target) == 2
    assert total == pytest.approx(engine.weigh(["caf"], ["ß"], ["caf"])[0].logprob)
    assert total < -1


def test_the_prompts_own_tokens_come_first_with_echo():
    from stub_model import StubModel

    [made] = RWKVInferenceEngine(StubModel()).generate_with_logprobs(
        ["A B"], max_length=2, echo=True
    )

    assert made["token_strs"][:3] == ["A", " ", "B"] and made["text"].startswith("A B")
    assert made["logprobs"][0] == 0.0 and made["top_logprobs"][0] == {}
    assert len(made["tokens"]) == len(made["logprobs"]) == 5


def test_a_rejected_row_keeps_its_own_id_among_equal_prompts():
    rows = [Sample(f"r{n}", "same", fields={"number": n}) for n in range(4)]
    rejected = []
    engine = Engine(
        Direct(adapt_model(Scripted("four"))),
        samples=rows,
        reject=lambda id, why: rejected.append((id, why)),
    )
    items = [{"prompt": row.input, "raw": row.fields} for row in rows]

    engine.reject(items[1], "empty")
    engine.reject(items[3], "empty")
    asked = [engine._sample("same", 0).id for _ in range(3)]

    assert rejected == [("r1", "empty"), ("r3", "empty")]
    assert asked == ["r0", "r2", "r0"]


def test_a_row_with_an_empty_prompt_is_not_counted_for_other_calls():
    engine = Engine(
        Direct(adapt_model(Scripted("four"))), samples=[Sample("empty", "")]
    )

    engine.generate_batch(["another prompt"], max_length=2)
    assert (engine.rows_asked, engine.other_calls) == (set(), 1)

    engine.generate_batch([""], max_length=2)
    assert (engine.rows_asked, engine.other_calls) == ({"empty"}, 1)


@pytest.mark.parametrize(
    ("percentile", "milliseconds"), [(0, 10.0), (25, 15.0), (50, 20.0), (100, 30.0)]
)
def test_percentiles_of_the_speed_reach_from_0_to_100(percentile, milliseconds):
    batches = [(1, 100, 1.0), (1, 100, 2.0), (1, 100, 3.0)]

    speed = speed_of(batches, percentile)

    assert speed[f"step_full_ms_p{percentile}"] == pytest.approx(milliseconds)


def test_a_percentile_above_100_is_refused():
    with pytest.raises(ValueError, match="range"):
        speed_of([(1, 100, 1.0)], 101)
