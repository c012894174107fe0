"""Acoustic robustness: the same questions or sentences under noise, echo, distance, loss, by level.

One row: `{"key": "r1-babble-0dB", "audio": "r1.wav", "query": "What is two plus two?", "ref": ["four"], "family":
"babble", "level": "0 dB", "source": "r1"}`. `source` says which rows are one question under several conditions: they
are not independent.

Citation: TELEVAL arXiv 2507.18061.

Protocols: `robust_qa` is exists-match, `robust_asr` corpus WER[whisper-en], each with a value by level and, for each
family, the worst level. A row without a level stays out of the worst case and is counted in a flag.
"""

from ...core import GenerateOptions, Task
from ...summarizers.worst_case import WorstCase
from .modes import AUDIO, BOTH, heard, in_modes
from .recognition import ASK_EN, ENGLISH
from .rows import TRANSCRIPTS, Spoken, source_of
from .spoken_qa import ASK

_QA = Task(
    name="robust_qa",
    dataset=source_of(
        "robust_qa", "robustness", Spoken(tags=("family", "level"), cluster="source")
    ),
    scorers=("exists_match",),
    summarizers=("mean", WorstCase(by="level", within="family")),
    options=GenerateOptions(temperature=0.0, max_tokens=256),
    description="Questions under noise: by level, worst case",
    citation="arXiv 2507.18061",
    licence="see its data card",
    data_hint="robust_qa.jsonl with key, audio, query, ref, family, level, source",
)
robust_qa, robust_qa_audio_text = in_modes(
    _QA, heard(ASK, AUDIO, BOTH), "rule as published"
)

_ERRORS = {"numerator": ("S", "D", "I"), "denominator": "N"}
robust_asr, robust_asr_audio_text = in_modes(
    _QA.but(
        name="robust_asr",
        dataset=source_of(
            "robust_asr",
            "robustness_asr",
            Spoken(
                target=TRANSCRIPTS, query=(), tags=("family", "level"), cluster="source"
            ),
        ),
        scorers=(ENGLISH,),
        summarizers=(
            {"name": "pooled", "metric": "wer[whisper-en]", **_ERRORS},
            WorstCase(
                by="level", within="family", numerator=("S", "D", "I"), denominator="N"
            ),
        ),
        description="Recognition under noise: WER by level, worst case",
        data_hint="robust_asr.jsonl with key, audio, ref, family, level, source",
    ),
    heard(ASK_EN, AUDIO, BOTH),
    "normalized as published",
)
