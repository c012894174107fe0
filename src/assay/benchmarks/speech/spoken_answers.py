"""What a model's own speech is like: its quality, and whether it says what the model writes.

One row: `{"key": "s1", "audio": "s1.wav", "query": "Tell me about the sea."}`; any set of spoken questions will do.

Citations: DNSMOS P.835 arXiv 2110.01763; TELEVAL arXiv 2507.18061.

Protocols: `speech_quality` is DNSMOS of the speech (overall, signal, background, P.808), 1 to 5. `speech_text` is the
error rate of a transcript of the speech, by the recognizer under the role `asr` (`--judge asr=MODEL`), against the
model's own text: WER[whisper-en], or CER[zh] for Chinese. Numbers compare only under one recognizer.
"""

from typing import Any

from ...core import GenerateOptions, Task
from .modes import heard, in_modes
from .rows import Spoken, source_of


def spoken_answers(
    name: str, title: str, scorer: Any, citation: str, checked: str
) -> tuple[Task, ...]:
    """The three tasks of one measure of the speech."""
    task = Task(
        name=name,
        dataset=source_of(name, "spoken_answers", Spoken()),
        scorers=(scorer,),
        options=GenerateOptions(temperature=0.0, max_tokens=256),
        produces=("text", "audio"),
        description=title,
        citation=citation,
        licence="that of the questions",
        data_hint=f"{name}.jsonl with key, audio, query",
    )
    return in_modes(task, heard("Answer in one or two sentences."), checked)


speech_quality, speech_quality_audio_text, speech_quality_text = spoken_answers(
    "speech_quality",
    "Quality of the model's speech: DNSMOS",
    "dnsmos",
    "arXiv 2110.01763",
    "as published",
)
speech_text, speech_text_audio_text, speech_text_text = spoken_answers(
    "speech_text",
    "Speech against the model's text: WER",
    {"name": "speech_consistency", "normalize": "whisper-en"},
    "arXiv 2507.18061",
    "counted as published",
)
speech_text_zh, speech_text_zh_audio_text, speech_text_zh_text = spoken_answers(
    "speech_text_zh",
    "Speech against the model's Chinese text: CER",
    {"name": "speech_consistency", "normalize": "zh", "unit": "characters"},
    "arXiv 2507.18061",
    "counted as published",
)
