"""Everything that ships with assay, by name: `name: (module:attribute, one line)`.

Plain data, so that listing a thousand names imports none of them.
"""

from .benchmarks import BENCHMARKS
from .scorers import SCORERS

DATASETS: dict[str, tuple[str, str]] = {}

TEMPLATES: dict[str, tuple[str, str]] = {
    "question": ("assay.templates.plain:Question", "the question as a user turn, media first"),
    "completion": ("assay.templates.plain:Completion", "bare text to be continued"),
    "messages": ("assay.templates.plain:ready_messages", "the messages of the row as they are"),
    "choices": ("assay.templates.choices:Choices", "the question with lettered options"),
    "choice_likelihood": ("assay.templates.likelihood:ChoiceLikelihood", "weighs each option after the question"),
    "likelihood_of": ("assay.templates.likelihood:LikelihoodOf", "weighs one continuation, as LAMBADA's last word"),
    "weighed_letters": (
        "assay.templates.weighed:WeighedLetters",
        "another template's prompt, after which the letters of the options are weighed",
    ),
    "by_row": ("assay.templates.by_row:ByRow", "lettered options where a row has options, else the question alone"),
    "rolling": ("assay.templates.likelihood:Rolling", "weighs a whole text, for perplexity"),
    "cot": ("assay.templates.wrap:ChainOfThought", "another template with an invitation to think first"),
    "without_chat": ("assay.templates.wrap:WithoutChat", "another template sent as plain text"),
    "variants": ("assay.templates.variants:Variants", "several named templates of one benchmark"),
}

MODELS: dict[str, tuple[str, str]] = {
    "smollm2": ("assay.models.embedded:smollm2", "SmolLM2-135M-Instruct, embedded; text, CPU, the default"),
    "gguf": ("assay.models.gguf:Gguf", "gguf/FILE: llama.cpp in process; chat, completion, token logprobs"),
    "hf": (
        "assay.models.local_transformers:LocalTransformers",
        "hf/PATH_OR_ID: transformers in process; text, vision, audio, speech, GGUF files; likelihood",
    ),
    "diffusers": (
        "assay.models.local_diffusers:LocalDiffusers",
        "diffusers/PATH_OR_ID: a diffusers pipeline in process; draws from words, or changes an image",
    ),
    "vllm": (
        "assay.models.local_vllm:LocalVllm",
        "vllm/PATH_OR_ID: vLLM in process; text, vision, audio; likelihood",
    ),
    "openai": ("assay.models.openai:OpenAI", "openai/NAME: any OpenAI-compatible endpoint (--base_url)"),
    "anthropic": ("assay.models.anthropic:Anthropic", "anthropic/NAME: the Messages API; text and images in"),
    "gemini": ("assay.models.gemini:Gemini", "gemini/NAME: generateContent; text, images, audio and video in"),
    "litellm": ("assay.models.litellm:LiteLLM", "litellm/PROVIDER/NAME: any other service, by the library litellm"),
    "moonshine": (
        "assay.models.specialists.moonshine:Moonshine",
        "speech in, English text out: Moonshine tiny-en; a recogniser, embedded",
    ),
    "pocketsphinx": (
        "assay.models.specialists.pocketsphinx:PocketSphinx",
        "speech in, English text out: older and weaker; a recogniser, embedded",
    ),
    "espeak": (
        "assay.models.specialists.espeak:Espeak",
        "text in, speech out: eSpeak NG (GPL-3 library); a synthesiser, embedded",
    ),
    "flite": ("assay.models.specialists.debian_voices:Flite", "text in, speech out: Flite, where the system has it"),
    "festival": (
        "assay.models.specialists.debian_voices:Festival",
        "text in, speech out: Festival, where the system has it",
    ),
    "rapidocr": ("assay.models.specialists.rapidocr:RapidOcr", "text in images: PP-OCRv4; a reader, embedded"),
    "tesseract": ("assay.models.specialists.tesseract:Tesseract", "text in images, where the system has Tesseract"),
    "digits-flow": ("assay.models.specialists.digits_flow:DigitsFlow", "draws 8 x 8 digits; trained here on first use"),
    "renderer": ("assay.models.specialists.renderer:Renderer", "draws the words of the prompt; a baseline, no model"),
    "worker": (
        "assay.models.workers:Worker",
        "worker/NAME or worker/FILE.py:Class: detector, vqa, clip, … in a process of its own, for --judge ROLE=",
    ),
    "sandbox": (
        "assay.models.sandboxed:SandboxModel",
        "sandbox/TIER: runs programs for scorers; every run has one, --judge sandbox=sandbox/TIER takes another tier",
    ),
    "scripted": ("assay.models.scripted:Scripted", "fixed answers, for tests and `assay check`"),
    "replay": ("assay.models.replay:Replay", "replay/RUN: the answers of an earlier run"),
    "predictions": (
        "assay.predictions:Predictions",
        "predictions/FILE: outputs that exist, by sample id; JSONL, CSV, TSV or Parquet, text or media",
    ),
}

SUMMARIZERS: dict[str, tuple[str, str]] = {
    "mean": ("assay.summarizers.mean:Mean", "the mean with its interval, failures counted"),
    "grouped": ("assay.summarizers.grouped:Grouped", "groups all of whose samples are right, the mean beside"),
    "pooled": ("assay.summarizers.pooled:Pooled", "ratio of summed counts, with an interval over clusters"),
    "threshold": ("assay.summarizers.threshold:Threshold", "share of values that reach a bar, the mean beside"),
    "rescaled": ("assay.summarizers.threshold:Rescaled", "mean after linear or power rescaling"),
    "pass_at_k": ("assay.summarizers.passk:PassAtK", "chance that one of k answers is right"),
    "pass_hat_k": ("assay.summarizers.passk:PassHatK", "chance that all of k answers are right"),
    "majority": ("assay.summarizers.majority:Majority", "verdict on the most frequent answer of all epochs"),
    "item_perplexity": ("assay.summarizers.perplexity:item_perplexity", "perplexity by item, as LAMBADA reports it"),
    "instructions": ("assay.summarizers.instructions:instructions", "shares of instructions followed, pooled"),
    "yes_no": ("assay.summarizers.yes_no:yes_no", "accuracy, precision, recall, F1 and yes-ratio"),
    "auroc": ("assay.summarizers.auroc:auroc", "area under the ROC curve, with DeLong's interval"),
    "mme": ("assay.summarizers.pairs:Mme", "MME: acc and acc+ by image, perception, reasoning"),
    "hallusionbench": ("assay.summarizers.pairs:HallusionBench", "aAcc, qAcc, fAcc"),
    "group_mean": ("assay.summarizers.weighted:GroupMean", "mean of the groups' means, weighted if asked"),
    "wise_legacy": ("assay.summarizers.weighted:WiseLegacy", "WISE overall, first version"),
    "wise_verified": ("assay.summarizers.weighted:WiseVerified", "WISE overall, verified version"),
    "caption": ("assay.summarizers.caption:caption", "corpus BLEU, ROUGE-L and CIDEr-D"),
    "core_mm": ("assay.summarizers.core_mm:core_mm", "CORE-MM's score of 100, highly complex questions twice"),
    "meteor": ("assay.summarizers.meteor:meteor", "corpus METEOR from stored counts"),
    "dpg": ("assay.summarizers.propositions:dpg", "DPG by image and by question"),
    "worst_case": ("assay.summarizers.worst_case:WorstCase", "the worst level of a tag, every level beside it"),
    "mmvet": ("assay.summarizers.mmvet:MmVet", "MM-Vet by capability and combination"),
    "bleu": ("assay.summarizers.translation:bleu", "corpus BLEU from stored counts"),
    "chrf": ("assay.summarizers.translation:chrf", "corpus chrF from stored counts"),
    "ter": ("assay.summarizers.ter:ter", "corpus TER from stored counts"),
    "perplexity": ("assay.summarizers.perplexity:perplexity", "corpus-weighted perplexities"),
}

RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise",)
"""`module:function` of rooms further right that may know what a task reference stands for."""
MODEL_RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise_model",)
"""The same for models in users' files."""

__all__ = [
    "BENCHMARKS",
    "DATASETS",
    "MODELS",
    "MODEL_RECOGNISERS",
    "RECOGNISERS",
    "SCORERS",
    "SUMMARIZERS",
    "TEMPLATES",
]
