"""Speech in a given voice: is it the same speaker, are the words right, and how good does it sound?

One row: `{"key": "v1", "audio": "v1.wav", "prompt_text": "what is said in it", "query": "We walk home after the rain.",
"speaker": "one"}`: the model hears a recording and says `query` in that voice. `speaker` says which rows are one voice.

Citations: Seed-TTS (its test set, seed-tts-eval) arXiv 2406.02430; UTMOS arXiv 2204.02152.

Protocols: `voice_similarity` is the cosine of two embeddings, of the recording and of the speech, by the encoder
given under the role `speaker` (`--judge speaker=MODEL`, which answers a clip with a list of numbers). `voice_words`
is the mean over utterances of the WER of a transcript by the role `asr`, after dropping marks and case, as
seed-tts-eval has it. `voice_mos` is a rating from 1 to 5 by the predictor given under the role `mos`, such as UTMOS.
Numbers compare only under one encoder, recogniser or predictor; it stands in the run. seed-tts-eval takes a
WavLM-large speaker encoder and lets Whisper-large-v3 hear English: give those for its numbers.
"""

from dataclasses import dataclass
from typing import Any

from ...core import (
    Audio,
    DataSource,
    GenerateOptions,
    Message,
    Prompt,
    Sample,
    Task,
    TemplateError,
    Text,
)
from ...scorers.asked import Asked
from ...scorers.saved_number import SavedNumber
from .modes import BOTH, in_modes
from .rows import Spoken


@dataclass(frozen=True)
class InThisVoice:
    """The recording, then what is to be said like it."""

    instruction: str = (
        "Say the following in the voice of the recording, and nothing else:"
    )

    def __call__(self, sample: Sample) -> Prompt:
        if not sample.input:
            raise TemplateError(
                "the row does not say what is to be said",
                where=f"sample {sample.id!r}",
                fix="give a column `query`",
            )
        clips = tuple(medium for medium in sample.media if isinstance(medium, Audio))
        return Prompt(
            (Message("user", (*clips, Text(f"{self.instruction} {sample.input}"))),)
        )


def in_voice(
    name: str,
    title: str,
    scorer: Any,
    checked: str,
    citation: str = "arXiv 2406.02430",
    version: str = "",
) -> Task:
    """The task of one measure."""
    task = Task(
        name=name,
        dataset=DataSource(
            local=(f"{name}.jsonl", "voices.jsonl", "voices.parquet", "voices"),
            mini="benchmarks/data/speech/voices.jsonl",
            # What is to be said is also what a recogniser should hear.
            read=Spoken(target=("query",), query=("query",), cluster="speaker"),
        ),
        scorers=(scorer,),
        options=GenerateOptions(temperature=0.0, max_tokens=512),
        produces=("audio",),
        description=title,
        citation=citation,
        licence="that of the recordings",
        data_hint=f"{name}.jsonl or voices.jsonl with key, audio, query, and speaker where it is known",
    )
    (in_both,) = in_modes(task, {BOTH: InThisVoice()}, checked, version)
    return in_both


voice_similarity = in_voice(
    "voice_similarity",
    "The same voice: cosine by a given encoder",
    {"name": "speaker_similarity", "encoder": "given", "reference": "input"},
    "as published",
)
voice_words = in_voice(
    "voice_words",
    "Words in a given voice: mean WER of utterances",
    {"name": "spoken_wer", "normalize": "seed-tts-en"},
    "arithmetic as published",
    version="-v2",
).but(summarizers=("mean",))
voice_mos = in_voice(
    "voice_mos",
    "Quality in a given voice: rating by a given predictor",
    Asked("mos", "mos", SavedNumber("mos", 1.0, 5.0), expects="audio", name="mos"),
    "format-checked",
    "arXiv 2204.02152",
)
