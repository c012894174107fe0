"""Likelihoods compared with the plain model, and the number of tokens computed for them."""

import random

import pytest

from assay.core import Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers
from assay.models.prompting.renderer import Renderer

pytestmark = pytest.mark.torch
HEADER = "Solved: two and two is four. Solved: three and three is six. Solved: one and one is two.\n"


def weigh(context, *continuations):
    return Request(Prompt((Message.of("", context),), continuations=continuations))


def rolling(text):
    return Request(Prompt((Message.of("", text),), rolling=True))


def expected(model, tokens, start):
    """Return the log-probability of all tokens from `start` on, from one plain forward pass."""
    import torch

    with torch.inference_mode():
        logprobs = torch.log_softmax(
            model(torch.tensor([tokens])).logits[0].double(), -1
        )
    return sum(logprobs[at - 1, tokens[at]].item() for at in range(start, len(tokens)))


def test_likelihoods_equal_those_of_the_plain_model(llama, plain_llama):
    llama.load()
    tokenizer = llama._loaded.renderer.tokenizer
    asked = [
        weigh(f"{HEADER}Question {n}: what?", " yes", " no, never", " n")
        for n in range(6)
    ]

    outputs = llama.likelihood(asked)

    for request, output in zip(asked, outputs, strict=True):
        context = tokenizer.encode(request.prompt.text)
        for text, found in zip(
            request.prompt.continuations, output.likelihoods, strict=True
        ):
            whole = tokenizer.encode(request.prompt.text + text)
            assert found.logprob == pytest.approx(
                expected(plain_llama, whole, len(context)), abs=1e-4
            )
            assert found.tokens == len(text)


def test_common_header_and_each_question_are_computed_once(llama):
    asked = [weigh(f"{HEADER}Question {n}: what?", " yes", " no") for n in range(10)]
    before = llama.counted.tokens

    llama.likelihood(asked)

    shared = len(HEADER) + len("Question ")
    # ASCII is one token a byte; the last token of an option is only predicted, and " " is shared by both of them.
    own = len("0: what?") + len(" ") + len("ye") + len("n")
    assert llama.counted.tokens - before == shared + 10 * own


def test_letters_after_one_context_need_one_pass_over_the_context(llama):
    before = llama.counted.tokens, llama.counted.passes

    llama.likelihood([weigh("Which one is it?", "A", "B", "C", "D")])

    assert llama.counted.tokens - before[0] == len("Which one is it?")
    assert llama.counted.passes - before[1] == 1


def test_next_batch_uses_the_cached_header(llama):
    def some(first):
        return [
            weigh(f"{HEADER}{n} and so on?", " yes", " no")
            for n in range(first, first + 9)
        ]

    together = llama.likelihood(some(1))
    before = llama.counted.tokens
    alone = [llama.likelihood([request])[0] for request in some(1)]

    assert llama.counted.tokens - before == 9 * (
        len("1 and so on?") + len(" ") + len("ye") + len("n")
    )
    for one, again in zip(together, alone, strict=True):
        for a, b in zip(one.likelihoods, again.likelihoods, strict=True):
            assert a.logprob == pytest.approx(b.logprob, abs=1e-4)


@pytest.mark.parametrize(("pack", "segment"), [(1024, 256), (64, 16), (16, 4)])
def test_likelihoods_do_not_depend_on_the_budget(llama, plain_llama, pack, segment):
    from assay.models.local_transformers.engine import Budget

    llama.load()
    llama._loaded.engine.budget = Budget(pack, segment)
    dice = random.Random(3)
    words = ["".join(dice.choices("abc ", k=dice.randrange(1, 30))) for _ in range(12)]
    asked = [
        weigh(HEADER[: dice.randrange(5, 60)] + word + "x", " one", " two")
        for word in words
    ]

    outputs = llama.likelihood(asked)

    tokenizer = llama._loaded.renderer.tokenizer
    for request, output in zip(asked, outputs, strict=True):
        start = len(request.prompt.text)
        for text, found in zip(
            request.prompt.continuations, output.likelihoods, strict=True
        ):
            whole = tokenizer.encode(request.prompt.text + text)
            assert found.logprob == pytest.approx(
                expected(plain_llama, whole, start), abs=1e-4
            )


def test_is_greedy_is_true_for_the_most_probable_continuation(llama):
    from assay.core import GenerateOptions

    prompt = Prompt((Message.of("", "Go on:"),))
    written = (
        llama.generate([Request(prompt, GenerateOptions(max_tokens=1))])[0]
        .candidates[0]
        .token_ids[0]
    )
    llama.load()
    tokenizer = llama._loaded.renderer.tokenizer
    letters = [c for c in "abcdefghij" if tokenizer.encode(c) != [written]]

    likelihoods = llama.likelihood([weigh("Go on:", *letters)])[0].likelihoods

    assert not any(found.greedy for found in likelihoods)


def test_long_text_is_scored_from_its_first_token_in_windows(llama_folder, plain_llama):
    from assay.models.local_transformers import LocalTransformers

    model = LocalTransformers(str(llama_folder), context=16)
    text = "abcdefghijklmnopqrstuvwxyz0123456789"

    found = model.likelihood([rolling(text)])[0].likelihoods[0]

    ids = model._loaded.renderer.tokenizer.encode(text, add_special_tokens=False)
    first = [256, *ids[:16]]
    total = expected(plain_llama, first, 1)
    total += expected(plain_llama, ids[15:32], 1)
    total += expected(plain_llama, ids[36 - 17 : 36], 17 - 4)
    assert found.tokens == 36
    assert found.logprob == pytest.approx(total, abs=1e-3)


def test_windows_predict_each_token_once_and_the_last_one_overlaps():
    from assay.models.prompting.pairs import windows

    pairs = windows(list(range(10)), 99, 4)

    assert [pair.tokens for pair in pairs] == [
        (99, 0, 1, 2, 3),
        (3, 4, 5, 6, 7),
        (5, 6, 7, 8, 9),
    ]
    assert [pair.tokens[pair.start :] for pair in pairs] == [
        (0, 1, 2, 3),
        (4, 5, 6, 7),
        (8, 9),
    ]


def test_continuation_without_tokens_has_likelihood_one(llama):
    found = llama.likelihood([weigh("Context", "", "a")])[0].likelihoods

    assert (found[0].logprob, found[0].greedy, found[0].tokens) == (0.0, True, 0)
    assert found[1].logprob < 0


def test_spaces_at_the_end_of_a_context_belong_to_the_continuation(llama):
    apart, joined = llama.likelihood(
        [weigh("Answer: ", "yes"), weigh("Answer:", " yes")]
    )

    assert apart.likelihoods[0].tokens == 4
    assert apart.likelihoods[0].logprob == pytest.approx(
        joined.likelihoods[0].logprob, abs=1e-5
    )


MERGES = (("a", "b"), ("ab", "c"), ("d", "e"))
SEAMS = {
    "a merge into the last token": ("xxa", "b", ["x", "x"], ["ab"]),
    "a merge and more": ("xxa", "bz", ["x", "x"], ["ab", "z"]),
    "a merge that takes more of the context": ("xxab", "c", ["x", "x"], ["abc"]),
    "no merge": ("xxa", "z", ["x", "x", "a"], ["z"]),
    "a merge within the continuation": ("xx", "de", ["x", "x"], ["de"]),
    "blanks that go with the continuation": ("xxa ", "b", ["x", "x", "a"], ["Ġ", "b"]),
    "nothing before the merge": ("a", "bz", ["<s>"], ["ab", "z"]),
    "an empty continuation": ("xxa", "", ["x", "x", "a"], []),
}


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("adds_bos", [False, True])
def test_token_that_spans_context_and_continuation_belongs_to_the_continuation(
    make, seam, adds_bos
):
    context, continuation, before, after = SEAMS[seam]
    tokenizer = make.tokenizer(merges=MERGES, adds_bos=adds_bos)
    ids = tokenizer.convert_tokens_to_ids

    [pair] = Renderer(tokenizer).pairs(weigh(context, continuation).prompt)

    begun = ["<s>"] if adds_bos and before != ["<s>"] else []
    assert pair.tokens[: pair.start] == tuple(ids(begun + before))
    assert pair.tokens[pair.start :] == tuple(ids(after))


def test_continuation_merged_with_the_context_is_scored_like_the_plain_model(
    make, tmp_path
):
    from transformers import LlamaForCausalLM

    plain = make.model(LlamaForCausalLM, make.config())
    tokenizer = make.tokenizer(merges=MERGES)
    model = LocalTransformers(make.folder(tmp_path, plain, tokenizer))

    [output] = model.likelihood([weigh("xxa", "b", "z")])

    merged, apart = output.likelihoods
    whole = tokenizer.encode("xxab")
    assert (merged.tokens, apart.tokens) == (1, 1) and len(whole) == 3
    assert (
        merged.logprob == pytest.approx(expected(plain, whole, 2), abs=1e-5)
        and merged.logprob < 0
    )
    assert apart.logprob == pytest.approx(
        expected(plain, tokenizer.encode("xxaz"), 3), abs=1e-5
    )


def test_without_a_context_the_beginning_of_text_token_comes_first(llama, plain_llama):
    found = llama.likelihood([weigh("", "abc")])[0].likelihoods[0]

    ids = llama._loaded.renderer.tokenizer.encode("abc", add_special_tokens=False)
    assert found.logprob == pytest.approx(
        expected(plain_llama, [256, *ids], 1), abs=1e-4
    )


def test_context_that_is_too_long_is_refused_or_cut(llama_folder):
    from assay.models.local_transformers import LocalTransformers

    long = "x" * 40
    refusing = LocalTransformers(str(llama_folder), context=20)
    cutting = LocalTransformers(str(llama_folder), context=20, truncate="left")

    refused, kept = refusing.likelihood(
        [weigh(long, " a", " b"), weigh("short", " a", " b")]
    )
    cut = cutting.likelihood([weigh(long, " a", " b")])[0]

    assert refused.error.kind == "context"
    assert "truncate=left" in refused.error.message
    assert len(kept.likelihoods) == 2
    assert cut.details["truncated_tokens"] == 21
    assert len(cut.likelihoods) == 2


def test_likelihoods_that_are_not_finite_fail_the_sample(llama):
    import torch

    llama.load()
    with torch.no_grad():
        llama._loaded.model.lm_head.weight.fill_(float("nan"))

    [output] = llama.likelihood([weigh("a", "b")])

    assert output.error.kind == "non_finite"


def test_truncate_middle_drops_the_middle_of_a_context(llama_folder):
    from assay.models.local_transformers import LocalTransformers

    model = LocalTransformers(str(llama_folder), context=20, truncate="middle")

    [cut] = model.likelihood([weigh("a" * 20 + "b" * 20, "xy")])
    [whole] = model.likelihood([weigh("a" * 9 + "b" * 10, "xy")])

    assert cut.details["truncated_tokens"] == 21
    assert cut.likelihoods[0].logprob == pytest.approx(
        whole.likelihoods[0].logprob, abs=1e-5
    )


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_continuation_longer_than_the_context_fails_only_its_sample(
    llama_folder, make, tmp_path, family
):
    from transformers import GPT2Config, GPT2LMHeadModel

    from assay.models.local_transformers import LocalTransformers

    folder = str(llama_folder)
    if family == "gpt2":
        config = GPT2Config(
            vocab_size=300, n_positions=20, n_embd=16, n_layer=1, n_head=2
        )
        folder = make.folder(
            tmp_path, make.model(GPT2LMHeadModel, config), make.tokenizer()
        )
    model = LocalTransformers(folder, context=20, truncate="left")

    too_long, fits, cut = model.likelihood(
        [
            weigh("abc" * 10, "x" * 21, "y"),
            weigh("", "x" * 20),
            weigh("abc" * 10, "x" * 20),
        ]
    )

    assert too_long.error.kind == "context"
    assert (
        "a continuation has 21 tokens and the model takes 20; fix: "
        in too_long.error.message
    )
    assert fits.likelihoods[0].tokens == cut.likelihoods[0].tokens == 20
    assert cut.details == {"truncated_tokens": 29}


def test_contexts_refused_by_the_chat_template_fail_only_their_sample(llama_folder):
    from assay.models.local_transformers import LocalTransformers

    picky = "{% if messages[0].content == 'bad' %}{{ raise_exception('not this one') }}{% endif %}x"
    model = LocalTransformers(str(llama_folder), chat_template=picky)
    asked = [
        Request(Prompt((Message.of("user", text),), continuations=("a",)))
        for text in ("good", "bad")
    ]

    good, bad = model.likelihood(asked)

    assert good.error is None and len(good.likelihoods) == 1
    assert bad.error.kind == "chat_template" and "not this one" in bad.error.message
