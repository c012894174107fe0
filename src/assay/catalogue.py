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
    "hf": (
        "assay.models.local_transformers:LocalTransformers",
        "hf/PATH_OR_ID: transformers in process; text, vision, audio, speech, GGUF files; likelihood",
    ),
    "openai": ("assay.models.openai:OpenAI", "openai/NAME: any OpenAI-compatible endpoint (--base_url)"),
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
    "rapidocr": ("assay.models.specialists.rapidocr:RapidOcr", "text in pictures: PP-OCRv4; a reader, embedded"),
    "tesseract": ("assay.models.specialists.tesseract:Tesseract", "text in pictures, where the system has Tesseract"),
    "digits-flow": ("assay.models.specialists.digits_flow:DigitsFlow", "draws 8 x 8 digits; trained here on first use"),
    "renderer": ("assay.models.specialists.renderer:Renderer", "draws the words of the prompt; a baseline, no model"),
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
    "ifeval": ("assay.scorers.ifeval.scorer:IfEval", "which instructions were followed, strict and loose"),
    "mmlu_pro": ("assay.scorers.mmlu_pro:MmluPro", "MMLU-Pro's own extraction rules"),
    "bbh": ("assay.scorers.bbh:Bbh", "BIG-Bench Hard's own extraction"),
    "humaneval": ("assay.scorers.humaneval:HumanEval", "verdicts on code from a file; runs no code"),
    "python_syntax": ("assay.scorers.humaneval:PythonSyntax", "whether the code can be parsed"),
    "vqa_accuracy": ("assay.scorers.vqa:VqaAccuracy", "official VQA accuracy over ten annotators"),
    "relaxed_accuracy": ("assay.scorers.relaxed:RelaxedAccuracy", "ChartQA: within five per cent"),
    "anls": ("assay.scorers.anls:Anls", "DocVQA: normalised edit similarity"),
    "anls_star": ("assay.scorers.anls_star:AnlsStar", "ANLS over nested answers"),
    "ocrbench": ("assay.scorers.ocrbench:OcrBench", "OCRBench: the text occurs in the answer"),
    "yes_no": ("assay.scorers.yes_no:YesNo", "yes or no, by a named rule (POPE, MME)"),
    "caption": ("assay.scorers.caption:Caption", "BLEU, ROUGE-L and CIDEr-D counts of a caption"),
    "box_iou": ("assay.scorers.boxes:BoxIou", "overlap of a named box with the right one"),
    "image_similarity": ("assay.scorers.image_similarity:ImageSimilarity", "PSNR and SSIM"),
    "clip_score": ("assay.scorers.clip_score:ClipScore", "CLIPScore from a given cosine"),
    "geneval": ("assay.scorers.geneval:GenEval", "GenEval from saved detections"),
    "dpg": ("assay.scorers.dpg:Dpg", "DPG-Bench from saved answers"),
    "wise_legacy": ("assay.scorers.wise:WiseLegacy", "WiScore as first published"),
    "wise_verified": ("assay.scorers.wise:WiseVerified", "WISE_Verified, 2026"),
    "ocr_text": ("assay.scorers.ocr_text:OcrText", "rendered text as a recogniser read it"),
    "wer": ("assay.scorers.wer:WordErrorRate", "word error rate, corpus-pooled, normaliser in the name"),
    "cer": ("assay.scorers.wer:CharacterErrorRate", "character error rate"),
    "mer": ("assay.scorers.wer:MixedErrorRate", "errors over Han characters and Latin words"),
    "exists_match": ("assay.scorers.exists_match:ExistsMatch", "spoken QA: references with OR and AND occur"),
    "single_choice_zh": ("assay.scorers.single_choice_zh:SingleChoiceZh", "the letter of a spoken Chinese answer"),
    "dnsmos": ("assay.scorers.dnsmos:Dnsmos", "speech quality (DNSMOS P.835 and P.808)"),
    "si_sdr": ("assay.scorers.si_sdr:SiSdr", "scale-invariant signal-to-distortion ratio"),
    "speaker_similarity": ("assay.scorers.speaker_similarity:SpeakerSimilarity", "cosine of speaker embeddings"),
    "speech_consistency": ("assay.scorers.consistency:SpeechConsistency", "a model's speech against its own text"),
    "mmvet": ("assay.scorers.mmvet:MmVet", "MM-Vet: a judge's grade from 0 to 1"),
    "digit_accuracy": ("assay.scorers.digit_accuracy:DigitAccuracy", "whether a drawn digit is the one asked for"),
    "spoken_wer": ("assay.scorers.spoken_wer:SpokenWer", "a model's speech as a given recogniser hears it"),
    "rendered_text": ("assay.scorers.rendered_text:RenderedText", "drawn words as a given recogniser reads them"),
    "read_text": ("assay.scorers.rendered_text:ReadText", "words read from a picture, spaces aside"),
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
    "instructions": ("assay.summarizers.instructions:instructions", "shares of instructions followed, pooled"),
    "yes_no": ("assay.summarizers.yes_no:yes_no", "accuracy, precision, recall, F1 and yes-ratio"),
    "mme": ("assay.summarizers.pairs:Mme", "MME: acc and acc+ by picture, perception, reasoning"),
    "hallusionbench": ("assay.summarizers.pairs:HallusionBench", "aAcc, qAcc, fAcc"),
    "group_mean": ("assay.summarizers.weighted:GroupMean", "mean of the groups' means, weighted if asked"),
    "wise_legacy": ("assay.summarizers.weighted:WiseLegacy", "WISE overall, first version"),
    "wise_verified": ("assay.summarizers.weighted:WiseVerified", "WISE overall, verified version"),
    "caption": ("assay.summarizers.caption:caption", "corpus BLEU, ROUGE-L and CIDEr-D"),
    "dpg": ("assay.summarizers.propositions:dpg", "DPG by picture and by question"),
    "mmvet": ("assay.summarizers.mmvet:MmVet", "MM-Vet by capability and combination"),
    "bleu": ("assay.summarizers.translation:bleu", "corpus BLEU from stored counts"),
    "chrf": ("assay.summarizers.translation:chrf", "corpus chrF from stored counts"),
    "perplexity": ("assay.summarizers.perplexity:perplexity", "corpus-weighted perplexities"),
}

BENCHMARKS: dict[str, tuple[str, str]] = {
    "quickstart": ("assay.benchmarks.quickstart:quickstart", "five small sets, half a minute on one core"),
    "quickstart_arithmetic": ("assay.benchmarks.quickstart:quickstart_arithmetic", "small sums"),
    "quickstart_facts": ("assay.benchmarks.quickstart:quickstart_facts", "well-known facts"),
    "quickstart_choices": ("assay.benchmarks.quickstart:quickstart_choices", "four options, one letter"),
    "quickstart_dialogue": ("assay.benchmarks.quickstart:quickstart_dialogue", "the second answer of a dialogue"),
    "quickstart_format": ("assay.benchmarks.quickstart:quickstart_format", "answers of a prescribed form"),
    "demo_asr": ("assay.benchmarks.demo:demo_asr", "eight short clips to write down"),
    "demo_tts": ("assay.benchmarks.demo:demo_tts", "sentences to say, heard by a given recogniser"),
    "demo_ocr": ("assay.benchmarks.demo:demo_ocr", "pictures of text to read"),
    "demo_digits": ("assay.benchmarks.demo:demo_digits", "digits to draw, judged by a classifier"),
    "demo_signs": ("assay.benchmarks.demo:demo_signs", "signs to draw, read by a given recogniser"),
    "gsm8k": ("assay.benchmarks.gsm8k:gsm8k", "word problems after five worked examples, as a chat"),
    "gsm8k_completion": ("assay.benchmarks.gsm8k:gsm8k_completion", "the same as one text, as lm-eval asks"),
    "mmlu_pro": ("assay.benchmarks.mmlu_pro:mmlu_pro", "14 subjects, ten options, the letter at once"),
    "mmlu_pro_cot": ("assay.benchmarks.mmlu_pro:mmlu_pro_cot", "MMLU-Pro with steps, no examples"),
    "mmlu_pro_cot_5shot": ("assay.benchmarks.mmlu_pro:mmlu_pro_cot_5shot", "MMLU-Pro as published: steps, 5 examples"),
    "bbh": ("assay.benchmarks.bbh:bbh", "BIG-Bench Hard after the official worked examples"),
    "bbh_direct": ("assay.benchmarks.bbh:bbh_direct", "BIG-Bench Hard without steps"),
    "lambada": ("assay.benchmarks.lambada:lambada", "likelihood of a passage's last word"),
    "ifeval": ("assay.benchmarks.ifeval:ifeval", "verifiable instructions, the official checks"),
    "humaneval": ("assay.benchmarks.humaneval:humaneval", "pass@k from a file of verdicts"),
    "humaneval_generate": ("assay.benchmarks.humaneval:humaneval_generate", "completions, parsed but never run"),
    "ai2d": ("assay.benchmarks.vision.choices:ai2d", "AI2D, diagrams of school science (format-checked)"),
    "ccbench": (
        "assay.benchmarks.vision.circular:ccbench",
        "CCBench, Chinese culture, right under every rotation (format-checked)",
    ),
    "chartqa": ("assay.benchmarks.vision.documents:chartqa", "ChartQA, within 5 % (format-checked)"),
    "coco_caption": (
        "assay.benchmarks.vision.captions:coco_caption",
        "COCO captions: BLEU, ROUGE-L, CIDEr (format-checked)",
    ),
    "core_mm": (
        "assay.benchmarks.vision.judged:core_mm",
        "CORE-MM: several pictures, a judge's rating (format-checked)",
    ),
    "docvqa": ("assay.benchmarks.vision.documents:docvqa", "DocVQA val, ANLS (format-checked)"),
    "flickr30k": (
        "assay.benchmarks.vision.captions:flickr30k",
        "Flickr30k captions: BLEU, ROUGE-L, CIDEr (format-checked)",
    ),
    "hallusionbench": (
        "assay.benchmarks.vision.yes_no:hallusionbench",
        "HallusionBench: aAcc, qAcc, fAcc (format-checked)",
    ),
    "infovqa": ("assay.benchmarks.vision.documents:infovqa", "InfographicVQA val, ANLS (format-checked)"),
    "mathvista_mini": (
        "assay.benchmarks.vision.choices:mathvista_mini",
        "MathVista mini, with options (format-checked)",
    ),
    "mmbench_dev_cn": (
        "assay.benchmarks.vision.circular:mmbench_dev_cn",
        "MMBench dev, Chinese, right under every rotation (format-checked)",
    ),
    "mmbench_dev_cn_v11": (
        "assay.benchmarks.vision.circular:mmbench_dev_cn_v11",
        "MMBench 1.1 dev, Chinese, right under every rotation (format-checked)",
    ),
    "mmbench_dev_en": (
        "assay.benchmarks.vision.circular:mmbench_dev_en",
        "MMBench dev, English, right under every rotation (format-checked)",
    ),
    "mmbench_dev_en_v11": (
        "assay.benchmarks.vision.circular:mmbench_dev_en_v11",
        "MMBench 1.1 dev, English, right under every rotation (format-checked)",
    ),
    "mmbench_test_cn": (
        "assay.benchmarks.vision.circular:mmbench_test_cn",
        "MMBench test, Chinese, letters to hand in (format-checked)",
    ),
    "mmbench_test_cn_v11": (
        "assay.benchmarks.vision.circular:mmbench_test_cn_v11",
        "MMBench 1.1 test, Chinese, letters to hand in (format-checked)",
    ),
    "mmbench_test_en": (
        "assay.benchmarks.vision.circular:mmbench_test_en",
        "MMBench test, English, letters to hand in (format-checked)",
    ),
    "mmbench_test_en_v11": (
        "assay.benchmarks.vision.circular:mmbench_test_en_v11",
        "MMBench 1.1 test, English, letters to hand in (format-checked)",
    ),
    "mme": ("assay.benchmarks.vision.yes_no:mme", "MME: acc, acc+, perception, cognition (format-checked)"),
    "mme_official": (
        "assay.benchmarks.vision.yes_no:mme_official",
        "MME, the first four letters read, as its own script does (format-checked)",
    ),
    "mmmu": ("assay.benchmarks.vision.choices:mmmu", "MMMU, college subjects (format-checked)"),
    "mmstar": ("assay.benchmarks.vision.choices:mmstar", "MMStar, needs the picture (format-checked)"),
    "mmvet": ("assay.benchmarks.vision.judged:mmvet", "MM-Vet: a judge's grade by capability (format-checked)"),
    "ocrbench": ("assay.benchmarks.vision.documents:ocrbench", "OCRBench, five kinds of reading (format-checked)"),
    "ocrvqa": ("assay.benchmarks.vision.short_answers:ocrvqa", "OCR-VQA, book covers, VQA accuracy (format-checked)"),
    "ocrvqa_exact": (
        "assay.benchmarks.vision.short_answers:ocrvqa_exact",
        "OCR-VQA by equality apart from case (format-checked)",
    ),
    "okvqa": ("assay.benchmarks.vision.short_answers:okvqa", "OK-VQA val, VQA accuracy (format-checked)"),
    "pope": ("assay.benchmarks.vision.yes_no:pope", "POPE: objects that are not there (format-checked)"),
    "pope_official": (
        "assay.benchmarks.vision.yes_no:pope_official",
        "POPE, what does not deny is yes, as its own script reads (format-checked)",
    ),
    "realworldqa": ("assay.benchmarks.vision.choices:realworldqa", "RealWorldQA, photographs (format-checked)"),
    "refcoco": ("assay.benchmarks.vision.refcoco:refcoco", "RefCOCO val: box overlap of 0.5 (format-checked)"),
    "refcoco_plus": (
        "assay.benchmarks.vision.refcoco:refcoco_plus",
        "RefCOCO+ val, no words of place: box overlap of 0.5 (format-checked)",
    ),
    "refcocog": (
        "assay.benchmarks.vision.refcoco:refcocog",
        "RefCOCOg val, longer phrases: box overlap of 0.5 (format-checked)",
    ),
    "scienceqa": ("assay.benchmarks.vision.choices:scienceqa", "ScienceQA with pictures (format-checked)"),
    "seedbench_img": ("assay.benchmarks.vision.choices:seedbench_img", "SEED-Bench, pictures (format-checked)"),
    "textvqa": ("assay.benchmarks.vision.short_answers:textvqa", "TextVQA val, VQA accuracy (format-checked)"),
    "vqav2": ("assay.benchmarks.vision.short_answers:vqav2", "VQAv2 val, VQA accuracy (format-checked)"),
    "vqav2_a013f00": (
        "assay.benchmarks.vision.short_answers:vqav2_a013f00",
        "VQAv2 val as the last official revision scores it (format-checked)",
    ),
}

RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise",)
"""`module:function` of rooms further right that may know what a task reference stands for."""
MODEL_RECOGNISERS: tuple[str, ...] = ("assay.dialects.recognise:recognise_model",)
"""The same for models in users' files."""
