"""Speech benchmarks that ship: by module, each name with its one line; most are asked in several input modes."""

from ..places import by_module

AUDIO, BOTH, TEXT = "audio", "audio+text", "text"
SUFFIXES = {AUDIO: "", BOTH: "_audio_text", TEXT: "_text"}
"""What a mode adds to the name of a benchmark; the first of its modes has the bare name."""


def _modes(name: str, what: str, checked: str, *modes: str) -> dict[str, str]:
    """The tasks of one benchmark, in all three modes if none is named."""
    chosen = modes or tuple(SUFFIXES)
    suffixes = {mode: "" if mode == chosen[0] else SUFFIXES[mode] for mode in chosen}
    return {
        f"{name}{suffix}": f"{what}, {mode} ({checked})"
        for mode, suffix in suffixes.items()
    }


def _heard(
    name: str, what: str, checked: str = "normalized as published"
) -> dict[str, str]:
    """A benchmark whose text would give the answer away."""
    return _modes(name, what, checked, AUDIO, BOTH)


_REPLIES = "a judge's 0 to 5, share above 3"
SPEECH = by_module(
    "assay.benchmarks.speech",
    {
        "choices": {
            **_modes(
                "spoken_ceval",
                "C-Eval read aloud: letter, in Chinese",
                "rule as published",
            ),
            **_modes(
                "spoken_agieval",
                "AGIEval read aloud: letter, in Chinese",
                "rule as published",
            ),
            **_modes(
                "mmau",
                "MMAU: speech, sound and music, one option",
                "rows as published",
                BOTH,
                TEXT,
            ),
            "mmau_official": "MMAU: the words of an option (read as published)",
            **_modes(
                "voicebench_openbookqa",
                "VoiceBench openbookqa: options said aloud",
                "rows as published",
            ),
            **_modes(
                "voicebench_mmsu",
                "VoiceBench mmsu: options said aloud",
                "rows as published",
            ),
        },
        "judged": {
            **_modes(
                "voicebench_alpacaeval",
                "VoiceBench alpacaeval: a judge's grade",
                "scale as published",
            ),
            **_modes(
                "voicebench_commoneval",
                "VoiceBench commoneval: a judge's grade",
                "scale as published",
            ),
            **_modes(
                "voicebench_sd_qa",
                "VoiceBench sd_qa: a judge's grade",
                "scale as published",
            ),
            **_modes(
                "spoken_humanlike",
                f"Human-like replies: {_REPLIES}",
                "scale as published",
            ),
            **_modes(
                "spoken_empathy", f"Empathic replies: {_REPLIES}", "scale as published"
            ),
        },
        "memory": _modes(
            "spoken_memory",
            "Memory over two spoken rounds: exists-match",
            "rule as published",
        ),
        "recognition": {
            **_heard("librispeech", "LibriSpeech test-clean: corpus WER"),
            **_heard("librispeech_other", "LibriSpeech test-other: corpus WER"),
            **_heard("common_voice_en", "Common Voice 15, English: corpus WER"),
            **_heard("common_voice_zh", "Common Voice 15, Chinese: corpus CER"),
            **_heard("fleurs_en", "FLEURS, English: corpus WER"),
            **_heard("fleurs_zh", "FLEURS, Mandarin: corpus CER"),
            **_heard("aishell1", "AISHELL-1: corpus CER"),
            **_heard("wenetspeech", "WenetSpeech test_net: corpus CER"),
        },
        "robustness": {
            **_heard(
                "robust_qa",
                "Questions under noise: by level, worst case",
                "rule as published",
            ),
            **_heard("robust_asr", "Recognition under noise: WER by level, worst case"),
        },
        "voices": {
            "voice_similarity": "The same voice: cosine by a given encoder, audio+text (as published)",
            "voice_words": "Words in a given voice: mean WER of utterances, audio+text (arithmetic as published)",
            "voice_mos": "Quality in a given voice: rating by a given predictor, audio+text (format-checked)",
        },
        "spoken_answers": {
            **_modes(
                "speech_quality",
                "Quality of the model's speech: DNSMOS",
                "as published",
            ),
            **_modes(
                "speech_text",
                "Speech against the model's text: WER",
                "counted as published",
            ),
            **_modes(
                "speech_text_zh",
                "Speech against the model's Chinese text: CER",
                "counted as published",
            ),
        },
        "spoken_qa": {
            **_modes(
                "llama_questions", "LLaMA-Questions: exists-match", "rule as published"
            ),
            **_modes(
                "spoken_webq", "Spoken WebQuestions: exists-match", "rule as published"
            ),
            **_modes(
                "spoken_triviaqa", "Spoken TriviaQA: exists-match", "rule as published"
            ),
        },
        "translation": {
            **_modes(
                "covost2_en_zh", "CoVoST 2 en_zh: sacreBLEU", "as published", BOTH, TEXT
            ),
            **_modes(
                "covost2_en_de", "CoVoST 2 en_de: sacreBLEU", "as published", BOTH, TEXT
            ),
        },
    },
)
