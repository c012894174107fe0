"""The benchmarks of assay by name and modality. This is plain data: none of them is imported."""

from collections.abc import Mapping


def in_module(
    module: str,
    summaries: Mapping[str, str],
) -> dict[str, tuple[str, str]]:
    """Return `name: (module:attribute, one line)` for the tasks of a module."""
    return {name: (f"{module}:{name}", summary) for name, summary in summaries.items()}


SMALL = in_module("assay.benchmarks.small_sets", {
    "quickstart": "five small sets, half a minute on one core",
    "quickstart_arithmetic": "small sums",
    "quickstart_facts": "well-known facts",
    "quickstart_choices": "four options, one letter",
    "quickstart_dialogue": "the second answer of a dialogue",
    "quickstart_format": "answers of a prescribed form",
    "demo_asr": "ten short clips to write down",
    "demo_tts": "sentences to say, heard by a given recogniser",
    "demo_ocr": "images of text to read",
    "demo_tools": "two lamps to switch by a tool",
    "demo_digits": "digits to draw, judged by a classifier",
    "demo_signs": "signs to draw, read by a given recogniser",
})  # fmt: skip

TEXT = in_module("assay.benchmarks.text_tasks", {
    "gsm8k": "word problems after five worked examples, as a chat",
    "gsm8k_completion": "the same as one text, as lm-eval asks",
    "mmlu_pro": "14 subjects, ten options, the letter at once",
    "mmlu_pro_cot": "MMLU-Pro with steps, no examples",
    "mmlu_pro_cot_5shot": "MMLU-Pro as published: steps, 5 examples",
    "mmlu": "57 subjects, four options (format-checked)",
    "arc_challenge": "ARC, the harder questions of school science (format-checked)",
    "arc_easy": "ARC, the easier questions of school science (format-checked)",
    "hellaswag": "HellaSwag, which ending follows (format-checked)",
    "openbookqa": "OpenBookQA, elementary science (format-checked)",
    "commonsense_qa": "CommonsenseQA, everyday knowledge (format-checked)",
    "piqa": "PIQA, which of two ways reaches a goal (format-checked)",
    "bbh": "BIG-Bench Hard after the official worked examples",
    "bbh_direct": "BIG-Bench Hard without steps",
    "lambada": "likelihood of a passage's last word",
    "ifeval": "verifiable instructions, the official checks",
    "mt_bench": "80 dialogues of two turns, both graded by a judge",
    "mt_bench_published": "MT-Bench with the published prompts of the judge",
    "humaneval": "functions from their docstring: pass@k, run in a sandbox",
    "humaneval_chat": "HumanEval as a question, answered with a fenced block",
    "humaneval_plus": "HumanEval with EvalPlus's inputs: pass@k, run in a sandbox (format-checked)",
    "humaneval_generate": "completions, parsed but never run",
    "mbpp": "functions from a sentence and tests: pass@k, run in a sandbox",
    "mbpp_chat": "MBPP as a question without examples",
    "livecodebench": "contest problems: pass@k, run in a sandbox (format-checked)",
})  # fmt: skip

VISION = in_module("assay.benchmarks.vision_tasks", {
    "ai2d": "AI2D, diagrams of school science (prompt as published)",
    "mmmu_dev": "MMMU development split (rule as published)",
    "mathvista_mini": "MathVista testmini: options, numbers and lists (normalized as published)",
    "mmmu": "MMMU validation: options and open questions (rule as published)",
    "mmstar": "MMStar, needs the image (prompt as published)",
    "realworldqa": "RealWorldQA, photographs (prompt as published)",
    "scienceqa": "ScienceQA with images (prompt as published)",
    "seedbench_img": "SEED-Bench, images (prompt as published)",
    "mmbench_dev_en_upstream": "MMBench dev, English, read as VLMEvalKit does (as published)",
    "mmbench_dev_cn_upstream": "MMBench dev, Chinese, read as VLMEvalKit does (as published)",
    "mmbench_dev_en_v11_upstream": "MMBench 1.1 dev, English, read as VLMEvalKit does (as published)",
    "mmbench_dev_cn_v11_upstream": "MMBench 1.1 dev, Chinese, read as VLMEvalKit does (as published)",
    "ccbench_upstream": "CCBench, read as VLMEvalKit does (as published)",
    "seedbench_img_upstream": "SEED-Bench, images, read as VLMEvalKit does (as published)",
    "mme_upstream": "MME, read as VLMEvalKit does (as published)",
    "mmvet_upstream": "MM-Vet, read as VLMEvalKit does (as published)",
    "ccbench": "CCBench, Chinese culture, right under every rotation (as published)",
    "mmbench_dev_cn": "MMBench dev, Chinese, right under every rotation (as published)",
    "mmbench_dev_cn_v11": "MMBench 1.1 dev, Chinese, right under every rotation (as published)",
    "mmbench_dev_en": "MMBench dev, English, right under every rotation (as published)",
    "mmbench_dev_en_v11": "MMBench 1.1 dev, English, right under every rotation (as published)",
    "mmbench_test_cn": "MMBench test, Chinese, letters to hand in (prompt as published)",
    "mmbench_test_cn_v11": "MMBench 1.1 test, Chinese, letters to hand in (prompt as published)",
    "mmbench_test_en": "MMBench test, English, letters to hand in (prompt as published)",
    "mmbench_test_en_v11": "MMBench 1.1 test, English, letters to hand in (prompt as published)",
    "chartqa": "ChartQA, within 5 % (rule as published)",
    "docvqa": "DocVQA val, ANLS (rule as published)",
    "infovqa": "InfographicVQA val, ANLS (rule as published)",
    "ocrbench": "OCRBench, five kinds of reading (rule as published)",
    "coco_caption": "COCO captions: BLEU, ROUGE-L, CIDEr (as published)",
    "flickr30k": "Flickr30k captions: BLEU, ROUGE-L, CIDEr (as published)",
    "core_mm": "CORE-MM: several images, a judge's rating (format-checked)",
    "core_mm_official": "CORE-MM by its paper: grades of 0 to 1, highly complex questions twice (format-checked)",
    "mmvet": "MM-Vet: a judge's grade by capability (scale as published)",
    "hateful_memes": "Hateful Memes: accuracy and AUROC (AUROC as published)",
    "hallusionbench": "HallusionBench: aAcc, qAcc, fAcc (as published)",
    "hallusionbench_official": "HallusionBench, its own script's sets and figures (counted as published)",
    "mme": "MME: acc, acc+, perception, cognition (as published)",
    "mme_official": "MME, the first four letters read (its own script, as published)",
    "pope": "POPE: objects that are not there (as published)",
    "pope_lmms_eval": "POPE by lmms-eval: the bare word, others left out of recall (as published)",
    "pope_official": "POPE, what does not deny is yes (its own script, as published)",
    "ocrvqa": "OCR-VQA, book covers, VQA's normalizing of the one answer (our own rule)",
    "ocrvqa_exact": "OCR-VQA, book covers, by equality apart from case (VLMEvalKit's rule as published)",
    "okvqa": "OK-VQA val, VQA accuracy (rule as published)",
    "textvqa": "TextVQA val, VQA accuracy (rule as published)",
    "vqav2": "VQAv2 val, VQA accuracy (rule as published)",
    "vqav2_a013f00": "VQAv2 val as the last official revision scores it (rule as published)",
    "refcoco": "RefCOCO val: box overlap of 0.5 (rule as published)",
    "refcoco_plus": "RefCOCO+ val, no words of place: box overlap of 0.5 (rule as published)",
    "refcocog": "RefCOCOg val, longer phrases: box overlap of 0.5 (rule as published)",
})  # fmt: skip

AUDIO, BOTH, WRITTEN = "audio", "audio+text", "text"
SUFFIXES = {AUDIO: "", BOTH: "_audio_text", WRITTEN: "_text"}
"""The suffix of a benchmark's name for each mode. The first mode of a benchmark has no suffix."""


def _modes(
    name: str,
    summary: str,
    checked: str,
    *modes: str,
) -> dict[str, str]:
    """Return the task names of a benchmark with their summaries: one task for each given mode, or for all three."""
    chosen = modes or tuple(SUFFIXES)
    tasks = {}
    for mode in chosen:
        if mode == chosen[0]:
            suffix = ""
        else:
            suffix = SUFFIXES[mode]
        tasks[f"{name}{suffix}"] = f"{summary}, {mode} ({checked})"
    return tasks


def _heard(
    name: str,
    summary: str,
    checked: str = "normalized as published",
) -> dict[str, str]:
    """Return the task names of an audio benchmark with their summaries.

    The modes are audio, and audio with text. A text mode would reveal the answer.
    """
    return _modes(name, summary, checked, AUDIO, BOTH)


_REPLIES = "a judge's 0 to 5, share above 3"
SPEECH = in_module("assay.benchmarks.speech_tasks", {
    **_modes("spoken_ceval", "C-Eval read aloud: letter, in Chinese", "rule as published"),
    **_modes("spoken_agieval", "AGIEval read aloud: letter, in Chinese", "rule as published"),
    **_modes("mmau", "MMAU: speech, sound and music, one option", "rows as published", BOTH, WRITTEN),
    "mmau_official": "MMAU: the words of an option (read as published)",
    **_modes("voicebench_openbookqa", "VoiceBench openbookqa: options said aloud", "rows as published"),
    **_modes("voicebench_mmsu", "VoiceBench mmsu: options said aloud", "rows as published"),
    **_modes("voicebench_alpacaeval", "VoiceBench alpacaeval: a judge's grade", "scale as published"),
    **_modes("voicebench_commoneval", "VoiceBench commoneval: a judge's grade", "scale as published"),
    **_modes("voicebench_sd_qa", "VoiceBench sd_qa: a judge's grade", "scale as published"),
    **_modes("spoken_humanlike", f"Human-like replies: {_REPLIES}", "scale as published"),
    **_modes("spoken_empathy", f"Empathic replies: {_REPLIES}", "scale as published"),
    **_modes("spoken_memory", "Memory over two spoken rounds: exists-match", "rule as published"),
    **_heard("librispeech", "LibriSpeech test-clean: corpus WER"),
    **_heard("librispeech_other", "LibriSpeech test-other: corpus WER"),
    **_heard("common_voice_en", "Common Voice 15, English: corpus WER"),
    **_heard("common_voice_zh", "Common Voice 15, Chinese: corpus CER"),
    **_heard("fleurs_en", "FLEURS, English: corpus WER"),
    **_heard("fleurs_zh", "FLEURS, Mandarin: corpus CER"),
    **_heard("aishell1", "AISHELL-1: corpus CER"),
    **_heard("wenetspeech", "WenetSpeech test_net: corpus CER"),
    **_heard("robust_qa", "Questions under noise: by level, worst case", "rule as published"),
    **_heard("robust_asr", "Recognition under noise: WER by level, worst case"),
    "voice_similarity": "The same voice: cosine by a given encoder, audio+text (as published)",
    "voice_words": "Words in a given voice: mean WER of utterances, audio+text (arithmetic as published)",
    "voice_mos": "Quality in a given voice: rating by a given predictor, audio+text (format-checked)",
    **_modes("speech_quality", "Quality of the model's speech: DNSMOS", "as published"),
    **_modes("speech_text", "Speech against the model's text: WER", "counted as published"),
    **_modes("speech_text_zh", "Speech against the model's Chinese text: CER", "counted as published"),
    **_modes("llama_questions", "LLaMA-Questions: exists-match", "rule as published"),
    **_modes("spoken_webq", "Spoken WebQuestions: exists-match", "rule as published"),
    **_modes("spoken_triviaqa", "Spoken TriviaQA: exists-match", "rule as published"),
    **_modes("covost2_en_zh", "CoVoST 2 en_zh: sacreBLEU", "as published", BOTH, WRITTEN),
    **_modes("covost2_en_de", "CoVoST 2 en_de: sacreBLEU", "as published", BOTH, WRITTEN),
})  # fmt: skip

IMAGE = in_module("assay.benchmarks.image_tasks", {
    "geneval": "GenEval: objects by a detector, mean of six tasks (arithmetic as published)",
    "geneval_saved": "GenEval from saved detections (arithmetic as published)",
    "dpg_bench": "DPG-Bench: propositions by a VQA model (arithmetic as published)",
    "dpg_bench_saved": "DPG-Bench from saved answers (arithmetic as published)",
    "wise_verified": "WISE, 2026: a judge's right or wrong (fields and weights as published)",
    "wise_legacy": "WISE of 2025: WiScore by a judge (fields and weights as published)",
    "t2i_compbench": "T2I-CompBench: attributes and relations by a worker (means as published)",
    "t2i_compbench_parts": "T2I-CompBench from a VQA model, a detector and CLIP (arithmetic as published)",
    "genai_bench": "GenAI-Bench: VQAScore by a worker (means as published)",
    "geneval_pp": "GenEval++: a judge's yes or no, mean of the tags (arithmetic as published)",
    "imagine_bench": "ImagineBench: a judge's three ratings, by kind (arithmetic as published)",
    "imagine_bench_ulmeval": "ImagineBench, weighted as in ULMEvalKit (arithmetic as published)",
    "clip_score": "CLIPScore of images and their prompts, 0 to 2.5 (as published)",
    "clip_score_torchmetrics": "CLIPScore as in torchmetrics, 0 to 100 (as published)",
    "fid": "FID of the images of a set of prompts, Inception features (formula as published)",
    "fid_clip": "Fréchet distance of the same on CLIP features (formula as published)",
    "edit_lpips": "Edits with a known result: LPIPS (as published)",
    "omnicontext": "OmniContext: given subjects in a new image, judged (arithmetic as published)",
    "gedit": "GEdit-Bench, English: edits as users ask for them, judged (arithmetic as published)",
    "gedit_cn": "GEdit-Bench, Chinese: edits as users ask for them, judged (arithmetic as published)",
    "gedit_upstream": "GEdit-Bench, English, asked with VIEScore's prompts from a checkout (as published)",
    "gedit_cn_upstream": "GEdit-Bench, Chinese, asked with VIEScore's prompts from a checkout (as published)",
    "imgedit_upstream": "ImgEdit, asked with its prompts from a checkout (as published)",
    "imgedit": "ImgEdit: a judge's three ratings of an edit (arithmetic as published)",
    "edit_similarity": "Edits with a known result: PSNR and SSIM (formulas as published)",
    "text_rendering": "Text in images, read by a recogniser (format-checked)",
})  # fmt: skip

_BFCL_PARTS = {
    "": "the Berkeley function-calling leaderboard, 17 tasks",
    "_live": "BFCL, questions of users, 6 tasks",
    "_non_live": "BFCL, written questions, 7 tasks",
    "_simple": "BFCL: one function, one call",
    "_java": "BFCL: one call of a Java function",
    "_javascript": "BFCL: one call of a JavaScript function",
    "_multiple": "BFCL: several functions, one call",
    "_parallel": "BFCL: one function, several calls",
    "_parallel_multiple": "BFCL: several functions, several calls",
    "_irrelevance": "BFCL: no function helps, so any call is wrong",
    "_live_simple": "BFCL, users' questions: one function, one call",
    "_live_multiple": "BFCL, users' questions: several functions, one call",
    "_live_parallel": "BFCL, users' questions: one function, several calls",
    "_live_parallel_multiple": "BFCL, users' questions: several of both",
    "_live_irrelevance": "BFCL, users' questions: any call is wrong",
    "_live_relevance": "BFCL, users' questions: some call is needed",
    "_multi_turn": "BFCL, work on simulated systems, 4 tasks",
    "_multi_turn_base": "BFCL: work on simulated systems over several turns",
    "_multi_turn_miss_func": "BFCL, several turns: a function is missing at first",
    "_multi_turn_miss_param": "BFCL, several turns: a detail is missing at first",
    "_multi_turn_long_context": "BFCL, several turns: much data to read",
}
_BFCL_MODES = {"": "", "_prompt": ", functions described in the prompt"}
AGENTS = in_module("assay.benchmarks.bfcl_tasks", {
    f"bfcl{part}{mode}": f"{summary}{words} (official checker)"
    for mode, words in _BFCL_MODES.items()
    for part, summary in _BFCL_PARTS.items()
})  # fmt: skip

TAU2 = in_module("assay.benchmarks.tau2_tasks", {
    "tau2_airline": "τ², airline: service for a simulated customer (official tools)",
    "tau2_retail": "τ², retail: service for a simulated customer (official tools)",
    "tau2_telecom": "τ², telecom: service for a customer who has tools, too (official tools)",
})  # fmt: skip

BENCHMARKS: dict[str, tuple[str, str]] = {
    **SMALL,
    **TEXT,
    **VISION,
    **SPEECH,
    **IMAGE,
    **AGENTS,
    **TAU2,
}
