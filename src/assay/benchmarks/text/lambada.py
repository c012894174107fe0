"""LAMBADA: the last word of 5,153 passages that can be told only from the whole passage.

One row: `{"text": "In my palm is a clear stone, and inside it is a small ivory statuette. … The angel"}`

Citation: Paperno et al. 2016, The LAMBADA dataset, arXiv 1606.06031; the `openai` text is the one GPT-2 was measured
on. Licence: CC BY 4.0 (passages), MIT (the processed file).

Protocol: no example; the likelihood of the last word, with the blank before it, after all that comes before. Accuracy
is greedy decoding writing exactly that word; perplexity counts each passage once. As lm-evaluation-harness's
`lambada_openai`. Needs a model that weighs given continuations.
"""

from ...core import DataSource, Task
from ...templates import LikelihoodOf

lambada = Task(
    name="lambada",
    dataset=DataSource(
        hub="EleutherAI/lambada_openai",
        config="default",
        split="test",
        local=(
            "lambada/test.jsonl",
            "lambada/lambada_test.jsonl",
            "lambada/lambada_test_en.jsonl",
        ),
        mini="benchmarks/data/text/lambada.jsonl",
    ),
    columns={"input": "text"},
    template=LikelihoodOf("last_word"),
    scorers=("last_word",),
    protocol="lambada@openai",
    needs=frozenset({"likelihood"}),
    description="the likelihood of a passage's last word: accuracy and perplexity",
    citation="arXiv 1606.06031",
    licence="CC BY 4.0",
    data_hint="JSONL with a column text",
)
