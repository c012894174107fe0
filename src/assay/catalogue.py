"""Everything that ships with assay, by name: `name: (module:attribute, one line)`.

Plain data, so that listing a thousand names imports none of them.
"""

DATASETS: dict[str, tuple[str, str]] = {}

TEMPLATES: dict[str, tuple[str, str]] = {
    "question": ("assay.templates.plain:Question", "the question as a user turn, media first"),
    "completion": ("assay.templates.plain:Completion", "bare text to be continued"),
    "messages": ("assay.templates.plain:ready_messages", "the messages of the row as they are"),
    "choices": ("assay.templates.choices:Choices", "the question with lettered options"),
    "choice_likelihood": ("assay.templates.likelihood:ChoiceLikelihood", "weighs each option after the question"),
    "likelihood_of": ("assay.templates.likelihood:LikelihoodOf", "weighs one continuation, as LAMBADA's last word"),
    "rolling": ("assay.templates.likelihood:Rolling", "weighs a whole text, for perplexity"),
    "cot": ("assay.templates.wrap:ChainOfThought", "another template with an invitation to think first"),
    "without_chat": ("assay.templates.wrap:WithoutChat", "another template sent as plain text"),
    "variants": ("assay.templates.variants:Variants", "several named templates of one benchmark"),
}

MODELS: dict[str, tuple[str, str]] = {
    "smollm2": ("assay.models.embedded:smollm2", "SmolLM2-135M-Instruct, embedded; text, CPU, the default"),
    "gguf": ("assay.models.gguf:Gguf", "gguf/FILE: llama.cpp in process; chat, completion, token logprobs"),
    "openai": ("assay.models.openai:OpenAI", "openai/NAME: any OpenAI-compatible endpoint (--base_url)"),
    "scripted": ("assay.models.scripted:Scripted", "fixed answers, for tests and `assay check`"),
    "replay": ("assay.models.replay:Replay", "replay/RUN: the answers of an earlier run"),
}

SCORERS: dict[str, tuple[str, str]] = {
    "exact_match": ("assay.scorers.match:ExactMatch", "the answer equals a target"),
    "quasi_exact": ("assay.scorers.match:QuasiExactMatch", "equal after SQuAD normalisation"),
    "includes": ("assay.scorers.match:Includes", "a target occurs in the answer"),
    "regex": ("assay.scorers.match:Regex", "a pattern finds the answer, or matches it"),
    "f1": ("assay.scorers.tokens_f1:TokenF1", "overlap of words with the best target"),
    "choice": ("assay.scorers.choice:Choice", "the chosen letter, read by the rule stack"),
    "choice_likelihood": (
        "assay.scorers.likelihood:ChoiceLikelihood",
        "the most probable option: acc, acc_norm, acc_bytes",
    ),
    "gsm8k": ("assay.scorers.numbers:Gsm8k", "GSM8K: strict and flexible filters, numeric equality beside"),
    "number": ("assay.scorers.numbers:NumberMatch", "the final number equals the target's"),
    "math": ("assay.scorers.math_equivalence:MathEquivalence", "mathematical equivalence (math-verify)"),
    "bleu": ("assay.scorers.translation:Bleu", "corpus BLEU (sacreBLEU)"),
    "chrf": ("assay.scorers.translation:Chrf", "corpus chrF (sacreBLEU)"),
    "rouge": ("assay.scorers.rouge:Rouge", "ROUGE-1, -2, -L (and -Lsum when asked)"),
    "perplexity": ("assay.scorers.perplexity:Perplexity", "token, word and byte perplexity"),
    "last_word": ("assay.scorers.perplexity:LastWord", "LAMBADA: greedy accuracy and per-item perplexity"),
    "judge": ("assay.scorers.judge:Judge", "a model's grade of one answer"),
    "pairwise_judge": ("assay.scorers.judge:PairwiseJudge", "a model's choice between two answers, both orders"),
    "hf_metric": ("assay.scorers.hf_metric:HfMetric", "a Hugging Face evaluate metric from a local file"),
}

SUMMARIZERS: dict[str, tuple[str, str]] = {
    "mean": ("assay.summarizers.mean:Mean", "the mean with its interval, failures counted"),
    "grouped": ("assay.summarizers.grouped:Grouped", "groups all of whose samples are right, the mean beside"),
    "pooled": ("assay.summarizers.pooled:Pooled", "ratio of summed counts, bootstrap over clusters"),
    "threshold": ("assay.summarizers.threshold:Threshold", "share of values that reach a bar, the mean beside"),
    "rescaled": ("assay.summarizers.threshold:Rescaled", "mean after linear or power rescaling"),
    "pass_at_k": ("assay.summarizers.passk:PassAtK", "chance that one of k answers is right"),
    "pass_hat_k": ("assay.summarizers.passk:PassHatK", "chance that all of k answers are right"),
    "majority": ("assay.summarizers.majority:Majority", "verdict on the most frequent answer of all epochs"),
    "item_perplexity": ("assay.summarizers.perplexity:item_perplexity", "perplexity by item, as LAMBADA reports it"),
    "bleu": ("assay.summarizers.translation:bleu", "corpus BLEU from stored counts"),
    "chrf": ("assay.summarizers.translation:chrf", "corpus chrF from stored counts"),
    "perplexity": ("assay.summarizers.perplexity:perplexity", "corpus-weighted perplexities"),
}

BENCHMARKS: dict[str, tuple[str, str]] = {}

RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise",)
"""`module:function` of rooms further right that may know what a task reference stands for."""
MODEL_RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise_model",)
"""The same for models in users' files."""
