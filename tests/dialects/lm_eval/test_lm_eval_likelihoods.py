"""Likelihoods of a local model against lm-eval's own `HFLM`, on random weights."""

import importlib.util
import sys
from pathlib import Path

import pytest

from assay.core import Message, Prompt, Request, Text

MISSING = [
    name
    for name in ("torch", "transformers", "lm_eval")
    if importlib.util.find_spec(name) is None
]
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(bool(MISSING), reason=f"pip install {' '.join(MISSING)}"),
]
TINY = Path(__file__).parents[2] / "models" / "local_transformers" / "conftest.py"
PAIRS = [
    ("The capital is", " Paris"),
    ("", "alone"),
    ("a trailing blank ", "x"),
    ("a trailing line end \n", " y"),
    ("lead", "  two blanks"),
    ("x" * 600, " cut from the left"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Llama with a chat template, as the tests of local models make it."""
    from transformers import LlamaForCausalLM

    spec = importlib.util.spec_from_file_location("tiny_llama", TINY)
    tiny = importlib.util.module_from_spec(spec)
    tiny.__package__ = "tests.models.local_transformers"
    sys.path.insert(0, str(TINY.parents[3]))
    try:
        spec.loader.exec_module(tiny)
    finally:
        sys.path.pop(0)
    path = tmp_path_factory.mktemp("llama")
    tiny.make_model(LlamaForCausalLM, tiny.llama_config()).save_pretrained(path)
    tiny.make_tokenizer(template=tiny.CHATML).save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module")
def reference(folder):
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=folder, device="cpu", dtype="float32", batch_size=1)


@pytest.fixture(scope="module")
def local(folder):
    from assay.models.local_transformers import LocalTransformers

    model = LocalTransformers(folder, dtype="float32", device="cpu", truncate="left")
    model.load()
    return model


def weighed_by_lm_eval(reference, pairs):
    from lm_eval.api.instance import Instance

    requests = [Instance("loglikelihood", {}, pair, 0) for pair in pairs]
    return reference.loglikelihood(requests, disable_tqdm=True)


def weighed_by_assay(local, prompts):
    outputs = local.likelihood([Request(prompt) for prompt in prompts])
    return [(o.likelihoods[0].logprob, o.likelihoods[0].greedy) for o in outputs]


def assert_equal(ours, theirs):
    for (mine, my_greedy), (other, their_greedy) in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, abs=1e-4)
        assert my_greedy == their_greedy


def test_likelihoods_of_texts_are_those_of_lm_eval(reference, local):
    prompts = [
        Prompt((Message("", (Text(context),)),), continuations=(continuation,))
        for context, continuation in PAIRS
    ]

    ours = weighed_by_assay(local, prompts)

    assert_equal(ours, weighed_by_lm_eval(reference, PAIRS))


def test_likelihoods_behind_a_chat_template_are_those_of_lm_eval(reference, local):
    question = "The capital of France?"
    text = reference.apply_chat_template([{"role": "user", "content": question}])
    message = Message("user", (Text(question),))
    options = ("Paris", " Paris", "Rome is it")

    ours = weighed_by_assay(
        local, [Prompt((message,), continuations=(option,)) for option in options]
    )

    pairs = [(text, option) for option in options]
    assert_equal(ours, weighed_by_lm_eval(reference, pairs))


def test_likelihoods_of_whole_texts_are_those_of_lm_eval(reference, local):
    from lm_eval.api.instance import Instance

    texts = ["A page of text. " * count for count in (3, 60)]
    requests = [Instance("loglikelihood_rolling", {}, (text,), 0) for text in texts]
    theirs = reference.loglikelihood_rolling(requests, disable_tqdm=True)
    prompts = [Prompt((Message("", (Text(t),)),), rolling=True) for t in texts]

    ours = weighed_by_assay(local, prompts)

    for (mine, _), other in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, abs=1e-3)
