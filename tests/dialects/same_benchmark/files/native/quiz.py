"""The quiz and the dialogues as assay's own users write them."""

from assay import Message, Sample, Task

KINDS = {"word": "one word", "number": "a number"}


def ask(sample):
    return Message.of(
        "user",
        *sample.media,
        f"{sample['question']} Answer with {KINDS[sample['kind']]}.",
    )


def dialogue(row):
    first, *later = row["says"]
    return Sample(row["id"], first, row["answer"], fields=row, turns=tuple(later))


quiz = Task("quiz", dataset="quiz.jsonl", template=ask, scorers="exact_match")
talk = Task("talk", dataset="talk.jsonl", to_sample=dialogue, scorers="exact_match")
