"""Generated text equals that of transformers, whatever else is in the batch."""

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request, UsageError

pytestmark = pytest.mark.torch
HEADER = "Solved: two and two is four. Solved: three and three is six. Solved: one and one is two.\n"


def ask(text, **options):
    return Request(Prompt((Message.of("", text),)), GenerateOptions(**options))


def some(count=7, **options):
    return [
        ask(f"{HEADER}Question {'x' * n} {n}:", **{"max_tokens": 3 + n, **options})
        for n in range(count)
    ]


def favoured(logits, token):
    """Return logits for which this token is always chosen."""
    changed = logits.clone()
    changed[..., token] = 1e4
    return changed


def texts(outputs):
    return [[candidate.text for candidate in output.candidates] for output in outputs]


def test_greedy_answers_are_those_of_transformers(llama, plain_llama):
    import torch

    outputs = llama.generate(some())

    tokenizer = llama._loaded.renderer.tokenizer
    for request, output in zip(some(), outputs, strict=True):
        ids = torch.tensor([tokenizer.encode(request.prompt.text)])
        wanted = plain_llama.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=request.options.max_tokens,
            do_sample=False,
            pad_token_id=0,
        )
        assert (
            list(output.candidates[0].token_ids) == wanted[0, ids.shape[1] :].tolist()
        )


def test_greedy_answer_is_generated_once_for_several_candidates(llama):
    llama.load()
    costs, answers = [], []
    for count in (1, 3):
        before = llama.counted.tokens
        answers.append(llama.generate([ask("abc", max_tokens=4, n=count)])[0])
        costs.append(llama.counted.tokens - before)

    assert costs[0] == costs[1]
    assert [candidate.text for candidate in answers[1].candidates] == [
        answers[0].text
    ] * 3
    assert answers[1].usage.output_tokens == 3 * answers[0].usage.output_tokens


@pytest.mark.parametrize("rows", [1, 2, 5, 64])
def test_answer_does_not_depend_on_other_requests_in_the_batch(
    llama, llama_folder, rows
):
    from assay.models.local_transformers import LocalTransformers

    other = LocalTransformers(str(llama_folder), batch_size=rows)

    assert texts(other.generate(some()[::-1])[::-1]) == texts(
        [llama.generate([r])[0] for r in some()]
    )


def test_shared_prefix_is_computed_once_and_finished_answers_cost_no_tokens(llama):
    requests = some()
    llama.load()
    before = llama.counted.tokens

    outputs = llama.generate(requests)

    written = sum(len(output.candidates[0].token_ids) for output in outputs)
    shared = len(HEADER) + len("Question ")
    own = sum(len(request.prompt.text) - shared for request in requests)
    # The last token of an answer is never read; "x", "xx" … are shared too.
    computed = llama.counted.tokens - before
    assert shared + written < computed <= shared + own + written - len(requests)


def test_sampled_answers_are_the_same_alone_and_in_a_batch(llama):
    requests = some(temperature=1.0, top_p=0.9, top_k=50, n=3, seed=7)

    together = llama.generate(requests)

    assert texts(together) == texts(
        [llama.generate([request])[0] for request in requests]
    )
    assert len({candidate.text for candidate in together[-1].candidates}) == 3


def test_another_seed_samples_another_answer(llama):
    one, other = (
        llama.generate([ask("abc", temperature=1.0, max_tokens=10, seed=seed)])[0].text
        for seed in (1, 2)
    )

    assert one != other


def test_sampling_from_only_the_top_token_is_greedy(llama):
    greedy = llama.generate([ask("abc", max_tokens=8)])[0].text

    for narrow in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}):
        assert (
            llama.generate([ask("abc", max_tokens=8, temperature=1.0, **narrow)])[
                0
            ].text
            == greedy
        )


def test_the_text_ends_before_a_stop_string(llama):
    whole = llama.generate([ask("abc", max_tokens=12)])[0]
    stop = whole.text[4:6]

    cut = llama.generate([ask("abc", max_tokens=12, stop=(stop,))])[0]

    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.stop_reason == "stop"
    assert len(cut.candidates[0].token_ids) < len(whole.candidates[0].token_ids)


def test_a_stop_string_that_is_a_special_token_ends_the_answer(llama):
    loaded = llama._ready()
    special = loaded.renderer.tokenizer.convert_tokens_to_ids("<|im_start|>")
    loaded.model.lm_head.register_forward_hook(
        lambda _, __, out: favoured(out, special)
    )

    plain, stopped = llama.generate(
        [ask("abc", max_tokens=6), ask("abc", max_tokens=6, stop=("x", "<|im_start|>"))]
    )

    assert (plain.stop_reason, plain.candidates[0].token_ids) == (
        "length",
        (special,) * 6,
    )
    assert (stopped.stop_reason, stopped.candidates[0].token_ids) == (
        "stop",
        (special,),
    )
    assert stopped.text == ""


def test_answer_cut_by_the_token_limit_has_stop_reason_length(llama):
    [output] = llama.generate([ask("abc", max_tokens=3)])

    assert output.stop_reason == "length"
    assert (output.usage.input_tokens, output.usage.output_tokens) == (3, 3)


def test_logprobs_have_the_requested_number_of_alternatives(llama, plain_llama):
    import torch

    [output] = llama.generate([ask("abc", max_tokens=2, logprobs=3)])

    tokens = output.candidates[0].tokens
    ids = llama._loaded.renderer.tokenizer.encode("abc")
    with torch.inference_mode():
        best = (
            torch.log_softmax(plain_llama(torch.tensor([ids])).logits[0, -1], -1)
            .max()
            .item()
        )
    assert [len(token.top) for token in tokens] == [3, 3]
    assert tokens[0].logprob == pytest.approx(best, abs=1e-4)
    assert tokens[0].top[0][1] == tokens[0].logprob


def test_a_penalty_keeps_the_model_from_repeating_itself(llama):
    free = llama.generate([ask("aaaa", max_tokens=12)])[0].candidates[0].token_ids
    held = (
        llama.generate([ask("aaaa", max_tokens=12, presence_penalty=1e4)])[0]
        .candidates[0]
        .token_ids
    )

    assert len(set(held)) == 12 or 257 in held
    assert len(set(held)) >= len(set(free))


def test_prompt_longer_than_the_context_is_refused_or_cut(llama_folder):
    from assay.models.local_transformers import LocalTransformers

    refusing = LocalTransformers(str(llama_folder), context=20)
    cutting = LocalTransformers(str(llama_folder), context=20, truncate="left")

    [refused] = refusing.generate([ask("x" * 30, max_tokens=4)])
    [cut] = cutting.generate([ask("x" * 30, max_tokens=4)])

    assert refused.error.kind == "context"
    assert cut.details["truncated_tokens"] == 14
    assert cut.usage.input_tokens == 16


def test_logits_that_are_not_finite_fail_the_sample(llama):
    import torch

    llama.load()
    with torch.no_grad():
        llama._loaded.model.lm_head.weight.fill_(float("nan"))

    [output] = llama.generate([ask("a", max_tokens=2)])

    assert output.error.kind == "non_finite"


def test_unsupported_generation_option_is_refused(llama):
    with pytest.raises(UsageError, match="no generation option 'reasoning_effort'"):
        llama.generate([ask("a", reasoning_effort="high")])


def test_fewer_answers_are_generated_at_once_when_memory_runs_out(llama):
    import torch

    requests = [
        ask(letter * 60, max_tokens=4, temperature=1.0, seed=1) for letter in "abcdefg"
    ]
    expected = texts(llama.generate(requests))
    llama._loaded.engine.forget()
    sizes = []

    def full(module, args, kwargs):
        sizes.append(kwargs["input_ids"].numel())
        if sizes[-1] > 190:
            raise torch.OutOfMemoryError("CUDA out of memory")

    llama._loaded.model.register_forward_pre_hook(full, with_kwargs=True)

    assert texts(llama.generate(requests)) == expected
    assert max(sizes) == 7 * 60
    assert max(size for size in sizes if size <= 190) == 3 * 60
    assert llama._loaded.engine.rows == 3


def test_a_prompt_that_does_not_fit_into_memory_fails_alone(llama):
    import torch

    requests = [ask("a" * 10, max_tokens=4), ask("b" * 400, max_tokens=4)]
    [short, _] = llama.generate(requests)

    def full(module, args, kwargs):
        engine = llama._loaded.engine
        length = engine.generator.cache.length if engine.generator.cache else 0
        if length > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")

    llama._loaded.engine.forget()
    llama._loaded.model.register_forward_pre_hook(full, with_kwargs=True)

    same, failed = llama.generate(requests)

    assert same.text == short.text
    assert failed.error.kind == "oom"
    assert "400 + 4 tokens; fix: a smaller max_tokens" in failed.error.message


def test_answers_of_the_next_batch_start_before_the_first_batch_ends(llama):
    loaded = llama._ready()
    first, second = (
        loaded.prepare_generate([ask(text, max_tokens=count)])
        for text, count in (("first", 20), ("second", 4))
    )
    loaded.submit(first)
    loaded.submit(second)

    loaded.generate(first)
    passes = llama.counted.passes
    [output] = loaded.generate(second)

    assert llama.counted.passes == passes
    assert texts([output]) == texts(llama.generate([ask("second", max_tokens=4)]))


def test_answers_wait_for_a_slot_if_there_are_too_few(llama, llama_folder):
    from assay.models.local_transformers import LocalTransformers

    requests = [
        ask(f"{HEADER}{'y' * (n % 5)} {n}", max_tokens=2 + n % 4) for n in range(11)
    ]
    few = LocalTransformers(str(llama_folder), batch_size=3)

    assert texts(few.generate(requests)) == texts(llama.generate(requests))
    assert few._loaded.engine.generator.cache.count == 3


def test_slots_grow_for_a_longer_answer(llama, llama_folder):
    from assay.models.local_transformers import LocalTransformers

    fresh = LocalTransformers(str(llama_folder))
    long = ask("long " * 60, max_tokens=30)
    llama.generate([ask("short", max_tokens=2)])
    before = llama._loaded.engine.generator.cache.length

    [output] = llama.generate([long])

    assert llama._loaded.engine.generator.cache.length > before
    assert texts([output]) == texts(fresh.generate([long]))


def test_an_error_in_one_batch_does_not_stop_the_next(llama):
    loaded = llama._ready()
    broken, whole = (
        loaded.prepare_generate([ask(text, max_tokens=4)]) for text in ("broken", "abc")
    )
    expected = texts(llama.generate([ask("abc", max_tokens=4)]))
    loaded.submit(broken)
    loaded.submit(whole)

    def fail(*_):
        raise ValueError("a kernel failed")

    hook = loaded.model.register_forward_pre_hook(fail)
    with pytest.raises(ValueError, match="a kernel failed"):
        loaded.generate(broken)
    hook.remove()

    assert texts(loaded.generate(whole)) == expected


@pytest.mark.parametrize(
    ("option", "value"), [("rows", 4), ("drafts", True), ("drafts", False)]
)
def test_options_of_the_former_engine_are_deprecated(llama_folder, option, value):
    from assay.models.local_transformers import LocalTransformers

    with pytest.warns(DeprecationWarning, match="`batch_size` sets how many"):
        LocalTransformers(str(llama_folder), **{option: value})


def test_logits_that_are_not_finite_do_not_affect_the_next_sample(
    llama_folder,
):
    import torch

    from assay.models.local_transformers import LocalTransformers

    model = LocalTransformers(str(llama_folder), batch_size=1)
    requests = [ask("a longer one with z in it", max_tokens=6), ask("b", max_tokens=6)]
    [clean] = model.generate(requests[1:])
    with torch.no_grad():
        token = model._loaded.renderer.tokenizer.encode("z")[0]
        model._loaded.model.get_input_embeddings().weight[token] = float("nan")

    broken, whole = model.generate(requests)

    assert broken.error.kind == "non_finite"
    assert broken.error.message == "the model computed logits that are not finite"
    assert texts([whole]) == texts([clean])


def test_truncate_middle_drops_the_middle_of_a_prompt(llama_folder):
    from assay.models.local_transformers import LocalTransformers

    cutting = LocalTransformers(str(llama_folder), context=20, truncate="middle")

    [cut] = cutting.generate([ask("a" * 15 + "b" * 15, max_tokens=4)])
    [whole] = cutting.generate([ask("a" * 8 + "b" * 8, max_tokens=4)])

    assert cut.details["truncated_tokens"] == 14
    assert texts([cut]) == texts([whole])
    assert "truncated_tokens" not in whole.details


@pytest.mark.parametrize("policy", ["left", "middle"])
def test_max_tokens_of_the_model_reserves_at_most_half_of_the_context(
    llama_folder, policy
):
    from assay.models.local_transformers import LocalTransformers

    model = LocalTransformers(str(llama_folder), context=48, truncate=policy)

    [cut] = model.generate([ask("x" * 100)])

    assert cut.usage.input_tokens == 24
    assert cut.details["truncated_tokens"] == 76


@pytest.mark.parametrize(("asked", "kept"), [(4, 44), (30, 18), (40, 12), (512, 12)])
def test_max_tokens_of_the_request_reserves_at_most_three_quarters_of_the_context(
    llama_folder, asked, kept
):
    from assay.models.local_transformers import LocalTransformers

    model = LocalTransformers(str(llama_folder), context=48, truncate="left")

    # One token less than the context, and many more.
    for length in (47, 100):
        [cut] = model.generate([ask("x" * length, max_tokens=asked)])

        assert cut.usage.input_tokens == kept
        assert cut.details["truncated_tokens"] == length - kept


def test_an_answer_cut_by_the_context_is_marked(llama_folder):
    from assay.models.local_transformers import LocalTransformers

    model = LocalTransformers(str(llama_folder), context=64)

    squeezed, asked_for = model.generate([ask("x" * 61), ask("x" * 61, max_tokens=2)])
    stop = squeezed.text[:1]
    [stopped] = model.generate([ask("x" * 61, stop=(stop,))])

    assert squeezed.stop_reason == "length" and squeezed.usage.output_tokens == 3
    assert squeezed.details == {"answer_room": 3}
    assert asked_for.details == {}
    assert stopped.stop_reason == "stop" and stopped.details == {}


def test_messages_refused_by_the_chat_template_fail_only_their_sample(
    llama_folder, tmp_path
):
    import assay

    picky = "{% if messages[0].content == 'bad' %}{{ raise_exception('not this one') }}{% endif %}x"
    rows = [
        {"id": name, "question": name, "answer": "x"}
        for name in ("good", "bad", "fine")
    ]

    done = assay.run(
        assay.Task("qa", dataset=rows),
        f"hf/{llama_folder}",
        model_args={"chat_template": picky, "max_tokens": 2},
        output=str(tmp_path / "run"),
    )

    assert done.status == "partial"
    assert done[0].outcomes["model_error"] == 1 and done[0].n_expected == 3
    assert any(
        "bad: chat_template: " in note and "not this one" in note for note in done.notes
    )


@pytest.fixture
def layer():
    import torch

    torch.manual_seed(1)
    return torch.nn.Linear(24, 40)


@pytest.mark.parametrize("free", [0, 1 << 30])
@pytest.mark.parametrize("count", [1, 3, 4, 7, 12, 16, 17, 64, 65])
def test_repacked_weights_and_padded_blocks_give_the_same_products(layer, count, free):
    import torch

    from assay.models.local_transformers.few_rows import (
        FEWEST,
        MOST,
        PAYS_AFTER,
        can_lay_out,
        hasten,
    )

    rows = torch.randn(1, count, 24)
    usual = layer(rows)

    assert hasten(layer, free) == 1
    assert hasten(layer, free) == 0
    for _ in range(PAYS_AFTER + 1):
        assert layer(rows).shape == usual.shape
        assert torch.allclose(layer(rows), usual, atol=1e-6)
    is_laid_out = bool(free) and can_lay_out() and FEWEST <= count <= MOST
    assert (layer.forward.laid_out is not None) == is_laid_out


def test_repacked_weights_are_freed_when_memory_runs_out(layer):
    import torch

    from assay.models.local_transformers.few_rows import (
        PAYS_AFTER,
        drop_laid_out,
        hasten,
    )

    rows = torch.randn(1, 8, 24)
    usual = layer(rows)
    hasten(layer, 1 << 30)

    for _ in range(PAYS_AFTER):
        layer(rows)
    drop_laid_out(layer)
    again = [layer(rows) for _ in range(PAYS_AFTER)]

    assert layer.forward.laid_out is None
    assert all(torch.allclose(found, usual, atol=1e-6) for found in again)


def test_blocks_are_padded_if_torch_cannot_repack_weights(layer, monkeypatch):
    import torch

    from assay.models.local_transformers import few_rows

    def missing(*_):
        raise AttributeError("no such product")

    monkeypatch.setattr(few_rows, "product", missing)
    rows = torch.randn(1, 8, 24)
    usual = layer(rows)

    few_rows.hasten(layer, 1 << 30)

    assert all(
        torch.allclose(layer(rows), usual, atol=1e-6)
        for _ in range(few_rows.PAYS_AFTER + 1)
    )
