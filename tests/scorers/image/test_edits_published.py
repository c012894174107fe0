"""GEdit-Bench and ImgEdit by the prompts of a checkout; the checkouts of these tests have short texts of their own."""

import asyncio
import json

import pytest

from assay.core import Image, ModelError, Outcome, Output, Sample, UsageError
from assay.scorers.image.edit_ratings import ImgEditPublished, VieScorePublished

GIVEN, MADE = Image(b"\x89PNG given"), Image(b"\x89PNG made")
SAMPLE = Sample("e", "Make it blue.", media=(GIVEN,), tags={"category": "adjust"})
VIE_PROMPTS = '''# generated
raise RuntimeError("must not run")
_context_no_delimit = """You are an artist.
Reply with {"score": [...]}"""
_context = "another context"
_prompts_0shot_two_image_edit_rule = "RULES of two images"
_prompts_0shot_tie_rule_SC = "Editing instruction: <instruction>"
_prompts_0shot_rule_PQ = "RULES of one image"
'''
EDIT_PROMPTS = {
    "adjust": "Grade the change <edit_prompt>.\n",
    "add": "Grade <edit_prompt>.",
}


class Judge:
    def __init__(self, *replies):
        self.replies, self.prompts = list(replies), []

    async def ask(self, prompt, options=None):
        self.prompts.append(prompt)
        reply = self.replies[len(self.prompts) - 1]
        if isinstance(reply, Exception):
            raise reply
        return Output.of(reply)


@pytest.fixture
def gedit(tmp_path):
    """A checkout of the layout that Step1X-Edit has."""
    path = tmp_path / "Step1X-Edit" / "GEdit-Bench" / "viescore" / "vie_prompts.py"
    path.parent.mkdir(parents=True)
    path.write_text(VIE_PROMPTS)
    return str(tmp_path / "Step1X-Edit")


@pytest.fixture
def imgedit(tmp_path):
    """A checkout of the layout that ImgEdit has."""
    path = tmp_path / "ImgEdit" / "Benchmark" / "Basic" / "prompts.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(EDIT_PROMPTS))
    return str(tmp_path / "ImgEdit")


def score(scorer, output=None, sample=SAMPLE):
    return asyncio.run(scorer(sample, output or Output.of(MADE)))


def test_gedit_asks_the_official_texts_in_one_turn_with_the_images_behind(gedit):
    judge = Judge('{"score": [9, 4], "reasoning": "x"}', '{"score": [10, 9]}')

    result = score(VieScorePublished(gedit, models={"judge": judge}))

    assert result.value == {"semantics": 4.0, "quality": 9.0, "overall": 6.0}
    edit, quality = judge.prompts
    assert [message.role for message in edit.messages] == ["user"]
    assert edit.messages[0].text == (
        'You are an artist.\nReply with {"score": [...]}\nRULES of two images\n'
        "Editing instruction: Make it blue."
    )
    assert [image.source for image in edit.media] == [GIVEN.source, MADE.source]
    assert quality.messages[0].text.endswith('{"score": [...]}\nRULES of one image')
    assert [image.source for image in quality.media] == [MADE.source]


def test_imgedit_asks_the_prompt_of_the_edit_type(imgedit):
    judge = Judge(
        "Brief reasoning: the hue is right, 5 of 5.\nPrompt Compliance: 5\n"
        "Visual Seamlessness: 4\nPhysical & Detail Fidelity: 4"
    )

    result = score(ImgEditPublished(imgedit, models={"judge": judge}))

    assert result.value == {"overall": 4.33}
    assert judge.prompts[0].messages[0].text == "Grade the change Make it blue..\n"
    assert [image.source for image in judge.prompts[0].media] == [
        GIVEN.source,
        MADE.source,
    ]


def test_the_environment_names_the_checkout(gedit, imgedit, monkeypatch):
    monkeypatch.setenv("ASSAY_GEDIT", gedit)
    monkeypatch.setenv("ASSAY_IMGEDIT", imgedit)

    assert VieScorePublished().prompts.keys() == {"semantics", "quality"}
    assert ImgEditPublished().prompts == EDIT_PROMPTS
    assert VieScorePublished().requires == ImgEditPublished().requires == ()


def test_without_a_checkout_the_run_is_refused_with_the_way_to_get_one(monkeypatch):
    monkeypatch.delenv("ASSAY_GEDIT", raising=False)
    (missing,) = VieScorePublished().requires

    with pytest.raises(UsageError, match="ASSAY_GEDIT=FOLDER"):
        missing.check("task 'gedit_upstream'")


def test_a_folder_that_is_not_a_checkout_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no Benchmark/Basic/prompts\.json"):
        ImgEditPublished(str(tmp_path))


@pytest.mark.parametrize("text", ["[1]", "{}", '{"add": 1}', "nothing"])
def test_prompts_of_another_form_are_refused(text, tmp_path):
    (tmp_path / "prompts.json").write_text(text)

    with pytest.raises(UsageError, match="not a JSON object of texts"):
        ImgEditPublished(str(tmp_path))


def test_prompts_that_lack_one_are_refused(tmp_path):
    (tmp_path / "vie_prompts.py").write_text("_context_no_delimit = 'x'\n")

    with pytest.raises(UsageError, match="lack _prompts_0shot_two_image_edit_rule"):
        VieScorePublished(str(tmp_path))


@pytest.mark.parametrize(
    "reply",
    [
        "no idea",
        '{"score": []}',
        '{"score": 5}',
        '{"score": [11, 5]}',
        ModelError("gone"),
    ],
)
def test_a_reply_without_ratings_is_a_judge_error(reply, gedit):
    judge = Judge('{"score": [9, 4]}', reply)

    result = score(VieScorePublished(gedit, models={"judge": judge}))

    assert (result.value, result.outcome) == (None, Outcome.JUDGE_ERROR)


@pytest.mark.parametrize("reply", ["fine", "Prompt Compliance: 9", ModelError("gone")])
def test_a_reply_without_lines_of_ratings_is_a_judge_error(reply, imgedit):
    judge = Judge(reply)

    result = score(ImgEditPublished(imgedit, models={"judge": judge}))

    assert (result.value, result.outcome) == (None, Outcome.JUDGE_ERROR)


def test_an_edit_type_without_a_prompt_is_a_fault_of_the_data(imgedit):
    sample = Sample("e", "Turn it.", media=(GIVEN,), tags={"category": "rotate"})

    result = score(ImgEditPublished(imgedit, models={"judge": Judge()}), sample=sample)

    assert result.outcome is Outcome.DATA_ERROR
    assert "'rotate'" in result.details["reason"]


def test_no_image_is_the_worst_edit_and_is_not_sent(gedit, imgedit):
    text = Output.of("I drew it.")
    vie = score(VieScorePublished(gedit, models={"judge": Judge()}), text)
    edit = score(ImgEditPublished(imgedit, models={"judge": Judge()}), text)

    assert (vie.value["overall"], vie.outcome) == (0.0, Outcome.UNPARSED)
    assert (edit.value["overall"], edit.outcome) == (1.0, Outcome.UNPARSED)
