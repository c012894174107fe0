"""vLLM through a stand-in: the same numbers as `hf` on the same weights."""

import importlib.machinery
import sys
from pathlib import Path

import pytest

import assay
from assay.core import (
    GenerateOptions,
    Message,
    Meter,
    MissingExtra,
    Prompt,
    Request,
    Text,
)
from assay.media import image_from
from assay.models import build_model
from assay.models.local_vllm import bar_for
from assay.runner.ask.calls import call_model

sys.path.insert(0, str(Path(__file__).parent))
import vllm_stand_in

pytestmark = pytest.mark.torch


@pytest.fixture
def vllm(monkeypatch):
    for name, module in vllm_stand_in.modules().items():
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def served(vllm, llama_folder):
    return build_model(f"vllm/{llama_folder}", {"max_tokens": 12})


def ask(text, **options):
    return Request(
        Prompt((Message("user", (Text(text),)),)), GenerateOptions(**options), key=text
    )


def weigh(text, *continuations):
    return Request(
        Prompt((Message("", (Text(text),)),), continuations=continuations), key=text
    )


def test_vllm_texts_equal_those_of_the_hf_backend(served, llama):
    requests = [
        ask("hello"),
        ask("what is it?", max_tokens=5),
        ask("tell me", stop=("e",)),
    ]

    ours, theirs = served.generate(requests), llama.generate(requests)

    assert [o.text for o in ours] == [o.text for o in theirs]
    assert [o.usage.input_tokens for o in ours] == [
        o.usage.input_tokens for o in theirs
    ]
    assert served._llm.calls == [("generate", 3)]


def test_a_stop_string_that_is_a_special_token_is_sent_by_its_id(served):
    served.load()

    params = served._params(ask("hello", stop=("<|im_start|>", "e", "\n")))

    assert params.stop_token_ids == [
        served.renderer.tokenizer.convert_tokens_to_ids("<|im_start|>")
    ]
    assert served._params(ask("hello", stop=("e",))).stop_token_ids is None


def test_vllm_likelihoods_equal_those_of_the_hf_backend(served, llama):
    requests = [
        weigh("The cat", " sat", " flew away"),
        weigh("Two and two are", " four", " five", " a"),
    ]

    ours, theirs = served.likelihood(requests), llama.likelihood(requests)

    for own, other in zip(ours, theirs, strict=True):
        assert [v.logprob for v in own.likelihoods] == pytest.approx(
            [v.logprob for v in other.likelihoods], abs=1e-4
        )
        assert [(v.greedy, v.tokens) for v in own.likelihoods] == [
            (v.greedy, v.tokens) for v in other.likelihoods
        ]
    assert served._llm.calls == [("generate", 5)]


def test_whole_text_is_scored_in_windows(vllm, llama_folder, llama):
    short = build_model(f"vllm/{llama_folder}", {"context": 40})
    same = build_model(f"hf/{llama_folder}", {"context": 38})
    whole = Request(
        Prompt((Message("", (Text("a long text " * 12),)),), rolling=True), key="w"
    )

    [ours], [theirs] = short.likelihood([whole]), same.likelihood([whole])

    assert ours.likelihoods[0].tokens == theirs.likelihoods[0].tokens == 144
    assert ours.likelihoods[0].logprob == pytest.approx(
        theirs.likelihoods[0].logprob, abs=1e-3
    )


def test_candidates_are_sampled_with_seeds_of_the_request(served):
    drawn = served.generate(
        [ask("hello", temperature=1.0, n=3), ask("hello", temperature=1.0, n=3)]
    )

    assert (
        len(drawn[0].candidates) == 3 and len({c.text for c in drawn[0].candidates}) > 1
    )
    assert [c.text for c in drawn[0].candidates] == [
        c.text for c in drawn[1].candidates
    ]


def test_logprobs_come_with_their_alternatives(served):
    [output] = served.generate([ask("hello", logprobs=4, max_tokens=2)])

    first = output.candidates[0].tokens[0]
    assert len(first.top) == 4 and first.logprob == max(value for _, value in first.top)


def test_prompt_that_is_too_long_fails_or_is_cut_and_counted(vllm, llama_folder):
    refusing = build_model(f"vllm/{llama_folder}", {"context": 60, "max_tokens": 8})
    cutting = build_model(
        f"vllm/{llama_folder}", {"context": 60, "max_tokens": 8, "truncate": "left"}
    )
    requests = [ask("hi"), ask("word " * 30)]

    fine, refused = refusing.generate(requests)
    _, cut = cutting.generate(requests)

    assert (
        fine.error is None
        and refused.error.kind == "context"
        and "truncate=left" in refused.error.message
    )
    assert cut.error is None and cut.details["truncated_tokens"] > 100
    assert cut.usage.input_tokens == 60 - 8
    assert refusing.likelihood([weigh("word " * 30, " a")])[0].error.kind == "context"


def test_error_in_one_prompt_does_not_affect_others(served, monkeypatch):
    own = vllm_stand_in.LLM._one

    def picky(llm, ids, params):
        if len(ids) > 60:
            raise RuntimeError("the engine refuses this one")
        return own(llm, ids, params)

    monkeypatch.setattr(vllm_stand_in.LLM, "_one", picky)
    first, bad, last = call_model(served, [ask("a"), ask("long " * 20), ask("b")])

    assert first.text and last.text
    assert "the engine refuses this one" in bad.error.message


def test_prompts_with_images_use_vllm_chat_with_image_bytes(served):
    from PIL import Image as pillow

    picture = image_from(pillow.new("RGB", (4, 4), "red"))
    seen = Request(
        Prompt((Message("user", (picture, Text("what?"))),)),
        GenerateOptions(max_tokens=2),
        key="p",
    )

    words, pictured = served.generate([ask("hello", max_tokens=2), seen])

    assert words.error is None and pictured.error is None
    [[message]] = served._llm.messages
    assert message["content"][0]["image_url"]["url"].startswith(
        "data:image/png;base64,"
    )


def test_a_whole_run_uses_it(served, vllm, llama_folder, tmp_path):
    rows = [
        {"question": f"{n}+1?", "options": ["3", "4"], "answer": "AB"[n - 2]}
        for n in (2, 3)
    ]

    result = assay.run(
        assay.Task("sums", dataset=rows, measures=("likelihood", "letter")),
        f"vllm/{llama_folder}",
        output=str(tmp_path / "run"),
    )

    assert result.status == "complete" and {r.protocol for r in result.results} == {
        "sums@letter_likelihood"
    }


def test_json_response_format_sets_structured_outputs(served):
    served.load()

    params = served._params(ask("hello", response_format="json"))

    assert params.structured_outputs.json_object is True


def test_missing_vllm_is_reported_with_an_install_command(llama_folder, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match="pip install vllm"):
        build_model(f"vllm/{llama_folder}")


def test_vllm_reports_progress_inside_a_batch(served, monkeypatch):
    meter, seen = Meter(), []
    usual = vllm_stand_in.LLM._one
    monkeypatch.setattr(
        vllm_stand_in.LLM,
        "_one",
        lambda *args: (seen.append(meter.ended), usual(*args))[1],
    )
    served.report_to(meter)

    served.generate([ask("a", max_tokens=2), ask("b", max_tokens=2)])
    served.likelihood([weigh("a", " b", " c"), weigh("d", " e", " f")])

    assert seen == [0.0, 1.0, 2.0, 2.5, 3.0, 3.5]
    assert meter.ended == 4


def test_progress_bar_is_left_out_if_vllm_does_not_accept_it():
    def older(prompts, use_tqdm: bool = True): ...

    def oldest(prompts): ...

    assert bar_for(older, Meter(), 1.0) is False
    assert bar_for(oldest, Meter(), 1.0) is False
    assert bar_for(vllm_stand_in.LLM.generate, Meter(), 1.0) is not False
