"""Scorers of users that ask a helper model: the plain call, and the messages for natural mistakes."""

import json

import pytest

from assay.cli.main import main

JUDGE = """
def generate(messages):
    parts = messages[-1]["content"]
    kinds = [p.get("type") for p in parts] if isinstance(parts, list) else ["text"]
    text = parts if isinstance(parts, str) else " ".join(p.get("text", "") for p in parts)
    if "broken" in text:
        raise RuntimeError("no such thing")
    return f"{len(messages)} {'+'.join(kinds)} {'yes' if 'Paris' in text else 'no'}"
"""
SCORER = """
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from assay import Image, Message, Prompt, Score

@dataclass(frozen=True)
class Asks:
    models: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("judge",)

    async def __call__(self, sample, output):
        {body}
"""
PNG = "bytes.fromhex('89504e470d0a1a0a0000000d4948445200000001000000010806000000"
PNG += "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082')"


def run(tmp_path, body, scorer=SCORER):
    (tmp_path / "d.jsonl").write_text('{"id": "0", "question": "?", "answer": "x"}\n')
    (tmp_path / "judge.py").write_text(JUDGE)
    (tmp_path / "s.py").write_text(scorer.replace("{body}", body))
    arguments = [
        "run",
        f"{tmp_path}/d.jsonl",
        "--model",
        "scripted",
        "-a",
        "answers=Paris",
    ]
    arguments += [
        "--scorer",
        f"{tmp_path}/s.py:Asks",
        "--judge",
        f"{tmp_path}/judge.py:generate",
    ]
    arguments += ["--on_error", "continue"]
    code = main([*arguments, "-o", f"{tmp_path}/run"])
    lines = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    return code, [r for r in map(json.loads, lines) if r["kind"] == "score"][-1]


REPLY = "return Score(float('yes' in reply.text), answer=reply.text)"


@pytest.mark.parametrize(
    ("call", "reply"),
    [
        ('ask(f"Is {output.text} right?")', "1 text yes"),
        ('ask(output.text, system="Be strict.", max_tokens=8)', "2 text yes"),
        (f'ask("Paris?", Image({PNG}))', "1 image+text yes"),
        ('ask([{"role": "system", "content": "a"}, {"role": "user", "content": output.text}])', "2 text yes"),
        ('ask(Prompt((Message.of("user", output.text),)))', "1 text yes"),
    ],
)  # fmt: skip
def test_a_scorer_asks_a_helper_with_text_images_messages_or_a_prompt(
    tmp_path, call, reply
):
    code, record = run(tmp_path, f'reply = await self.models["judge"].{call}; {REPLY}')

    assert (code, record["outcome"], record["answer"]) == (0, "scored", reply)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('reply = await self.models["judge"](output.text)', "reply = await self.models['judge'].ask(text)"),
        ('reply = await self.models["judge"].generate(output.text)', "a helper model has no 'generate'"),
        (f'reply = self.models["judge"].ask(output.text); {REPLY}', "before it is awaited"),
        ('return self.models["judge"].ask(output.text)', "was not awaited"),
        ('reply = await self.models["judge"].ask(output)', "pass output.text"),
        ('reply = await self.models["judge"].ask(sample)', "pass a text made from it"),
        ('reply = await self.models["judge"].ask(7)', "a model cannot be asked 7"),
        ('reply = await self.models["grader"].ask("x")', "name the role in `needs` (it has 'judge')"),
        (f'reply = await self.models["judge"].ask("broken"); {REPLY}', "no such thing"),
    ],
)  # fmt: skip
def test_natural_mistakes_are_judge_errors_that_say_what_to_write(
    tmp_path, body, words
):
    _, record = run(tmp_path, body)

    assert record["outcome"] == "judge_error"
    assert words in record["details"]["error"]


def test_a_scorer_without_a_field_for_models_is_refused_before_the_run(
    tmp_path, capsys
):
    source = "class Asks:\n    needs = ('judge',)\n    async def __call__(self, sample, output): return 1.0\n"

    with pytest.raises(FileNotFoundError):
        run(tmp_path, "", source)
    assert "has no field `models`" in capsys.readouterr().err


def test_a_scorer_that_asks_and_is_not_async_is_refused_before_the_run(
    tmp_path, capsys
):
    with pytest.raises(FileNotFoundError):
        run(tmp_path, REPLY, SCORER.replace("async def", "def"))
    assert "asks helper models and is not async" in capsys.readouterr().err
