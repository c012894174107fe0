"""Spoken questions with short answers: LLaMA-Questions, WebQuestions, TriviaQA.

One row: `{"key": "q7", "audio": "q7.wav", "query": "Which planet is the largest?", "ref": ["Jupiter", "planet
Jupiter"]}`. A list means that any of its entries will do; `{"__tuple__": true, "items": ["red", "blue"]}` that all are
wanted; both may be nested. LLaMA-Questions calls them `Questions` and `Answer` on the hub.

Citations: LLaMA-Questions arXiv 2305.15255; WebQuestions EMNLP 2013, 1533-1544; TriviaQA arXiv 1705.03551.

Protocols: exists-match, a reference must occur in the answer as whole words (TELEVAL's and UltraEval-Audio's rule). The
three input modes are `…@audio`, `…@audio+text` (a request for a short answer in writing) and `…@text`.
"""

from ...core import GenerateOptions, Task
from .modes import heard, in_modes
from .rows import Spoken, source_of

ASK = "Answer the question in a few words."


def spoken_qa(
    name: str, title: str, hub: str, citation: str, licence: str
) -> tuple[Task, ...]:
    """The three tasks of one set of questions."""
    task = Task(
        name=name,
        dataset=source_of(
            name,
            "spoken_qa",
            Spoken(aliases={"answer": "Answer", "question": "Questions"}),
            hub=hub,
        ),
        scorers=("exists_match",),
        options=GenerateOptions(temperature=0.0, max_tokens=256),
        description=f"{title}: exists-match",
        citation=citation,
        licence=licence,
        data_hint=f"{name}.jsonl with key, audio, query, ref (a list: any; a marked tuple: all)",
    )
    return in_modes(task, heard(ASK), "rule as published")


llama_questions, llama_questions_audio_text, llama_questions_text = spoken_qa(
    "llama_questions",
    "LLaMA-Questions",
    "TwinkStart/llama-questions",
    "arXiv 2305.15255",
    "see its data card",
)
spoken_webq, spoken_webq_audio_text, spoken_webq_text = spoken_qa(
    "spoken_webq",
    "Spoken WebQuestions",
    "TwinkStart/speech-web-questions",
    "EMNLP 2013, 1533-1544",
    "CC BY 4.0",
)
spoken_triviaqa, spoken_triviaqa_audio_text, spoken_triviaqa_text = spoken_qa(
    "spoken_triviaqa",
    "Spoken TriviaQA",
    "TwinkStart/speech-triavia-qa",
    "arXiv 1705.03551",
    "Apache 2.0",
)
