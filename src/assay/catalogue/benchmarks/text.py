"""Text benchmarks that ship, with the quick start and the demo, by name: `name: (module:attribute, one line)`."""

TEXT: dict[str, tuple[str, str]] = {
    "quickstart": ("assay.benchmarks.quickstart:quickstart", "five small sets, half a minute on one core"),
    "quickstart_arithmetic": ("assay.benchmarks.quickstart:quickstart_arithmetic", "small sums"),
    "quickstart_facts": ("assay.benchmarks.quickstart:quickstart_facts", "well-known facts"),
    "quickstart_choices": ("assay.benchmarks.quickstart:quickstart_choices", "four options, one letter"),
    "quickstart_dialogue": ("assay.benchmarks.quickstart:quickstart_dialogue", "the second answer of a dialogue"),
    "quickstart_format": ("assay.benchmarks.quickstart:quickstart_format", "answers of a prescribed form"),
    "demo_asr": ("assay.benchmarks.demo:demo_asr", "ten short clips to write down"),
    "demo_tts": ("assay.benchmarks.demo:demo_tts", "sentences to say, heard by a given recogniser"),
    "demo_ocr": ("assay.benchmarks.demo:demo_ocr", "images of text to read"),
    "demo_digits": ("assay.benchmarks.demo:demo_digits", "digits to draw, judged by a classifier"),
    "demo_signs": ("assay.benchmarks.demo:demo_signs", "signs to draw, read by a given recogniser"),
    "gsm8k": ("assay.benchmarks.text.gsm8k:gsm8k", "word problems after five worked examples, as a chat"),
    "gsm8k_completion": ("assay.benchmarks.text.gsm8k:gsm8k_completion", "the same as one text, as lm-eval asks"),
    "mmlu_pro": ("assay.benchmarks.text.mmlu_pro:mmlu_pro", "14 subjects, ten options, the letter at once"),
    "mmlu_pro_cot": ("assay.benchmarks.text.mmlu_pro:mmlu_pro_cot", "MMLU-Pro with steps, no examples"),
    "mmlu_pro_cot_5shot": (
        "assay.benchmarks.text.mmlu_pro:mmlu_pro_cot_5shot",
        "MMLU-Pro as published: steps, 5 examples",
    ),
    "mmlu": ("assay.benchmarks.text.common_choices:mmlu", "57 subjects, four options (format-checked)"),
    "arc_challenge": (
        "assay.benchmarks.text.common_choices:arc_challenge",
        "ARC, the harder questions of school science (format-checked)",
    ),
    "arc_easy": (
        "assay.benchmarks.text.common_choices:arc_easy",
        "ARC, the easier questions of school science (format-checked)",
    ),
    "hellaswag": (
        "assay.benchmarks.text.common_choices:hellaswag",
        "HellaSwag, which ending follows (format-checked)",
    ),
    "openbookqa": (
        "assay.benchmarks.text.common_choices:openbookqa",
        "OpenBookQA, elementary science (format-checked)",
    ),
    "commonsense_qa": (
        "assay.benchmarks.text.common_choices:commonsense_qa",
        "CommonsenseQA, everyday knowledge (format-checked)",
    ),
    "piqa": (
        "assay.benchmarks.text.common_choices:piqa",
        "PIQA, which of two ways reaches a goal (format-checked)",
    ),
    "bbh": ("assay.benchmarks.text.bbh:bbh", "BIG-Bench Hard after the official worked examples"),
    "bbh_direct": ("assay.benchmarks.text.bbh:bbh_direct", "BIG-Bench Hard without steps"),
    "lambada": ("assay.benchmarks.text.lambada:lambada", "likelihood of a passage's last word"),
    "ifeval": ("assay.benchmarks.text.ifeval:ifeval", "verifiable instructions, the official checks"),
    "mt_bench": ("assay.benchmarks.text.mt_bench:mt_bench", "80 dialogues of two turns, both graded by a judge"),
    "mt_bench_published": (
        "assay.benchmarks.text.mt_bench:mt_bench_published",
        "MT-Bench with the published prompts of the judge",
    ),
    "humaneval": (
        "assay.benchmarks.text.humaneval:humaneval",
        "functions from their docstring: pass@k, run in a sandbox",
    ),
    "humaneval_chat": (
        "assay.benchmarks.text.humaneval:humaneval_chat",
        "HumanEval as a question, answered with a fenced block",
    ),
    "humaneval_plus": (
        "assay.benchmarks.text.humaneval:humaneval_plus",
        "HumanEval with EvalPlus's inputs: pass@k, run in a sandbox (format-checked)",
    ),
    "mbpp": ("assay.benchmarks.text.mbpp:mbpp", "functions from a sentence and tests: pass@k, run in a sandbox"),
    "mbpp_chat": ("assay.benchmarks.text.mbpp:mbpp_chat", "MBPP as a question without examples"),
    "livecodebench": (
        "assay.benchmarks.text.livecodebench:livecodebench",
        "contest problems: pass@k, run in a sandbox (format-checked)",
    ),
    "humaneval_generate": ("assay.benchmarks.text.humaneval:humaneval_generate", "completions, parsed but never run"),
}
