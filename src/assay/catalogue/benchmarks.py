"""The benchmarks that ship, by name: `name: (module:attribute, one line)`."""

BENCHMARKS: dict[str, tuple[str, str]] = {
    "quickstart": ("assay.benchmarks.quickstart:quickstart", "five small sets, half a minute on one core"),
    "quickstart_arithmetic": ("assay.benchmarks.quickstart:quickstart_arithmetic", "small sums"),
    "quickstart_facts": ("assay.benchmarks.quickstart:quickstart_facts", "well-known facts"),
    "quickstart_choices": ("assay.benchmarks.quickstart:quickstart_choices", "four options, one letter"),
    "quickstart_dialogue": ("assay.benchmarks.quickstart:quickstart_dialogue", "the second answer of a dialogue"),
    "quickstart_format": ("assay.benchmarks.quickstart:quickstart_format", "answers of a prescribed form"),
    "demo_asr": ("assay.benchmarks.demo:demo_asr", "ten short clips to write down"),
    "demo_tts": ("assay.benchmarks.demo:demo_tts", "sentences to say, heard by a given recogniser"),
    "demo_ocr": ("assay.benchmarks.demo:demo_ocr", "pictures of text to read"),
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
    "ai2d": ("assay.benchmarks.vision.choices:ai2d", "AI2D, diagrams of school science (prompt as published)"),
    "mmbench_dev_en_upstream": (
        "assay.benchmarks.vision.upstream:mmbench_dev_en_upstream",
        "MMBench dev, English, read as VLMEvalKit does (as published)",
    ),
    "mmbench_dev_cn_upstream": (
        "assay.benchmarks.vision.upstream:mmbench_dev_cn_upstream",
        "MMBench dev, Chinese, read as VLMEvalKit does (as published)",
    ),
    "mmbench_dev_en_v11_upstream": (
        "assay.benchmarks.vision.upstream:mmbench_dev_en_v11_upstream",
        "MMBench 1.1 dev, English, read as VLMEvalKit does (as published)",
    ),
    "mmbench_dev_cn_v11_upstream": (
        "assay.benchmarks.vision.upstream:mmbench_dev_cn_v11_upstream",
        "MMBench 1.1 dev, Chinese, read as VLMEvalKit does (as published)",
    ),
    "ccbench_upstream": (
        "assay.benchmarks.vision.upstream:ccbench_upstream",
        "CCBench, read as VLMEvalKit does (as published)",
    ),
    "seedbench_img_upstream": (
        "assay.benchmarks.vision.upstream:seedbench_img_upstream",
        "SEED-Bench, pictures, read as VLMEvalKit does (as published)",
    ),
    "mme_upstream": ("assay.benchmarks.vision.upstream:mme_upstream", "MME, read as VLMEvalKit does (as published)"),
    "mmvet_upstream": (
        "assay.benchmarks.vision.upstream:mmvet_upstream",
        "MM-Vet, read as VLMEvalKit does (as published)",
    ),
    "ccbench": (
        "assay.benchmarks.vision.circular:ccbench",
        "CCBench, Chinese culture, right under every rotation (as published)",
    ),
    "chartqa": ("assay.benchmarks.vision.documents:chartqa", "ChartQA, within 5 % (rule as published)"),
    "coco_caption": (
        "assay.benchmarks.vision.captions:coco_caption",
        "COCO captions: BLEU, ROUGE-L, CIDEr (as published)",
    ),
    "core_mm": (
        "assay.benchmarks.vision.judged:core_mm",
        "CORE-MM: several pictures, a judge's rating (format-checked)",
    ),
    "core_mm_official": (
        "assay.benchmarks.vision.judged:core_mm_official",
        "CORE-MM by its paper: grades of 0 to 1, highly complex questions twice (format-checked)",
    ),
    "docvqa": ("assay.benchmarks.vision.documents:docvqa", "DocVQA val, ANLS (rule as published)"),
    "flickr30k": (
        "assay.benchmarks.vision.captions:flickr30k",
        "Flickr30k captions: BLEU, ROUGE-L, CIDEr (as published)",
    ),
    "hateful_memes": (
        "assay.benchmarks.vision.memes:hateful_memes",
        "Hateful Memes: accuracy and AUROC (AUROC as published)",
    ),
    "hallusionbench": (
        "assay.benchmarks.vision.yes_no:hallusionbench",
        "HallusionBench: aAcc, qAcc, fAcc (as published)",
    ),
    "hallusionbench_official": (
        "assay.benchmarks.vision.yes_no:hallusionbench_official",
        "HallusionBench, its own script's sets and figures (counted as published)",
    ),
    "infovqa": ("assay.benchmarks.vision.documents:infovqa", "InfographicVQA val, ANLS (rule as published)"),
    "mmmu_dev": ("assay.benchmarks.vision.choices:mmmu_dev", "MMMU development split (rule as published)"),
    "mathvista_mini": (
        "assay.benchmarks.vision.choices:mathvista_mini",
        "MathVista testmini: options, numbers and lists (normalized as published)",
    ),
    "mmbench_dev_cn": (
        "assay.benchmarks.vision.circular:mmbench_dev_cn",
        "MMBench dev, Chinese, right under every rotation (as published)",
    ),
    "mmbench_dev_cn_v11": (
        "assay.benchmarks.vision.circular:mmbench_dev_cn_v11",
        "MMBench 1.1 dev, Chinese, right under every rotation (as published)",
    ),
    "mmbench_dev_en": (
        "assay.benchmarks.vision.circular:mmbench_dev_en",
        "MMBench dev, English, right under every rotation (as published)",
    ),
    "mmbench_dev_en_v11": (
        "assay.benchmarks.vision.circular:mmbench_dev_en_v11",
        "MMBench 1.1 dev, English, right under every rotation (as published)",
    ),
    "mmbench_test_cn": (
        "assay.benchmarks.vision.circular:mmbench_test_cn",
        "MMBench test, Chinese, letters to hand in (prompt as published)",
    ),
    "mmbench_test_cn_v11": (
        "assay.benchmarks.vision.circular:mmbench_test_cn_v11",
        "MMBench 1.1 test, Chinese, letters to hand in (prompt as published)",
    ),
    "mmbench_test_en": (
        "assay.benchmarks.vision.circular:mmbench_test_en",
        "MMBench test, English, letters to hand in (prompt as published)",
    ),
    "mmbench_test_en_v11": (
        "assay.benchmarks.vision.circular:mmbench_test_en_v11",
        "MMBench 1.1 test, English, letters to hand in (prompt as published)",
    ),
    "mme": ("assay.benchmarks.vision.yes_no:mme", "MME: acc, acc+, perception, cognition (as published)"),
    "mme_official": (
        "assay.benchmarks.vision.yes_no:mme_official",
        "MME, the first four letters read (its own script, as published)",
    ),
    "mmmu": ("assay.benchmarks.vision.choices:mmmu", "MMMU validation: options and open questions (rule as published)"),
    "mmstar": ("assay.benchmarks.vision.choices:mmstar", "MMStar, needs the picture (prompt as published)"),
    "mmvet": ("assay.benchmarks.vision.judged:mmvet", "MM-Vet: a judge's grade by capability (scale as published)"),
    "ocrbench": ("assay.benchmarks.vision.documents:ocrbench", "OCRBench, five kinds of reading (rule as published)"),
    "ocrvqa": (
        "assay.benchmarks.vision.short_answers:ocrvqa",
        "OCR-VQA, book covers, VQA's normalizing of the one answer (our own rule)",
    ),
    "ocrvqa_exact": (
        "assay.benchmarks.vision.short_answers:ocrvqa_exact",
        "OCR-VQA, book covers, by equality apart from case (VLMEvalKit's rule as published)",
    ),
    "okvqa": ("assay.benchmarks.vision.short_answers:okvqa", "OK-VQA val, VQA accuracy (rule as published)"),
    "pope": ("assay.benchmarks.vision.yes_no:pope", "POPE: objects that are not there (as published)"),
    "pope_lmms_eval": (
        "assay.benchmarks.vision.yes_no:pope_lmms_eval",
        "POPE by lmms-eval: the bare word, others left out of recall (as published)",
    ),
    "pope_official": (
        "assay.benchmarks.vision.yes_no:pope_official",
        "POPE, what does not deny is yes (its own script, as published)",
    ),
    "realworldqa": ("assay.benchmarks.vision.choices:realworldqa", "RealWorldQA, photographs (prompt as published)"),
    "refcoco": ("assay.benchmarks.vision.refcoco:refcoco", "RefCOCO val: box overlap of 0.5 (rule as published)"),
    "refcoco_plus": (
        "assay.benchmarks.vision.refcoco:refcoco_plus",
        "RefCOCO+ val, no words of place: box overlap of 0.5 (rule as published)",
    ),
    "refcocog": (
        "assay.benchmarks.vision.refcoco:refcocog",
        "RefCOCOg val, longer phrases: box overlap of 0.5 (rule as published)",
    ),
    "scienceqa": ("assay.benchmarks.vision.choices:scienceqa", "ScienceQA with pictures (prompt as published)"),
    "seedbench_img": ("assay.benchmarks.vision.choices:seedbench_img", "SEED-Bench, pictures (prompt as published)"),
    "textvqa": ("assay.benchmarks.vision.short_answers:textvqa", "TextVQA val, VQA accuracy (rule as published)"),
    "vqav2": ("assay.benchmarks.vision.short_answers:vqav2", "VQAv2 val, VQA accuracy (rule as published)"),
    "vqav2_a013f00": (
        "assay.benchmarks.vision.short_answers:vqav2_a013f00",
        "VQAv2 val as the last official revision scores it (rule as published)",
    ),
    "spoken_ceval": (
        "assay.benchmarks.speech.choices:spoken_ceval",
        "C-Eval read aloud: letter, in Chinese, audio (rule as published)",
    ),
    "spoken_ceval_audio_text": (
        "assay.benchmarks.speech.choices:spoken_ceval_audio_text",
        "C-Eval read aloud: letter, in Chinese, audio+text (rule as published)",
    ),
    "spoken_ceval_text": (
        "assay.benchmarks.speech.choices:spoken_ceval_text",
        "C-Eval read aloud: letter, in Chinese, text (rule as published)",
    ),
    "spoken_agieval": (
        "assay.benchmarks.speech.choices:spoken_agieval",
        "AGIEval read aloud: letter, in Chinese, audio (rule as published)",
    ),
    "spoken_agieval_audio_text": (
        "assay.benchmarks.speech.choices:spoken_agieval_audio_text",
        "AGIEval read aloud: letter, in Chinese, audio+text (rule as published)",
    ),
    "spoken_agieval_text": (
        "assay.benchmarks.speech.choices:spoken_agieval_text",
        "AGIEval read aloud: letter, in Chinese, text (rule as published)",
    ),
    "mmau": (
        "assay.benchmarks.speech.choices:mmau",
        "MMAU: speech, sound and music, one option, audio+text (rows as published)",
    ),
    "mmau_official": (
        "assay.benchmarks.speech.choices:mmau_official",
        "MMAU: the words of an option (read as published)",
    ),
    "mmau_text": (
        "assay.benchmarks.speech.choices:mmau_text",
        "MMAU: speech, sound and music, one option, text (rows as published)",
    ),
    "voicebench_openbookqa": (
        "assay.benchmarks.speech.choices:voicebench_openbookqa",
        "VoiceBench openbookqa: options said aloud, audio (rows as published)",
    ),
    "voicebench_openbookqa_audio_text": (
        "assay.benchmarks.speech.choices:voicebench_openbookqa_audio_text",
        "VoiceBench openbookqa: options said aloud, audio+text (rows as published)",
    ),
    "voicebench_openbookqa_text": (
        "assay.benchmarks.speech.choices:voicebench_openbookqa_text",
        "VoiceBench openbookqa: options said aloud, text (rows as published)",
    ),
    "voicebench_mmsu": (
        "assay.benchmarks.speech.choices:voicebench_mmsu",
        "VoiceBench mmsu: options said aloud, audio (rows as published)",
    ),
    "voicebench_mmsu_audio_text": (
        "assay.benchmarks.speech.choices:voicebench_mmsu_audio_text",
        "VoiceBench mmsu: options said aloud, audio+text (rows as published)",
    ),
    "voicebench_mmsu_text": (
        "assay.benchmarks.speech.choices:voicebench_mmsu_text",
        "VoiceBench mmsu: options said aloud, text (rows as published)",
    ),
    "voicebench_alpacaeval": (
        "assay.benchmarks.speech.judged:voicebench_alpacaeval",
        "VoiceBench alpacaeval: a judge's grade, audio (scale as published)",
    ),
    "voicebench_alpacaeval_audio_text": (
        "assay.benchmarks.speech.judged:voicebench_alpacaeval_audio_text",
        "VoiceBench alpacaeval: a judge's grade, audio+text (scale as published)",
    ),
    "voicebench_alpacaeval_text": (
        "assay.benchmarks.speech.judged:voicebench_alpacaeval_text",
        "VoiceBench alpacaeval: a judge's grade, text (scale as published)",
    ),
    "voicebench_commoneval": (
        "assay.benchmarks.speech.judged:voicebench_commoneval",
        "VoiceBench commoneval: a judge's grade, audio (scale as published)",
    ),
    "voicebench_commoneval_audio_text": (
        "assay.benchmarks.speech.judged:voicebench_commoneval_audio_text",
        "VoiceBench commoneval: a judge's grade, audio+text (scale as published)",
    ),
    "voicebench_commoneval_text": (
        "assay.benchmarks.speech.judged:voicebench_commoneval_text",
        "VoiceBench commoneval: a judge's grade, text (scale as published)",
    ),
    "voicebench_sd_qa": (
        "assay.benchmarks.speech.judged:voicebench_sd_qa",
        "VoiceBench sd_qa: a judge's grade, audio (scale as published)",
    ),
    "voicebench_sd_qa_audio_text": (
        "assay.benchmarks.speech.judged:voicebench_sd_qa_audio_text",
        "VoiceBench sd_qa: a judge's grade, audio+text (scale as published)",
    ),
    "voicebench_sd_qa_text": (
        "assay.benchmarks.speech.judged:voicebench_sd_qa_text",
        "VoiceBench sd_qa: a judge's grade, text (scale as published)",
    ),
    "spoken_humanlike": (
        "assay.benchmarks.speech.judged:spoken_humanlike",
        "Human-like replies: a judge's 0 to 5, share above 3, audio (scale as published)",
    ),
    "spoken_humanlike_audio_text": (
        "assay.benchmarks.speech.judged:spoken_humanlike_audio_text",
        "Human-like replies: a judge's 0 to 5, share above 3, audio+text (scale as published)",
    ),
    "spoken_humanlike_text": (
        "assay.benchmarks.speech.judged:spoken_humanlike_text",
        "Human-like replies: a judge's 0 to 5, share above 3, text (scale as published)",
    ),
    "spoken_empathy": (
        "assay.benchmarks.speech.judged:spoken_empathy",
        "Empathic replies: a judge's 0 to 5, share above 3, audio (scale as published)",
    ),
    "spoken_empathy_audio_text": (
        "assay.benchmarks.speech.judged:spoken_empathy_audio_text",
        "Empathic replies: a judge's 0 to 5, share above 3, audio+text (scale as published)",
    ),
    "spoken_empathy_text": (
        "assay.benchmarks.speech.judged:spoken_empathy_text",
        "Empathic replies: a judge's 0 to 5, share above 3, text (scale as published)",
    ),
    "spoken_memory": (
        "assay.benchmarks.speech.memory:spoken_memory",
        "Memory over two spoken rounds: exists-match, audio (rule as published)",
    ),
    "spoken_memory_audio_text": (
        "assay.benchmarks.speech.memory:spoken_memory_audio_text",
        "Memory over two spoken rounds: exists-match, audio+text (rule as published)",
    ),
    "spoken_memory_text": (
        "assay.benchmarks.speech.memory:spoken_memory_text",
        "Memory over two spoken rounds: exists-match, text (rule as published)",
    ),
    "librispeech": (
        "assay.benchmarks.speech.recognition:librispeech",
        "LibriSpeech test-clean: corpus WER, audio (normalized as published)",
    ),
    "librispeech_audio_text": (
        "assay.benchmarks.speech.recognition:librispeech_audio_text",
        "LibriSpeech test-clean: corpus WER, audio+text (normalized as published)",
    ),
    "librispeech_other": (
        "assay.benchmarks.speech.recognition:librispeech_other",
        "LibriSpeech test-other: corpus WER, audio (normalized as published)",
    ),
    "librispeech_other_audio_text": (
        "assay.benchmarks.speech.recognition:librispeech_other_audio_text",
        "LibriSpeech test-other: corpus WER, audio+text (normalized as published)",
    ),
    "common_voice_en": (
        "assay.benchmarks.speech.recognition:common_voice_en",
        "Common Voice 15, English: corpus WER, audio (normalized as published)",
    ),
    "common_voice_en_audio_text": (
        "assay.benchmarks.speech.recognition:common_voice_en_audio_text",
        "Common Voice 15, English: corpus WER, audio+text (normalized as published)",
    ),
    "common_voice_zh": (
        "assay.benchmarks.speech.recognition:common_voice_zh",
        "Common Voice 15, Chinese: corpus CER, audio (normalized as published)",
    ),
    "common_voice_zh_audio_text": (
        "assay.benchmarks.speech.recognition:common_voice_zh_audio_text",
        "Common Voice 15, Chinese: corpus CER, audio+text (normalized as published)",
    ),
    "fleurs_en": (
        "assay.benchmarks.speech.recognition:fleurs_en",
        "FLEURS, English: corpus WER, audio (normalized as published)",
    ),
    "fleurs_en_audio_text": (
        "assay.benchmarks.speech.recognition:fleurs_en_audio_text",
        "FLEURS, English: corpus WER, audio+text (normalized as published)",
    ),
    "fleurs_zh": (
        "assay.benchmarks.speech.recognition:fleurs_zh",
        "FLEURS, Mandarin: corpus CER, audio (normalized as published)",
    ),
    "fleurs_zh_audio_text": (
        "assay.benchmarks.speech.recognition:fleurs_zh_audio_text",
        "FLEURS, Mandarin: corpus CER, audio+text (normalized as published)",
    ),
    "aishell1": (
        "assay.benchmarks.speech.recognition:aishell1",
        "AISHELL-1: corpus CER, audio (normalized as published)",
    ),
    "aishell1_audio_text": (
        "assay.benchmarks.speech.recognition:aishell1_audio_text",
        "AISHELL-1: corpus CER, audio+text (normalized as published)",
    ),
    "wenetspeech": (
        "assay.benchmarks.speech.recognition:wenetspeech",
        "WenetSpeech test_net: corpus CER, audio (normalized as published)",
    ),
    "wenetspeech_audio_text": (
        "assay.benchmarks.speech.recognition:wenetspeech_audio_text",
        "WenetSpeech test_net: corpus CER, audio+text (normalized as published)",
    ),
    "robust_qa": (
        "assay.benchmarks.speech.robustness:robust_qa",
        "Questions under noise: by level, worst case, audio (rule as published)",
    ),
    "robust_qa_audio_text": (
        "assay.benchmarks.speech.robustness:robust_qa_audio_text",
        "Questions under noise: by level, worst case, audio+text (rule as published)",
    ),
    "robust_asr": (
        "assay.benchmarks.speech.robustness:robust_asr",
        "Recognition under noise: WER by level, worst case, audio (normalized as published)",
    ),
    "robust_asr_audio_text": (
        "assay.benchmarks.speech.robustness:robust_asr_audio_text",
        "Recognition under noise: WER by level, worst case, audio+text (normalized as published)",
    ),
    "voice_similarity": (
        "assay.benchmarks.speech.voices:voice_similarity",
        "The same voice: cosine by a given encoder, audio+text (as published)",
    ),
    "voice_words": (
        "assay.benchmarks.speech.voices:voice_words",
        "Words in a given voice: mean WER of utterances, audio+text (arithmetic as published)",
    ),
    "voice_mos": (
        "assay.benchmarks.speech.voices:voice_mos",
        "Quality in a given voice: rating by a given predictor, audio+text (format-checked)",
    ),
    "speech_quality": (
        "assay.benchmarks.speech.spoken_answers:speech_quality",
        "Quality of the model's speech: DNSMOS, audio (as published)",
    ),
    "speech_quality_audio_text": (
        "assay.benchmarks.speech.spoken_answers:speech_quality_audio_text",
        "Quality of the model's speech: DNSMOS, audio+text (as published)",
    ),
    "speech_quality_text": (
        "assay.benchmarks.speech.spoken_answers:speech_quality_text",
        "Quality of the model's speech: DNSMOS, text (as published)",
    ),
    "speech_text": (
        "assay.benchmarks.speech.spoken_answers:speech_text",
        "Speech against the model's text: WER, audio (counted as published)",
    ),
    "speech_text_audio_text": (
        "assay.benchmarks.speech.spoken_answers:speech_text_audio_text",
        "Speech against the model's text: WER, audio+text (counted as published)",
    ),
    "speech_text_text": (
        "assay.benchmarks.speech.spoken_answers:speech_text_text",
        "Speech against the model's text: WER, text (counted as published)",
    ),
    "speech_text_zh": (
        "assay.benchmarks.speech.spoken_answers:speech_text_zh",
        "Speech against the model's Chinese text: CER, audio (counted as published)",
    ),
    "speech_text_zh_audio_text": (
        "assay.benchmarks.speech.spoken_answers:speech_text_zh_audio_text",
        "Speech against the model's Chinese text: CER, audio+text (counted as published)",
    ),
    "speech_text_zh_text": (
        "assay.benchmarks.speech.spoken_answers:speech_text_zh_text",
        "Speech against the model's Chinese text: CER, text (counted as published)",
    ),
    "llama_questions": (
        "assay.benchmarks.speech.spoken_qa:llama_questions",
        "LLaMA-Questions: exists-match, audio (rule as published)",
    ),
    "llama_questions_audio_text": (
        "assay.benchmarks.speech.spoken_qa:llama_questions_audio_text",
        "LLaMA-Questions: exists-match, audio+text (rule as published)",
    ),
    "llama_questions_text": (
        "assay.benchmarks.speech.spoken_qa:llama_questions_text",
        "LLaMA-Questions: exists-match, text (rule as published)",
    ),
    "spoken_webq": (
        "assay.benchmarks.speech.spoken_qa:spoken_webq",
        "Spoken WebQuestions: exists-match, audio (rule as published)",
    ),
    "spoken_webq_audio_text": (
        "assay.benchmarks.speech.spoken_qa:spoken_webq_audio_text",
        "Spoken WebQuestions: exists-match, audio+text (rule as published)",
    ),
    "spoken_webq_text": (
        "assay.benchmarks.speech.spoken_qa:spoken_webq_text",
        "Spoken WebQuestions: exists-match, text (rule as published)",
    ),
    "spoken_triviaqa": (
        "assay.benchmarks.speech.spoken_qa:spoken_triviaqa",
        "Spoken TriviaQA: exists-match, audio (rule as published)",
    ),
    "spoken_triviaqa_audio_text": (
        "assay.benchmarks.speech.spoken_qa:spoken_triviaqa_audio_text",
        "Spoken TriviaQA: exists-match, audio+text (rule as published)",
    ),
    "spoken_triviaqa_text": (
        "assay.benchmarks.speech.spoken_qa:spoken_triviaqa_text",
        "Spoken TriviaQA: exists-match, text (rule as published)",
    ),
    "covost2_en_zh": (
        "assay.benchmarks.speech.translation:covost2_en_zh",
        "CoVoST 2 en_zh: sacreBLEU, audio+text (as published)",
    ),
    "covost2_en_zh_text": (
        "assay.benchmarks.speech.translation:covost2_en_zh_text",
        "CoVoST 2 en_zh: sacreBLEU, text (as published)",
    ),
    "covost2_en_de": (
        "assay.benchmarks.speech.translation:covost2_en_de",
        "CoVoST 2 en_de: sacreBLEU, audio+text (as published)",
    ),
    "covost2_en_de_text": (
        "assay.benchmarks.speech.translation:covost2_en_de_text",
        "CoVoST 2 en_de: sacreBLEU, text (as published)",
    ),
    "geneval": (
        "assay.benchmarks.image.geneval:geneval",
        "GenEval: objects by a detector, mean of six tasks (arithmetic as published)",
    ),
    "geneval_saved": (
        "assay.benchmarks.image.geneval:geneval_saved",
        "GenEval from saved detections (arithmetic as published)",
    ),
    "dpg_bench": (
        "assay.benchmarks.image.dpg:dpg_bench",
        "DPG-Bench: propositions by a VQA model (arithmetic as published)",
    ),
    "dpg_bench_saved": (
        "assay.benchmarks.image.dpg:dpg_bench_saved",
        "DPG-Bench from saved answers (arithmetic as published)",
    ),
    "wise_verified": (
        "assay.benchmarks.image.wise:wise_verified",
        "WISE, 2026: a judge's right or wrong (fields and weights as published)",
    ),
    "wise_legacy": (
        "assay.benchmarks.image.wise:wise_legacy",
        "WISE of 2025: WiScore by a judge (fields and weights as published)",
    ),
    "t2i_compbench": (
        "assay.benchmarks.image.composition:t2i_compbench",
        "T2I-CompBench: attributes and relations by a worker (means as published)",
    ),
    "t2i_compbench_parts": (
        "assay.benchmarks.image.composition:t2i_compbench_parts",
        "T2I-CompBench from a VQA model, a detector and CLIP (arithmetic as published)",
    ),
    "clip_score": (
        "assay.benchmarks.image.measures:clip_score",
        "CLIPScore of pictures and their prompts, 0 to 2.5 (as published)",
    ),
    "clip_score_torchmetrics": (
        "assay.benchmarks.image.measures:clip_score_torchmetrics",
        "CLIPScore as torchmetrics has it, 0 to 100 (as published)",
    ),
    "fid": (
        "assay.benchmarks.image.measures:fid",
        "FID of the pictures of a set of prompts, Inception features (formula as published)",
    ),
    "fid_clip": (
        "assay.benchmarks.image.measures:fid_clip",
        "Fréchet distance of the same on CLIP features (formula as published)",
    ),
    "edit_lpips": ("assay.benchmarks.image.measures:edit_lpips", "Edits with a known result: LPIPS (as published)"),
    "genai_bench": (
        "assay.benchmarks.image.composition:genai_bench",
        "GenAI-Bench: VQAScore by a worker (means as published)",
    ),
    "geneval_pp": (
        "assay.benchmarks.image.composition:geneval_pp",
        "GenEval++: a judge's yes or no, mean of the tags (arithmetic as published)",
    ),
    "imagine_bench": (
        "assay.benchmarks.image.composition:imagine_bench",
        "ImagineBench: a judge's three ratings, by kind (arithmetic as published)",
    ),
    "imagine_bench_ulmeval": (
        "assay.benchmarks.image.composition:imagine_bench_ulmeval",
        "ImagineBench, weighted as in ULMEvalKit (arithmetic as published)",
    ),
    "omnicontext": (
        "assay.benchmarks.image.editing:omnicontext",
        "OmniContext: given subjects in a new picture, judged (arithmetic as published)",
    ),
    "gedit": (
        "assay.benchmarks.image.editing:gedit",
        "GEdit-Bench, English: edits as users ask for them, judged (arithmetic as published)",
    ),
    "gedit_cn": (
        "assay.benchmarks.image.editing:gedit_cn",
        "GEdit-Bench, Chinese: edits as users ask for them, judged (arithmetic as published)",
    ),
    "imgedit": (
        "assay.benchmarks.image.editing:imgedit",
        "ImgEdit: a judge's three ratings of an edit (arithmetic as published)",
    ),
    "edit_similarity": (
        "assay.benchmarks.image.editing:edit_similarity",
        "Edits with a known result: PSNR and SSIM (formulas as published)",
    ),
    "text_rendering": (
        "assay.benchmarks.image.rendering:text_rendering",
        "Text in pictures, read by a recogniser (format-checked)",
    ),
}
