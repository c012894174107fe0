"""Spoken conversation that a judge grades: open questions of VoiceBench, and replies that must fit a person.

One row of VoiceBench: `{"audio": "v1.wav", "prompt": "How do I keep basil fresh?"}`, `sd-qa` with `reference`. One row
of the replies: `{"key": "e1", "audio": "e1.wav", "query": "I lost my keys again.", "emotion": "sad"}`.

Citations: VoiceBench arXiv 2410.17196; TELEVAL arXiv 2507.18061.

Protocols: assay's own wording of the judge's instructions, so numbers are not those of the papers; `--judge MODEL` is
needed, and numbers compare only under one judge. VoiceBench: 1 to 5, `sd_qa` yes or no against the reference (speakers
from the USA; `--split aus` and so on for others), `alpacaeval` the small set, not the full one of the leaderboard.
Replies: 0 to 5, as the mean, as the share above 3 (of whole ratings, those whose square is above 60 of 100) and squared
and rescaled to 100, as TELEVAL has it. Where a model speaks and writes, the judge reads the text.
"""

from typing import Any

from ...core import GenerateOptions, Task
from ...summarizers.threshold import Rescaled, Threshold
from .modes import heard, in_modes
from .rows import Spoken, source_of

OPTIONS = GenerateOptions(temperature=0.0, max_tokens=512)
ABOVE_60 = Threshold(bar=3.0, inclusive=False)
HUMANLIKE = (
    "The reply is one turn of a spoken conversation. Does it sound like a person talking: natural, to the point, of a "
    "length one can listen to, without lists and without talk of being a machine?"
)
EMPATHY = (
    "The reply is one turn of a spoken conversation with somebody who has a feeling. Does it notice the feeling, take "
    "it seriously and answer in a fitting tone?"
)


def voicebench_open(subset: str, scorer: dict[str, Any]) -> tuple[Task, ...]:
    """The three tasks of a subset of VoiceBench with free answers."""
    name = f"voicebench_{subset}"
    task = Task(
        name=name,
        dataset=source_of(
            name,
            "voicebench_open",
            Spoken(target=("reference", "answer"), query=("prompt", "query")),
            hub="hlt-lab/voicebench",
            config=subset.replace("sd_qa", "sd-qa"),
            split="usa" if subset == "sd_qa" else "test",
        ),
        scorers=(scorer,),
        options=OPTIONS,
        description=f"VoiceBench {subset}: a judge's grade",
        citation="arXiv 2410.17196",
        licence="Apache 2.0",
        data_hint=f"{name}.jsonl with audio, prompt, reference where there is one",
    )
    return in_modes(task, heard("Answer what is asked."), "scale as published")


RATED: dict[str, Any] = {"name": "judge", "scale": "1-5"}
voicebench_alpacaeval, voicebench_alpacaeval_audio_text, voicebench_alpacaeval_text = (
    voicebench_open("alpacaeval", RATED)
)
voicebench_commoneval, voicebench_commoneval_audio_text, voicebench_commoneval_text = (
    voicebench_open("commoneval", RATED)
)
voicebench_sd_qa, voicebench_sd_qa_audio_text, voicebench_sd_qa_text = voicebench_open(
    "sd_qa", {"name": "judge", "scale": "yes-no", "template": "reference"}
)


def judged_reply(name: str, title: str, criteria: str) -> tuple[Task, ...]:
    """The three tasks of one kind of reply, rated 0 to 5."""
    task = Task(
        name=name,
        dataset=source_of(name, "judged_replies", Spoken(tags=("emotion",))),
        scorers=(
            {
                "name": "judge",
                "scale": "0-5",
                "template": "rubric",
                "criteria": criteria,
            },
        ),
        summarizers=(ABOVE_60, Rescaled(high=5.0, power=2.0, label="rescaled")),
        options=OPTIONS,
        description=f"{title}: a judge's 0 to 5, share above 3",
        citation="arXiv 2507.18061",
        licence="see its data card",
        data_hint=f"{name}.jsonl with key, audio, query, and emotion where it is known",
    )
    return in_modes(
        task, heard("Reply as in a conversation."), "scale as published", "-v2"
    )


spoken_humanlike, spoken_humanlike_audio_text, spoken_humanlike_text = judged_reply(
    "spoken_humanlike", "Human-like replies", HUMANLIKE
)
spoken_empathy, spoken_empathy_audio_text, spoken_empathy_text = judged_reply(
    "spoken_empathy", "Empathic replies", EMPATHY
)
