"""Choices by ear: Chinese exams read aloud, MMAU, and the choices of VoiceBench.

One row of a spoken exam: `{"key": "c1", "audio": "c1.wav", "query": "下列哪个是水果?", "A": "苹果", "B": "石头",
"answer": "A"}`, question and options being said in the audio. One row of MMAU: `{"id": "m1", "audio": "m1.wav",
"question": "Which instrument is heard?", "choices": ["piano", "violin"], "answer": "piano", "task": "music"}`.
VoiceBench has `audio`, `prompt` (its text, options included) and `reference` (a letter).

Citations: C-Eval arXiv 2305.08322 and AGIEval arXiv 2304.06364, as read aloud by TELEVAL arXiv 2507.18061; MMAU arXiv
2410.19168; VoiceBench arXiv 2410.17196.

Protocols: spoken Chinese answers are read by `single_choice_zh` (`cover`, `correct`); the others by assay's rule stack,
not by the official string search. MMAU is asked in `audio+text`; its `text` mode leaves the audio out and says how much
can be guessed. `mmau@official` asks for the text of an option and reads it as the official `evaluation.py` does: all of
its words, and none that only a wrong option has.
"""

import re
from collections.abc import Sequence

from ...core import GenerateOptions, Output, Sample, Score, Task
from ...datasets.choices import LETTERS
from ...scorers.answers import no_answer, no_target
from ...templates import Choices
from .modes import BOTH, TEXT, Blind, heard, in_modes
from .rows import Spoken, source_of

OPTIONS = GenerateOptions(temperature=0.0, max_tokens=256)


def chinese_exam(
    name: str, title: str, citation: str, licence: str
) -> tuple[Task, ...]:
    """The three tasks of one exam read aloud."""
    task = Task(
        name=name,
        dataset=source_of(
            name, "single_choice_zh", Spoken(options=True, tags=("subject",))
        ),
        scorers=("single_choice_zh",),
        options=OPTIONS,
        description=f"{title} read aloud: letter, in Chinese",
        citation=citation,
        licence=licence,
        data_hint=f"{name}.jsonl with key, audio, query, A, B, C, D, answer",
    )
    return in_modes(
        task,
        heard("请回答这道单选题,说出选项字母。", lists_options=True),
        "rule as published",
    )


spoken_ceval, spoken_ceval_audio_text, spoken_ceval_text = chinese_exam(
    "spoken_ceval", "C-Eval", "arXiv 2305.08322", "CC BY-NC-SA 4.0"
)
spoken_agieval, spoken_agieval_audio_text, spoken_agieval_text = chinese_exam(
    "spoken_agieval", "AGIEval", "arXiv 2304.06364", "MIT"
)

mmau, mmau_text = in_modes(
    Task(
        name="mmau",
        dataset=source_of(
            "mmau",
            "sound_choices",
            Spoken(options=True, tags=("task", "difficulty")),
            hub="TwinkStart/MMAU",
            split="v05.15.25",
        ),
        scorers=("choice",),
        options=OPTIONS,
        description="MMAU: speech, sound and music, one option",
        citation="arXiv 2410.19168",
        licence="see its data card",
        data_hint="mmau.jsonl with id, audio, question, choices (a list), answer, task, difficulty",
    ),
    {BOTH: Choices(), TEXT: Blind(Choices())},
    "rows as published",
)


def words_of_option(sample: Sample, output: Output) -> Score:
    """1 if the answer has every word of the right option and no word that only a wrong one has."""
    if sample.target is None:
        return no_target(sample)
    if silence := no_answer(output):
        return silence
    right = sample.choices[LETTERS.index(str(sample.target))]
    return Score(
        float(names_option(right, output.text, sample.choices)), answer=output.text
    )


def names_option(right: str, text: str, options: Sequence[str]) -> bool:
    """Whether a text has every word of one option and no word that only the others have."""
    wanted, words = _words(right), _words(text)
    others = {word for option in options for word in _words(option) - wanted}
    return bool(words) and wanted <= words and not words & others


def _words(text: str) -> set[str]:
    return set(re.findall(r"\b\w+\b", text.lower()))


mmau_official = mmau.but(
    name="mmau_official",
    template=Choices(
        layout="bullets", instruction="Answer with the text of the correct option only."
    ),
    scorers=(words_of_option,),
    protocol="mmau@official",
    description="MMAU: the words of an option (read as published)",
)


def voicebench_choices(subset: str, split: str = "test") -> tuple[Task, ...]:
    """The three tasks of a subset of VoiceBench with options: they are part of what is said, and not columns."""
    name = f"voicebench_{subset}"
    task = Task(
        name=name,
        dataset=source_of(
            name,
            "voicebench_choices",
            Spoken(
                target=("reference", "answer"),
                query=("prompt", "query"),
                letters="ABCD",
                tags=("domain",),
            ),
            hub="hlt-lab/voicebench",
            config=subset,
            split=split,
        ),
        scorers=("choice",),
        options=OPTIONS,
        description=f"VoiceBench {subset}: options said aloud",
        citation="arXiv 2410.17196",
        licence="Apache 2.0",
        data_hint=f"{name}.jsonl with audio, prompt, reference (a letter)",
    )
    return in_modes(
        task,
        heard("Answer with the letter of the correct option only."),
        "rows as published",
    )


voicebench_openbookqa, voicebench_openbookqa_audio_text, voicebench_openbookqa_text = (
    voicebench_choices("openbookqa")
)
voicebench_mmsu, voicebench_mmsu_audio_text, voicebench_mmsu_text = voicebench_choices(
    # The hub's splits of this subset are its twelve fields of knowledge.
    "mmsu",
    split="all",
)
