"""All components of assay by name: `name: (module:attribute, one line)`.

This is plain data, so that listing a thousand names imports none of them.
"""

from .benchmark_names import BENCHMARKS
from .scorers import SCORERS, under

DATASETS: dict[str, tuple[str, str]] = {}

TEMPLATES = under("assay.templates", {
    "question": ("plain:Question", "the question as a user turn, media first"),
    "completion": ("plain:Completion", "bare text to be continued"),
    "messages": ("plain:ready_messages", "the messages of the row as they are"),
    "choices": ("choices:Choices", "the question with lettered options"),
    "choice_likelihood": ("likelihood:ChoiceLikelihood", "weighs each option after the question"),
    "likelihood_of": ("likelihood:LikelihoodOf", "weighs one continuation, as LAMBADA's last word"),
    "weighed_letters": (
        "likelihood:WeighedLetters",
        "another template's prompt, after which the letters of the options are weighed",
    ),
    "by_row": ("choices:ByRow", "lettered options where a row has options, else the question alone"),
    "rolling": ("likelihood:Rolling", "weighs a whole text, for perplexity"),
    "cot": ("wrap:ChainOfThought", "another template with an invitation to think first"),
    "without_chat": ("wrap:WithoutChat", "another template sent as plain text"),
    "variants": ("build:Variants", "several named templates of one benchmark"),
})  # fmt: skip

MODELS = under("assay.models", {
    "smollm2": ("embedded:smollm2", "SmolLM2-135M-Instruct, embedded; text, CPU, the default"),
    "gguf": ("gguf:Gguf", "gguf/FILE: llama.cpp in process; chat, completion, token logprobs"),
    "hf": (
        "local_transformers:LocalTransformers",
        "hf/PATH_OR_ID: transformers in process; text, vision, audio, speech, GGUF files; likelihood",
    ),
    "diffusers": (
        "local_diffusers:LocalDiffusers",
        "diffusers/PATH_OR_ID: a diffusers pipeline in process; draws from words, or changes an image",
    ),
    "vllm": ("local_vllm:LocalVllm", "vllm/PATH_OR_ID: vLLM in process; text, vision, audio; likelihood"),
    "openai": ("openai:OpenAI", "openai/NAME: any OpenAI-compatible endpoint (--base_url)"),
    "anthropic": ("anthropic:Anthropic", "anthropic/NAME: the Messages API; text and images in"),
    "gemini": ("gemini:Gemini", "gemini/NAME: generateContent; text, images, audio and video in"),
    "litellm": ("litellm:LiteLLM", "litellm/PROVIDER/NAME: any other service, by the library litellm"),
    "moonshine": (
        "specialists.recognisers:Moonshine",
        "speech in, English text out: Moonshine tiny-en; a recogniser, embedded",
    ),
    "pocketsphinx": (
        "specialists.recognisers:PocketSphinx",
        "speech in, English text out: older and weaker; a recogniser, embedded",
    ),
    "espeak": ("specialists.voices:Espeak", "text in, speech out: eSpeak NG (GPL-3 library); a synthesiser, embedded"),
    "flite": ("specialists.voices:Flite", "text in, speech out: Flite, where the system has it"),
    "festival": ("specialists.voices:Festival", "text in, speech out: Festival, where the system has it"),
    "rapidocr": ("specialists.readers:RapidOcr", "text in images: PP-OCRv4; a reader, embedded"),
    "tesseract": ("specialists.readers:Tesseract", "text in images, where the system has Tesseract"),
    "digits-flow": ("specialists.digits_flow:DigitsFlow", "draws 8 x 8 digits; trained here on first use"),
    "renderer": ("specialists.renderer:Renderer", "draws the words of the prompt; a baseline, no model"),
    "worker": (
        "workers:Worker",
        "worker/NAME or worker/FILE.py:Class: detector, vqa, clip, … in a separate process, for --judge ROLE=",
    ),
    "sandbox": (
        "sandboxed:SandboxModel",
        "sandbox/TIER: runs programs for scorers; every run has one, --judge sandbox=sandbox/TIER takes another tier",
    ),
    "scripted": ("scripted:Scripted", "fixed answers, for tests and `assay check`"),
    "replay": ("replay:Replay", "replay/RUN: the answers of an earlier run"),
})  # fmt: skip
MODELS["predictions"] = (
    "assay.predictions:Predictions",
    "predictions/FILE: outputs that exist, by sample id; JSONL, CSV, TSV or Parquet, text or media",
)

MODELS |= under(
    "assay.tooling",
    {
        "null": (
            "floor_agents:Null",
            "says Hello. and calls nothing: what a task gives for that is its floor",
        ),
        "brief_user": (
            "floor_agents:BriefUser",
            "plays a user who says Hello., and leaves after the first answer.",
        ),
        "spam": (
            "floor_agents:Spam",
            "calls each tool once with the smallest arguments, then says Hello.",
        ),
    },
)

SUMMARIZERS = under("assay.summarizers", {
    "mean": ("mean:Mean", "the mean with its interval, failures counted"),
    "grouped": ("grouped:Grouped", "groups all of whose samples are right, the mean beside"),
    "formula": (
        "formula:Formula",
        "your own formula of summed counts, with interval, comparison and tags",
    ),
    "pooled": ("pooled:Pooled", "ratio of summed counts, with an interval over clusters"),
    "threshold": ("threshold:Threshold", "share of values that reach a bar, the mean beside"),
    "rescaled": ("threshold:Rescaled", "mean after linear or power rescaling"),
    "pass_at_k": ("repeated_answers:PassAtK", "chance that one of k answers is right"),
    "pass_hat_k": ("repeated_answers:PassHatK", "chance that all of k answers are right"),
    "majority": ("repeated_answers:Majority", "verdict on the most frequent answer of all epochs"),
    "item_perplexity": ("text_corpora:item_perplexity", "perplexity by item, as LAMBADA reports it"),
    "instructions": ("pooled:instructions", "shares of instructions followed, pooled"),
    "yes_no": ("classification:yes_no", "accuracy, precision, recall, F1 and yes-ratio"),
    "auroc": ("classification:auroc", "area under the ROC curve, with DeLong's interval"),
    "mme": ("pairs:Mme", "MME: acc and acc+ by image, perception, reasoning"),
    "hallusionbench": ("pairs:HallusionBench", "aAcc, qAcc, fAcc"),
    "group_mean": ("strata:GroupMean", "mean of the groups' means, weighted if asked"),
    "wise_legacy": ("strata:wise_legacy", "WISE overall, first version"),
    "wise_verified": ("strata:wise_verified", "WISE overall, verified version"),
    "caption": ("caption_summary:caption", "corpus BLEU, ROUGE-L and CIDEr-D"),
    "core_mm": ("benchmark_tables:core_mm", "CORE-MM's score of 100, highly complex questions twice"),
    "meteor": ("text_corpora:meteor", "corpus METEOR from stored counts"),
    "dpg": ("benchmark_tables:dpg", "DPG by image and by question"),
    "worst_case": ("worst_case:WorstCase", "the worst level of a tag, every level beside it"),
    "mmvet": ("benchmark_tables:MmVet", "MM-Vet by capability and combination"),
    "bleu": ("text_corpora:bleu", "corpus BLEU from stored counts"),
    "chrf": ("text_corpora:chrf", "corpus chrF from stored counts"),
    "ter": ("text_corpora:ter", "corpus TER from stored counts"),
    "perplexity": ("text_corpora:perplexity", "corpus-weighted perplexities"),
})  # fmt: skip

EXPORTERS = under("assay.exports", {
    "csv": ("exporter:Csv", "one row per sample and scorer, safe to open in a spreadsheet"),
    "parquet": ("exporter:Parquet", "the same rows, with unchanged texts"),
    "inspect": ("inspect_eval:Inspect", "log files (.eval) of inspect_ai, one per task and model"),
    "lm-eval-json": ("lm_eval_json:LmEvalJson", "the results file of lm-eval, for one model"),
    "every-eval-ever": ("every_eval_ever:EveryEvalEver", "numbers and samples in the schema of Every Eval Ever"),
    "swe-bench": ("swe_bench:SweBench", "predictions (patches) for the harness of SWE-bench, for one model"),
    "hf-eval-results": ("hugging_face:HfEvalResults", "entries for .eval_results of a model repository on the hub"),
    "model-card": ("hugging_face:ModelCard", "a model card with the numbers as metadata and as a table"),
    "mlflow": ("trackers:Mlflow", "a run of MLflow, in a local database unless MLFLOW_TRACKING_URI is set"),
    "wandb": ("trackers:Wandb", "an offline run of Weights & Biases, unless WANDB_MODE=online is set"),
    "trackio": ("trackers:Trackio", "a run of Trackio, in a local database unless a Space or server is set"),
})  # fmt: skip

TOOLS = under("assay.tooling", {
    "bash": ("workspace_tools:bash", "command lines in the workspace of the sample, a folder in the sandbox"),
    "python": ("workspace_tools:python", "Python programs in the workspace"),
    "read_file": ("workspace_tools:read_file", "the text of a file of the workspace"),
    "write_file": ("workspace_tools:write_file", "writes a file of the workspace"),
    "edit_file": ("workspace_tools:edit_file", "replaces a text in a file of the workspace"),
    "submit": ("workspace_tools:submit", "ends the sample with an answer"),
    "mcp": ("mcp_tools:McpTools", "the tools of an MCP server, started in the workspace"),
})  # fmt: skip
"""Tools that a task may name. A target is a toolbox, or a class or function that returns one (`assay.tooling`)."""

RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise",)
"""Functions (`module:function`) that try to load the tasks of a task reference."""
SIGNPOSTS: tuple[str, ...] = ("assay.dialects.signposts:signpost",)
"""Functions (`module:function`) that check whether an unknown task name belongs to another tool."""
MODEL_RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise_model",)
"""Functions (`module:function`) that try to load a model from a user's file."""

__all__ = [
    "BENCHMARKS",
    "DATASETS",
    "EXPORTERS",
    "MODELS",
    "MODEL_RECOGNISERS",
    "RECOGNISERS",
    "SCORERS",
    "SIGNPOSTS",
    "SUMMARIZERS",
    "TEMPLATES",
    "TOOLS",
]
