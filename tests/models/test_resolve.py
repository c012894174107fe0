"""From names to models."""

from pathlib import Path

import pytest

from assay.core import Message, Prompt, Request, UnknownName, UsageError
from assay.models import build_model
from assay.models.scripted import Scripted

ASK = Request(Prompt((Message.of("user", "hi"),)))


def test_a_registered_name_is_built_from_its_options():
    model = build_model("scripted", {"answers": ["yes"]})

    assert isinstance(model, Scripted)
    assert model.generate([ASK])[0].text == "yes"


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match=r"unknown model 'scriptd'; fix: did you mean 'scripted'\?"):
        build_model("scriptd")


def test_an_embedded_name_is_among_the_suggestions():
    with pytest.raises(UnknownName, match="did you mean 'smollm2'"):
        build_model("smollm")


def test_an_unknown_option_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match=r"model 'scripted' has no option 'answer'; fix: did you mean 'answers'\?"):
        build_model("scripted", {"answer": "x"})


def test_what_follows_the_slash_goes_to_the_field_the_class_names():
    model = build_model("openai/org/some-model", {"base_url": "http://127.0.0.1:9/v1"})

    assert model.identity["openai"] == "org/some-model"


def test_a_model_that_takes_nothing_after_the_slash_says_so():
    with pytest.raises(UsageError, match="model 'scripted' takes nothing after the slash"):
        build_model("scripted/what")


@pytest.mark.parametrize("form", ["path", "gguf/path", "gguf + path"])
def test_weights_are_found_in_all_three_spellings(tmp_path, form):
    pytest.importorskip("xllamacpp", reason="pip install xllamacpp")
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF....")
    spelled = {"path": (str(file), {}), "gguf/path": (f"gguf/{file}", {}), "gguf + path": ("gguf", {"path": str(file)})}

    model = build_model(*spelled[form])

    assert Path(model.path) == file


def test_a_file_without_a_name_means_its_generate(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def generate(text):\n    return text.upper()")

    model = build_model(str(file))

    assert model.generate([ASK])[0].text == "HI"


def test_a_file_without_generate_asks_for_a_name(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def answer(text):\n    return text")

    with pytest.raises(UsageError, match=r"mine\.py does not say which model; fix: write .*mine\.py:name"):
        build_model(str(file))


def test_a_class_that_is_a_model_already_is_used_as_it_is(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from assay.core import Abilities, Output\n"
        "class Mine:\n"
        "    abilities = Abilities()\n"
        "    identity = {'mine': 1}\n"
        "    def generate(self, requests):\n"
        "        return [Output.of('x')] * len(requests)\n"
    )

    model = build_model(f"{file}:Mine")

    assert type(model).__name__ == "Mine"


def test_a_thing_that_cannot_answer_is_refused(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("number = 3\ndef nothing():\n    return ''")

    with pytest.raises(UsageError, match="is of type int, not a function or a class"):
        build_model(f"{file}:number")
    with pytest.raises(UsageError, match="takes no messages"):
        build_model(f"{file}:nothing")
