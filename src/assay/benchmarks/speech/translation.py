"""Speech translation: CoVoST 2.

One row: `{"key": "common_voice_en_1", "audio": "clips/1.mp3", "query": "Good morning.", "ref": "Guten Morgen."}`; the
hub calls the translation `text`, and has a split for each pair.

Citation: CoVoST 2 arXiv 2007.10310.

Protocols: corpus BLEU by sacreBLEU, whose signature stands beside the number; tokenizer 13a, or `zh` into Chinese.
`…@audio+text` names the language in writing, `…@text` translates the written sentence; audio alone does not say that
a translation is wanted, so there is no mode `audio`.
"""

from ...core import GenerateOptions, Task
from .modes import BOTH, TEXT, heard, in_modes
from .rows import Spoken, source_of


def covost(pair: str, language: str, tokenize: str) -> tuple[Task, ...]:
    """The two tasks of one pair of languages."""
    name = f"covost2_{pair}"
    task = Task(
        name=name,
        dataset=source_of(
            name,
            f"translation_{pair[-2:]}",
            Spoken(
                target=("ref", "translation", "text", "answer"),
                query=("query", "sentence"),
            ),
            hub="TwinkStart/covost2",
            split=pair,
        ),
        scorers=({"name": "bleu", "tokenize": tokenize},),
        options=GenerateOptions(temperature=0.0, max_tokens=512),
        description=f"CoVoST 2 {pair}: sacreBLEU",
        citation="arXiv 2007.10310",
        licence="CC0 1.0",
        data_hint=f"{name}.jsonl with key, audio, query (the sentence), ref (its translation)",
    )
    ask = f"Translate what is said into {language}. Write the translation alone."
    return in_modes(task, heard(ask, BOTH, TEXT), "as published")


covost2_en_zh, covost2_en_zh_text = covost("en_zh", "Chinese", "zh")
covost2_en_de, covost2_en_de_text = covost("en_de", "German", "13a")
