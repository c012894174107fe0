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

from dataclasses import replace

from ...core import DataSource, GenerateOptions, Task
from .modes import AUDIO, BOTH, heard, in_modes
from .rows import TRANSCRIPTS, Spoken

ENGLISH = {"name": "wer", "normalize": "whisper-en"}
CHINESE = {"name": "cer", "normalize": "zh"}
READ = Spoken(target=TRANSCRIPTS, query=(), cluster="speaker_id")
READINGS = Spoken(target=TRANSCRIPTS, query=(), cluster="id", repeats=True)
"""FLEURS has one sentence read by several people under one id."""
ASK_EN = "Transcribe the speech word for word. Write the transcript alone."
ASK_ZH = "请逐字转写这段语音,只输出转写文本。"


def recognition(
    name: str,
    *,
    title: str,
    scorer: dict[str, str],
    source: DataSource,
    citation: str,
    licence: str,
) -> tuple[Task, ...]:
    """The two tasks of one recognition set."""
    is_chinese = scorer is CHINESE
    files = (f"{name}.jsonl", f"{name}.parquet", name)
    mini = f"benchmarks/data/speech/recognition_{'zh' if is_chinese else 'en'}.jsonl"
    task = Task(
        name=name,
        dataset=replace(source, local=files, mini=mini, read=source.read or READ),
        scorers=(scorer,),
        options=GenerateOptions(temperature=0.0, max_tokens=512),
        description=f"{title}: corpus {'CER' if is_chinese else 'WER'}",
        citation=citation,
        licence=licence,
        data_hint=f"{files[0]} with key, audio (a path or bytes), ref",
    )
    return in_modes(task, heard(ASK_ZH if is_chinese else ASK_EN, AUDIO, BOTH), "normalized as published")


librispeech, librispeech_audio_text = recognition(
    "librispeech", title="LibriSpeech test-clean", scorer=ENGLISH,
    source=DataSource("TwinkStart/librispeech", split="test_clean"),
    citation="ICASSP 2015, 5206-5210", licence="CC BY 4.0",
)  # fmt: skip
librispeech_other, librispeech_other_audio_text = recognition(
    "librispeech_other", title="LibriSpeech test-other", scorer=ENGLISH,
    source=DataSource("TwinkStart/librispeech", split="test_other"),
    citation="ICASSP 2015, 5206-5210", licence="CC BY 4.0",
)  # fmt: skip
common_voice_en, common_voice_en_audio_text = recognition(
    "common_voice_en", title="Common Voice 15, English", scorer=ENGLISH,
    source=DataSource("TwinkStart/CommonVoice_15", split="en"),
    citation="arXiv 1912.06670", licence="CC0 1.0",
)  # fmt: skip
common_voice_zh, common_voice_zh_audio_text = recognition(
    "common_voice_zh", title="Common Voice 15, Chinese", scorer=CHINESE,
    source=DataSource("TwinkStart/CommonVoice_15", split="zh"),
    citation="arXiv 1912.06670", licence="CC0 1.0",
)  # fmt: skip
fleurs_en, fleurs_en_audio_text = recognition(
    "fleurs_en", title="FLEURS, English", scorer=ENGLISH,
    source=DataSource("google/fleurs", config="en_us", read=READINGS),
    citation="arXiv 2205.12446", licence="CC BY 4.0",
)  # fmt: skip
fleurs_zh, fleurs_zh_audio_text = recognition(
    "fleurs_zh", title="FLEURS, Mandarin", scorer=CHINESE,
    source=DataSource("google/fleurs", config="cmn_hans_cn", read=READINGS),
    citation="arXiv 2205.12446", licence="CC BY 4.0",
)  # fmt: skip
aishell1, aishell1_audio_text = recognition(
    "aishell1", title="AISHELL-1", scorer=CHINESE,
    source=DataSource("TwinkStart/AISHELL-1"),
    citation="arXiv 1709.05522", licence="Apache 2.0",
)  # fmt: skip
wenetspeech, wenetspeech_audio_text = recognition(
    "wenetspeech", title="WenetSpeech test_net", scorer=CHINESE,
    source=DataSource("TwinkStart/WenetSpeech", split="test_net"),
    citation="arXiv 2110.03370", licence="CC BY 4.0 for the labels; the audio clips are their owners'",
)  # fmt: skip
