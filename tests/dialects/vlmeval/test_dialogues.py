"""Dialogues of several turns (`TYPE = 'MT'`): each turn is asked after the model's own answer to the one before."""

import ast

import pandas
import pytest

from assay.dialects.vlmeval.vlmeval_command import evaluate
from assay.store import RunReader

TALK = """
    from vlmeval.smp import *
    from vlmeval.dataset.image_mt import ImageMTDataset

    class Talk(ImageMTDataset):
        DATASET_URL = {'Talk': ''}
        SEEN = []

        def evaluate(self, eval_file, **judge_kwargs):
            data = load(eval_file)
            self.SEEN.extend(data['prediction'])
            turns = [len(toliststr(p)) for p in data['prediction']]
            return {'turns': float(np.mean(turns))}
"""
CHATTER = """
    from vlmeval.vlm import BaseModel
    from vlmeval.api import BaseAPI

    class Chatter(BaseModel):
        HEARD = []

        def generate_inner(self, message, dataset=None):
            raise AssertionError('a dialogue is no single question')

        def chat_inner(self, messages, dataset=None):
            with open('chats.txt', 'a') as log:
                log.write(messages[-1]['content'][-1]['value'] + '\\n')
            self.HEARD.append([(m['role'], [c['type'] for c in m['content']]) for m in messages])
            if 'fail' in messages[-1]['content'][-1]['value']:
                raise RuntimeError('no more')
            return f"{dataset} {len(messages)}: {messages[-1]['content'][-1]['value']}"

    class Remote(BaseAPI):
        def generate_inner(self, inputs, **kwargs):
            return 0, f"{len(inputs)} {inputs[-1]['content'][-1]['value']}", ''

    class Single:
        def generate(self, image_path, prompt, dataset=None):
            return 'x'
"""


@pytest.fixture
def talk(table, picture, file):
    both = f"['{picture(1)}', '{picture(2)}']"
    table(
        "Talk",
        "index image question answer",
        [
            [
                0,
                both,
                "['<ImageHere>who?', 'and <ImageHere> here?', 'so?']",
                "['a', 'b', 'c']",
            ],
            [1, picture(3), "['<ImageHere>one turn']", "['d']"],
        ],
    )
    return file("talk.py", TALK)


@pytest.fixture
def chatter(file):
    return file("chatter.py", CHATTER)


def test_every_turn_sees_the_models_own_answers_and_its_pictures_in_place(
    talk, chatter, run
):
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    result = run(talk, f"{chatter}:Chatter")

    assert result.value("evaluate.turns") == 2.0
    first, alone, second, third = sorted(
        TOOLKIT.load(chatter).module.Chatter.HEARD, key=len
    )
    assert first == [("user", ["image", "text"])]
    assert second == [
        *first,
        ("assistant", ["text"]),
        ("user", ["text", "image", "text"]),
    ]
    assert third == [*second, ("assistant", ["text"]), ("user", ["text"])]
    assert alone == [("user", ["image", "text"])]


def test_predictions_are_lists_in_the_file_and_for_the_users_evaluate(
    talk, chatter, tmp_path
):
    from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT

    (result,) = evaluate(["--data", f"{talk}:Talk", "--model", f"{chatter}:Chatter"])

    said = [["Talk 1: who?", "Talk 3:  here?", "Talk 5: so?"], ["Talk 1: one turn"]]
    assert [
        ast.literal_eval(text) for text in TOOLKIT.load(talk).module.Talk.SEEN
    ] == said
    saved = pandas.read_excel(tmp_path / "outputs" / "Chatter" / "Chatter_Talk.xlsx")
    assert [ast.literal_eval(text) for text in saved["prediction"]] == said
    assert result.status == "complete"


def test_an_api_class_is_asked_whole_chats(talk, chatter, run):
    result = run(talk, f"{chatter}:Remote")

    texts = [
        record.output["candidates"][0]["text"]
        for record in RunReader(result.folder).outputs()
    ]
    assert sorted(texts) == ["1 one turn", "1 who?", "3  here?", "5 so?"]


def test_a_model_of_single_questions_fails_by_name_on_a_dialogue(talk, chatter, run):
    result = run(talk, f"{chatter}:Single", on_error="continue")

    errors = {
        record.output["error"]["message"]
        for record in RunReader(result.folder).outputs()
    }
    assert result.status == "failed"
    assert all(
        "the prompt is a dialogue and Single has no chat_inner" in error
        for error in errors
    )


def test_an_interrupted_dialogue_continues_at_the_failed_turn(
    talk, chatter, table, picture, run, tmp_path, lmu
):
    table(
        "Talk",
        "index image question answer",
        [[0, picture(1), "['<ImageHere>one', 'fail now']", "['a', 'b']"]],
    )

    first = run(talk, f"{chatter}:Chatter", on_error="continue")
    again = run(talk, f"{chatter}:Chatter", on_error="continue")

    assert first.status == again.status == "failed"
    assert (tmp_path / "chats.txt").read_text().split("\n").count("one") == 1


def test_a_dialogue_without_an_evaluate_is_answered_and_not_judged(
    talk, chatter, file, run
):
    source = """
        from vlmeval.dataset import ImageMTDataset

        class Talk(ImageMTDataset):
            DATASET_URL = {'Talk': ''}
    """
    bare = file("bare.py", source)

    result = run(bare, f"{chatter}:Chatter")

    assert [row.metric for row in result] == ["answered"]


def test_more_places_than_pictures_is_a_fault_of_that_row(
    talk, chatter, table, picture, run
):
    table(
        "Talk",
        "index image question answer",
        [
            [0, picture(1), "['<ImageHere><ImageHere>one']", "['a']"],
            [1, picture(1), "['<ImageHere>one']", "['a']"],
        ],
    )

    result = run(talk, f"{chatter}:Chatter")

    assert result[0].outcomes["data_error"] == 1
    assert any("more often than it has images" in note for note in result.notes)


def test_a_model_of_assay_is_asked_turn_by_turn_too(talk, run):
    from assay.models.scripted import Scripted

    result = run(
        talk,
        Scripted(
            lambda request: str(sum(m.role == "assistant" for m in request.messages))
        ),
    )

    texts = [
        record.output["candidates"][0]["text"]
        for record in RunReader(result.folder).outputs()
    ]
    assert sorted(texts) == ["0", "0", "1", "2"]
