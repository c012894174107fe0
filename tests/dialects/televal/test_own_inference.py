"""A model class with an `inference` of its own: it is called, with what the template rendered."""

import json

from .test_dialogues import TEMPLATE


def test_an_override_of_inference_is_called_for_questions(project):
    project.model(
        "    def inference(self, inputs, **kwargs):\n"
        "        [turns] = inputs\n"
        "        return [{'pred': json.dumps([turns, kwargs]), 'seen': len(inputs)}]\n"
        "    def generate_once(self, audio, **kwargs):\n        raise RuntimeError('not this one')\n"
    )
    roles = [
        {"role": "instruct", "content": {"text": "be short"}},
        {"role": "user", "content": {"text": "{{query}}"}},
    ]
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": roles}
    )
    project.rows({"key": "a", "query": "1949", "answer": "1949"})

    project.run("task")

    turns, kwargs = json.loads(project.records()[0]["output"]["candidates"][0]["text"])
    assert turns == [roles[0], {"role": "user", "content": {"text": "1949"}}]
    assert kwargs == {
        "reverse_spkr": False,
        "use_model_history": True,
        "save_latest_only": False,
    }


def test_an_override_may_go_on_with_the_inference_it_overrides(project):
    project.model(
        "    def inference(self, inputs, **kwargs):\n"
        "        return [{**one, 'pred': one['pred'].upper()} for one in super().inference(inputs, **kwargs)]\n"
        "    def generate_once(self, audio, **kwargs):\n        return {'pred': f\"said {kwargs['query']}\"}\n"
    )

    project.run("task")

    said = [record["output"]["candidates"][0]["text"] for record in project.records()]
    assert said == ["SAID IS IT 1949?", "SAID NULL"]


def test_an_override_is_given_a_dialogue_whole_and_answers_every_round(project):
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": TEMPLATE}
    )
    project.model(
        "    asked = 0\n"
        "    def inference(self, inputs, **kwargs):\n"
        "        Echo.asked += 1\n"
        "        [script] = inputs\n"
        "        says = [turn['content']['text'] for turn in script['dialogue'] if turn['role'] == 'A']\n"
        "        return [[{'pred': f'{Echo.asked}: {text}'} for text in says]]\n"
    )
    row = {"key": "d", "nrounds": 2, "answer": None}
    row |= {f"{who}_text{n}": f"{who} {n}" for who in ("user", "bot") for n in (1, 2)}
    project.rows(row)

    project.televal("infer")

    lines = project.lines("save/prediction/echo/task.jsonl")
    assert [(line["nround"], line["pred"], line["ref"]) for line in lines] == [
        (1, "1: user 1", "bot 1"),
        (2, "1: user 2", "bot 2"),
    ]


def test_an_override_of_the_wrong_shape_gets_an_error_that_names_it(project):
    project.model(
        "    def inference(self, inputs, **kwargs):\n        return {'pred': 'x'}\n"
    )

    result = project.run("task", on_error="continue")

    assert any(
        "Echo.inference returned {'pred': 'x'} for one input, not a list of one" in n
        for n in result.notes
    )


def test_a_dialogue_with_too_few_answers_is_an_error(project):
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": TEMPLATE}
    )
    project.model(
        "    def inference(self, inputs, **kwargs):\n        return [[{'pred': 'only one'}]]\n"
    )
    row = {"key": "d", "nrounds": 2, "answer": None}
    row |= {f"{who}_text{n}": f"{who} {n}" for who in ("user", "bot") for n in (1, 2)}
    project.rows(row)

    result = project.run("task", on_error="continue")

    assert any(
        "for a dialogue of 2 rounds, not one for each" in note for note in result.notes
    )
