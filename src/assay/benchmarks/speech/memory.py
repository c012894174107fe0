"""Multi-turn memory: a question in the second round about what was said in the first.

One row: `{"key": "d1", "user_audio1": "d1a.wav", "user_text1": "My cat is called Momo.", "bot_text1": "A nice name.",
"user_audio2": "d1b.wav", "user_text2": "What is my cat called?", "answer": ["Momo"]}`; more rounds go on counting.

Citation: TELEVAL arXiv 2507.18061.

Protocols: the dialogue goes on from the model's own answers; the last is scored by exists-match. `…@audio` and
`…@audio+text` speak each user turn, `…@text` writes it.
"""

from ...core import GenerateOptions, Task
from .modes import AUDIO, MODES, HeardRounds, in_modes
from .rows import Spoken, source_of

ASK = "Answer in one short sentence."

spoken_memory, spoken_memory_audio_text, spoken_memory_text = in_modes(
    Task(
        name="spoken_memory",
        dataset=source_of(
            "spoken_memory", "memory", Spoken(target=("answer", "ref"), rounds=True)
        ),
        scorers=("exists_match",),
        options=GenerateOptions(temperature=0.0, max_tokens=256),
        description="Memory over two spoken rounds: exists-match",
        citation="arXiv 2507.18061",
        licence="see its data card",
        data_hint="spoken_memory.jsonl with key, user_audio1, user_text1, bot_text1, user_audio2, user_text2, answer",
    ),
    {mode: HeardRounds(mode, "" if mode == AUDIO else ASK) for mode in MODES},
    "rule as published",
)
