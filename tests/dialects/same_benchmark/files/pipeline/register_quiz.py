import json

from dataset_registry import DatasetRegistry
from evaluator_registry import EvaluatorRegistry

KINDS = {"word": "one word", "number": "a number"}


def load_rows(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def quiz_prompt(item):
    return f"{item['question']} Answer with {KINDS[item['kind']]}."


def talk_prompt(item):
    return item["says"][0]


def quiz_evaluator(engine, data, batch_size=64, **kwargs):
    correct = 0
    for i in range(0, len(data), batch_size):
        batch = data[i : i + batch_size]
        tokens, _ = engine.generate_batch(
            [item["prompt"] for item in batch], max_length=16
        )
        for pred, item in zip(engine.decode_tokens(tokens), batch, strict=True):
            correct += pred.strip() == str(item["reference"])
    return {"accuracy": correct / len(data)}


def talk_evaluator(engine, data, batch_size=64, **kwargs):
    correct = 0
    for item in data:
        text = item["prompt"]
        for said in [*item["raw"]["says"][1:], None]:
            tokens, _ = engine.generate_batch([text], max_length=16)
            answer = engine.decode_tokens(tokens)[0]
            text = f"{text}\n{answer}\n{said}"
        correct += answer.strip() == str(item["reference"])
    return {"accuracy": correct / len(data)}


for name, prompt, evaluator in [
    ("quiz", quiz_prompt, quiz_evaluator),
    ("talk", talk_prompt, talk_evaluator),
]:
    DatasetRegistry.register(
        name=name,
        loader=load_rows,
        prompt_template=prompt,
        description=name,
        default_batch_size=2,
        default_max_length=16,
    )
    EvaluatorRegistry.register(
        name=name, evaluator=evaluator, description="equal words", metrics=["accuracy"]
    )
