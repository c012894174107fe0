"""Model classes of both generations."""

import pytest

from assay.core import Image, Message, ModelError, Prompt, Request
from assay.dialects.vlmeval import model

HEADER = "index image question answer"


def ask(*parts: object, **more: object) -> Request:
    return Request(
        Prompt((Message.of("user", *parts),)), hints={"dataset": "D"}, **more
    )


def test_a_model_is_called_by_keywords_or_by_position(file):
    source = """
        class Named:
            def generate(self, image_path, prompt, dataset=None):
                return f'{image_path} {prompt} {dataset}'

        class Bare:
            def generate(self, picture, words):
                return f'{picture} {words}'
    """
    path = file("m.py", source)
    request = ask(Image("a.png", name="a.png"), "what?")
    file("a.png", "")

    named, bare = model(f"{path}:Named", {}), model(f"{path}:Bare", {})

    assert named.generate([request])[0].text == "a.png what? D"
    assert bare.generate([request])[0].text == "a.png what?"


def test_options_go_to_the_constructor_and_nothing_is_built_before_it_is_needed(file):
    source = """
        BUILT = []
        class M:
            def __init__(self, size=1):
                BUILT.append(size)
                self.size = size
            def generate(self, image_path, prompt, dataset=None):
                return str(self.size)
    """
    made = model(file("m.py", source) + ":M", {"size": 7})

    built = type(made.kind)  # looking at it builds nothing
    assert built is type
    assert made.generate([ask("x")])[0].text == "7"


def test_a_name_in_supported_vlm_is_a_model(file):
    source = """
        from functools import partial
        from vlmeval.config import supported_VLM
        from vlmeval.vlm import BaseModel

        class M(BaseModel):
            def __init__(self, word):
                self.word = word
            def generate_inner(self, message, dataset=None):
                return self.word + message[0]['value']

        supported_VLM['my-model'] = partial(M, word='hello ')
    """
    made = model(file("m.py", source) + ":my-model", {})

    assert made.generate([ask("you")])[0].text == "hello you"


def test_an_api_class_answers_with_a_triple_and_a_code_other_than_0_is_a_failure(file):
    import asyncio

    source = """
        from vlmeval.api.base import BaseAPI

        class Api(BaseAPI):
            def generate_inner(self, inputs, **kwargs):
                return (0, 'fine', 'log') if inputs[0]['value'] == 'ok' else (-1, '', 'quota exceeded')
    """
    made = model(file("m.py", source) + ":Api", {})

    good, bad = asyncio.run(made.generate([ask("ok"), ask("no")]))

    assert good.text == "fine"
    assert "quota exceeded" in bad.error.message


def test_a_chat_reaches_chat_inner(file):
    source = """
        from vlmeval.vlm import BaseModel

        class Chat(BaseModel):
            def generate_inner(self, message, dataset=None):
                return 'single'
            def chat_inner(self, messages, dataset=None):
                return ' '.join(m['role'] for m in messages)
    """
    made = model(file("m.py", source) + ":Chat", {})
    turns = (
        Message.of("user", "a"),
        Message.of("assistant", "b"),
        Message.of("user", "c"),
    )

    assert made.generate([Request(Prompt(turns))])[0].text == "user assistant user"


def test_a_file_without_a_model_gives_none(file):
    assert (
        model(
            file(
                "d.py",
                "class D:\n    def build_prompt(self, line, dataset=None): ...\n",
            ),
            {},
        )
        is None
    )


def test_calling_generate_by_hand_accepts_strings_dicts_and_lists(file, tmp_path):
    from assay.dialects.vlmeval.vlmeval_model_bases import BaseModel

    class Echo(BaseModel):
        def generate_inner(self, message, dataset=None):
            return [entry["type"] for entry in message]

    file("a.png", "x")
    echo = Echo()

    assert echo.generate("hi") == ["text"]
    assert echo.generate(["a.png", "what?"]) == ["image", "text"]
    assert echo.generate({"type": "text", "value": "x"}) == ["text"]
    assert echo.message_to_promptimg(
        [{"type": "image", "value": "p"}, {"type": "text", "value": "t"}]
    ) == ("t", "p")


def test_the_dataset_may_insist_on_its_own_prompt(table, picture, file, run):
    table("Mine", HEADER, [[0, picture(0), "Q", "dataset"]])
    source = """
        from vlmeval.dataset import ImageBaseDataset
        from vlmeval.vlm import BaseModel

        class Mine(ImageBaseDataset):
            DATASET_URL = {'Mine': ''}
            force_use_dataset_prompt = True
            def build_prompt(self, line):
                return 'dataset'

        class M(BaseModel):
            def use_custom_prompt(self, dataset):
                return True
            def build_prompt(self, line, dataset=None):
                return 'model'
            def generate_inner(self, message, dataset=None):
                return message[0]['value']
    """
    path = file("both.py", source)

    result = run(path, f"{path}:M")

    assert result.value("exact_match") == 1.0


@pytest.mark.parametrize("suffix", ["", ":Missing"])
def test_a_missing_model_lists_the_existing_ones(file, suffix):
    from assay.core import UsageError

    source = (
        "class A:\n    def generate(self, image_path, prompt): ...\nclass B(A): ...\n"
    )

    with pytest.raises(UsageError, match=r"write|has A, B"):
        model(file("m.py", source) + suffix, {})


def test_a_class_that_cannot_be_built_stops_the_run_with_one_line(
    table, picture, file, run
):
    path = table("Mine", HEADER, [[n, picture(0), "Q", "x"] for n in range(3)])
    source = """
        from vlmeval.vlm.base import BaseModel

        class M(BaseModel):
            def __init__(self, weights):
                super().__init__()

            def use_custom_prompt(self, dataset):
                return True

            def build_prompt(self, line, dataset=None):
                return [dict(type='text', value='mine')]

            def generate_inner(self, message, dataset=None):
                return 'x'
    """

    with pytest.raises(
        ModelError,
        match=r"could not be built: TypeError: .*'weights'.*fix: -a weights=",
    ):
        run(path, f"{file('m.py', source)}:M")
