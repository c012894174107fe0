"""Text benchmarks that ship, with the quick start and the demo: by module, each name with its one line."""

from ..places import by_module

TEXT = by_module(
    "assay.benchmarks",
    {
        "quickstart": {
            "quickstart": "five small sets, half a minute on one core",
            "quickstart_arithmetic": "small sums",
            "quickstart_facts": "well-known facts",
            "quickstart_choices": "four options, one letter",
            "quickstart_dialogue": "the second answer of a dialogue",
            "quickstart_format": "answers of a prescribed form",
        },
        "demo": {
            "demo_asr": "ten short clips to write down",
            "demo_tts": "sentences to say, heard by a given recogniser",
            "demo_ocr": "images of text to read",
            "demo_digits": "digits to draw, judged by a classifier",
            "demo_signs": "signs to draw, read by a given recogniser",
        },
        "text.gsm8k": {
            "gsm8k": "word problems after five worked examples, as a chat",
            "gsm8k_completion": "the same as one text, as lm-eval asks",
        },
        "text.mmlu_pro": {
            "mmlu_pro": "14 subjects, ten options, the letter at once",
            "mmlu_pro_cot": "MMLU-Pro with steps, no examples",
            "mmlu_pro_cot_5shot": "MMLU-Pro as published: steps, 5 examples",
        },
        "text.common_choices": {
            "mmlu": "57 subjects, four options (format-checked)",
            "arc_challenge": "ARC, the harder questions of school science (format-checked)",
            "arc_easy": "ARC, the easier questions of school science (format-checked)",
            "hellaswag": "HellaSwag, which ending follows (format-checked)",
            "openbookqa": "OpenBookQA, elementary science (format-checked)",
            "commonsense_qa": "CommonsenseQA, everyday knowledge (format-checked)",
            "piqa": "PIQA, which of two ways reaches a goal (format-checked)",
        },
        "text.bbh": {
            "bbh": "BIG-Bench Hard after the official worked examples",
            "bbh_direct": "BIG-Bench Hard without steps",
        },
        "text.lambada": {"lambada": "likelihood of a passage's last word"},
        "text.ifeval": {"ifeval": "verifiable instructions, the official checks"},
        "text.mt_bench": {
            "mt_bench": "80 dialogues of two turns, both graded by a judge",
            "mt_bench_published": "MT-Bench with the published prompts of the judge",
        },
        "text.humaneval": {
            "humaneval": "functions from their docstring: pass@k, run in a sandbox",
            "humaneval_chat": "HumanEval as a question, answered with a fenced block",
            "humaneval_plus": "HumanEval with EvalPlus's inputs: pass@k, run in a sandbox (format-checked)",
            "humaneval_generate": "completions, parsed but never run",
        },
        "text.mbpp": {
            "mbpp": "functions from a sentence and tests: pass@k, run in a sandbox",
            "mbpp_chat": "MBPP as a question without examples",
        },
        "text.livecodebench": {
            "livecodebench": "contest problems: pass@k, run in a sandbox (format-checked)"
        },
    },
)
