"""Speech benchmarks that ship, by name: `name: (module:attribute, one line)`."""

SPEECH: dict[str, tuple[str, str]] = {
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
}
