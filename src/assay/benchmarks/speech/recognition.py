"""Speech recognition: LibriSpeech, Common Voice, FLEURS, AISHELL-1 and WenetSpeech.

One row: `{"key": "1089-134686-0000", "audio": "clips/0000.wav", "ref": "he hoped there would be stew for dinner"}`; the
transcript may be called `text` (LibriSpeech), `sentence` (Common Voice) or `transcription` (FLEURS) as on the hub.

Citations: LibriSpeech ICASSP 2015, 5206-5210; Common Voice arXiv 1912.06670; FLEURS arXiv 2205.12446; AISHELL-1 arXiv
1709.05522; WenetSpeech arXiv 2110.03370.

Protocols: `…@audio` sends the audio alone, `…@audio+text` asks for a transcript in writing; there is no mode `text`, in
which the answer would be given away. English: corpus WER after Whisper's English normalizer, as on the Open ASR
leaderboard. Chinese: corpus CER after Chinese normalization. Hub names are those other systems use and were not reached
here.
"""

from ...core import GenerateOptions, Task
from .modes import AUDIO, BOTH, heard, in_modes
from .rows import TRANSCRIPTS, Spoken, source_of

ENGLISH = {"name": "wer", "normalize": "whisper-en"}
CHINESE = {"name": "cer", "normalize": "zh"}
READ = Spoken(target=TRANSCRIPTS, query=(), cluster="speaker_id")
READINGS = Spoken(target=TRANSCRIPTS, query=(), cluster="id", repeats=True)
"""FLEURS has one sentence read by several people under one id."""
ASK_EN = "Transcribe the speech word for word. Write the transcript alone."
ASK_ZH = "请逐字转写这段语音,只输出转写文本。"


def recognition(
    name: str,
    title: str,
    scorer: dict[str, str],
    citation: str,
    licence: str,
    *,
    read: Spoken = READ,
    **hub: str,
) -> tuple[Task, ...]:
    """The two tasks of one recognition set."""
    is_chinese = scorer is CHINESE
    task = Task(
        name=name,
        dataset=source_of(
            name, f"recognition_{'zh' if is_chinese else 'en'}", read, **hub
        ),
        scorers=(scorer,),
        options=GenerateOptions(temperature=0.0, max_tokens=512),
        description=f"{title}: corpus {'CER' if is_chinese else 'WER'}",
        citation=citation,
        licence=licence,
        data_hint=f"{name}.jsonl with key, audio (a path or bytes), ref",
    )
    return in_modes(
        task,
        heard(ASK_ZH if is_chinese else ASK_EN, AUDIO, BOTH),
        "normalized as published",
    )


librispeech, librispeech_audio_text = recognition(
    "librispeech",
    "LibriSpeech test-clean",
    ENGLISH,
    "ICASSP 2015, 5206-5210",
    "CC BY 4.0",
    hub="TwinkStart/librispeech",
    split="test_clean",
)
librispeech_other, librispeech_other_audio_text = recognition(
    "librispeech_other",
    "LibriSpeech test-other",
    ENGLISH,
    "ICASSP 2015, 5206-5210",
    "CC BY 4.0",
    hub="TwinkStart/librispeech",
    split="test_other",
)
common_voice_en, common_voice_en_audio_text = recognition(
    "common_voice_en",
    "Common Voice 15, English",
    ENGLISH,
    "arXiv 1912.06670",
    "CC0 1.0",
    hub="TwinkStart/CommonVoice_15",
    split="en",
)
common_voice_zh, common_voice_zh_audio_text = recognition(
    "common_voice_zh",
    "Common Voice 15, Chinese",
    CHINESE,
    "arXiv 1912.06670",
    "CC0 1.0",
    hub="TwinkStart/CommonVoice_15",
    split="zh",
)
fleurs_en, fleurs_en_audio_text = recognition(
    "fleurs_en",
    "FLEURS, English",
    ENGLISH,
    "arXiv 2205.12446",
    "CC BY 4.0",
    read=READINGS,
    hub="google/fleurs",
    config="en_us",
)
fleurs_zh, fleurs_zh_audio_text = recognition(
    "fleurs_zh",
    "FLEURS, Mandarin",
    CHINESE,
    "arXiv 2205.12446",
    "CC BY 4.0",
    read=READINGS,
    hub="google/fleurs",
    config="cmn_hans_cn",
)
aishell1, aishell1_audio_text = recognition(
    "aishell1",
    "AISHELL-1",
    CHINESE,
    "arXiv 1709.05522",
    "Apache 2.0",
    hub="TwinkStart/AISHELL-1",
)
wenetspeech, wenetspeech_audio_text = recognition(
    "wenetspeech",
    "WenetSpeech test_net",
    CHINESE,
    "arXiv 2110.03370",
    "CC BY 4.0 for the labels; the audio clips are their owners'",
    hub="TwinkStart/WenetSpeech",
    split="test_net",
)
