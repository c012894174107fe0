"""From names to models."""

from pathlib import Path

import pytest

from assay.core import Abilities, Message, Prompt, Request, UnknownName, UsageError
from assay.models import adapt_model, build_model
from assay.models.scripted import Scripted

ASK = Request(Prompt((Message.of("user", "hi"),)))


def test_a_registered_name_is_built_from_its_options():
    model = build_model("scripted", {"answers": ["yes"]})

    assert isinstance(model, Scripted)
    assert model.generate([ASK])[0].text == "yes"


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(
        UnknownName, match=r"unknown model 'scriptd'; fix: did you mean 'scripted'\?"
    ):
        build_model("scriptd")


def test_an_embedded_name_is_among_the_suggestions():
    with pytest.raises(UnknownName, match="did you mean 'smollm2'"):
        build_model("smollm")


def test_an_unknown_option_is_answered_with_the_nearest():
    with pytest.raises(
        UsageError,
        match=r"model 'scripted' has no option 'answer'; fix: did you mean 'answers'\?",
    ):
        build_model("scripted", {"answer": "x"})


def test_what_follows_the_slash_goes_to_the_field_the_class_names():
    model = build_model("openai/org/some-model", {"base_url": "http://127.0.0.1:9/v1"})

    assert model.identity["openai"] == "org/some-model"


def test_a_model_without_a_reference_refuses_text_after_the_slash():
    with pytest.raises(
        UsageError, match="model 'scripted' takes nothing after the slash"
    ):
        build_model("scripted/what")


@pytest.mark.parametrize("form", ["path", "gguf/path", "gguf + path"])
def test_weights_are_found_in_all_three_spellings(tmp_path, form):
    pytest.importorskip("xllamacpp", reason="pip install xllamacpp")
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF....")
    spelled = {
        "path": (str(file), {}),
        "gguf/path": (f"gguf/{file}", {}),
        "gguf + path": ("gguf", {"path": str(file)}),
    }

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

    with pytest.raises(
        UsageError,
        match=r"mine\.py does not say which model; fix: write .*mine\.py:name",
    ):
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


class HalfAsync:
    """Awaited when it writes, called when it weighs."""

    abilities = Abilities(likelihood=True)
    identity = {"half": 1}  # noqa: RUF012

    async def generate(self, requests):
        return []

    def likelihood(self, requests):
        return []


@pytest.mark.parametrize("thing", [HalfAsync, HalfAsync()], ids=["class", "object"])
def test_a_ready_model_is_asked_in_one_way(thing):
    with pytest.raises(
        UsageError,
        match="model 'HalfAsync' has only one of `generate` and `likelihood` async",
    ):
        adapt_model(thing)


COUNTED = "a whole number from 1 on"
FAULTS = {
    "batch_size = -2": ("batch_size must be a positive integer, got -2", COUNTED),
    "batch_size = 0": ("batch_size must be a positive integer, got 0", COUNTED),
    'batch_size = "8"': ("batch_size must be a positive integer, got '8'", COUNTED),
    "concurrency = -1": ("concurrency must be a positive integer, got -1", COUNTED),
    "concurrency = True": ("concurrency must be a positive integer, got True", COUNTED),
    'abilities = {"accepts": ["text"]}': ("`abilities` of model", r"write abilities = Abilities\(accepts"),
    'identity, abilities = "x", assay.core.Abilities()': (
        "`identity` of model .* is 'x'", "write identity = a dictionary"
    ),
}  # fmt: skip


@pytest.mark.parametrize("attribute", FAULTS)
def test_what_a_class_says_of_itself_is_checked_when_it_is_built(tmp_path, attribute):
    what, fix = FAULTS[attribute]
    file = tmp_path / "mine.py"
    method = "def generate(self, requests): return ['4'] * len(requests)"
    file.write_text(f"import assay\nclass M:\n    {attribute}\n    {method}\n")

    with pytest.raises(UsageError, match=f"{what}.*; fix: {fix}"):
        build_model(f"{file}:M")


@pytest.mark.parametrize(
    "attribute",
    [
        "batch_size = 8",
        "concurrency = None",
        "abilities = None",
        'identity = "my-model-v1"',
    ],
)
def test_valid_declarations_are_accepted(tmp_path, attribute):
    file = tmp_path / "mine.py"
    file.write_text(
        f"class M:\n    {attribute}\n    def generate(self, requests): return ['4'] * len(requests)\n"
    )

    assert build_model(f"{file}:M").generate([ASK])[0].text == "4"


def test_a_count_of_numpy_is_a_count(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy\nclass M:\n    batch_size, concurrency = numpy.int64(4), numpy.int32(2)\n"
        "    def generate(self, requests): return ['4'] * len(requests)\n"
    )

    model = build_model(f"{file}:M")

    assert [
        (type(count), count) for count in (model.batch_size, model.concurrency)
    ] == [(int, 4), (int, 2)]


def test_an_identity_that_is_not_a_dictionary_is_ignored_for_an_adapted_class(
    tmp_path,
):
    file = tmp_path / "mine.py"
    file.write_text(
        "class M:\n    identity = 'v1'\n    def generate(self, requests): return ['4'] * len(requests)\n"
    )

    assert build_model(f"{file}:M").identity["file"] == "mine.py"


def test_an_invalid_count_is_refused_before_any_request():
    with pytest.raises(
        UsageError,
        match=r"model 'openai': concurrency must be a positive integer, got -1; fix: a whole number from 1 on",
    ):
        build_model(
            "openai/name", {"base_url": "http://127.0.0.1:9/v1", "concurrency": -1}
        )


def test_a_model_given_as_an_object_is_checked_too():
    model = Scripted(["yes"])
    model.batch_size = -2

    with pytest.raises(
        UsageError, match="batch_size must be a positive integer, got -2"
    ):
        adapt_model(model)
