"""The scorers that ship, by name: `name: (module:attribute, one line)`."""

from .places import under

SCORERS = under(
    "assay.scorers",
    {
        "answered": (
            "answered:answered",
            "there is an answer at all; what --predict_only reports",
        ),
        "exact_match": ("text.match:ExactMatch", "the answer equals a target"),
        "quasi_exact": (
            "text.match:QuasiExactMatch",
            "equal after SQuAD normalisation",
        ),
        "includes": (
            "text.match:Includes",
            "a target stands in the answer as words of its own",
        ),
        "regex": ("text.match:Regex", "a pattern finds the answer, or matches it"),
        "f1": ("text.tokens_f1:TokenF1", "overlap of words with the best target"),
        "choice": ("choice.choice:Choice", "the chosen letter, read by the rule stack"),
        "choice_or_match": (
            "choice.choice_or_match:ChoiceOrMatch",
            "the chosen letter where a row has options, else a target in the answer",
        ),
        "choice_vlmeval": (
            "choice.choice_vlmeval:ChoiceVlmeval",
            "the letter as VLMEvalKit's exact matching finds it",
        ),
        "choice_vlmeval_judged": (
            "vision.vlmeval_published:ChoiceVlmevalJudged",
            "the letter as VLMEvalKit publishes it: matching, judge, seeded draw",
        ),
        "yes_no_vlmeval": (
            "vision.vlmeval_published:YesNoVlmeval",
            "yes or no as VLMEvalKit reads MME",
        ),
        "mmvet_vlmeval": (
            "vision.vlmeval_published:MmVetVlmeval",
            "MM-Vet as VLMEvalKit grades it: no grade is 0",
        ),
        "choice_likelihood": (
            "choice.likelihood:ChoiceLikelihood",
            "the most probable option: acc, acc_norm, acc_bytes",
        ),
        "first_token": (
            "choice.first_token:FirstToken",
            "the most probable letter before anything is written",
        ),
        "gsm8k": (
            "math.numbers:Gsm8k",
            "GSM8K: strict and flexible filters, numeric equality beside",
        ),
        "number": ("math.numbers:NumberMatch", "the final number equals the target's"),
        "math": (
            "math.math_equivalence:MathEquivalence",
            "mathematical equivalence (math-verify)",
        ),
        "bleu": ("text.translation:Bleu", "corpus BLEU (sacreBLEU)"),
        "chrf": ("text.translation:Chrf", "corpus chrF (sacreBLEU)"),
        "ter": ("text.ter:Ter", "translation edit rate (sacreBLEU), lower is better"),
        "rouge": ("text.rouge:Rouge", "ROUGE-1, -2, -L (and -Lsum when asked)"),
        "perplexity": ("text.perplexity:Perplexity", "token, word and byte perplexity"),
        "last_word": (
            "text.perplexity:LastWord",
            "LAMBADA: greedy accuracy and per-item perplexity",
        ),
        "judge": ("judge.judge:Judge", "a model's grade of one answer"),
        "mt_bench": (
            "judge.mt_bench:MtBench",
            "MT-Bench's grades of every round, by its published prompts",
        ),
        "viescore": (
            "image.viescore:VieScore",
            "a judge's ratings of an edit: instruction, quality, overall",
        ),
        "mmmu": (
            "vision.mmmu:Mmmu",
            "MMMU: the letter, or the official rule for open questions",
        ),
        "mathvista": (
            "vision.mathvista:MathVista",
            "MathVista: the option, number or list that was asked for",
        ),
        "pairwise_judge": (
            "judge.judge_pairs:PairwiseJudge",
            "a model's choice between two answers, both orders",
        ),
        "ifeval": (
            "text.ifeval.scorer:IfEval",
            "which instructions were followed, strict and loose",
        ),
        "mmlu_pro": ("choice.mmlu_pro:MmluPro", "MMLU-Pro's own extraction rules"),
        "bbh": ("text.bbh:Bbh", "BIG-Bench Hard's own extraction"),
        "humaneval": (
            "code.humaneval:HumanEval",
            "whether a function passes its tests, in a sandbox",
        ),
        "evalplus": (
            "code.evalplus:EvalPlus",
            "whether a function agrees with the canonical solution on EvalPlus's inputs, in a sandbox",
        ),
        "runs": (
            "code.runs:Runs",
            "whether a program passes the tests of a column, in a sandbox",
        ),
        "livecodebench": (
            "code.livecodebench:LiveCodeBench",
            "LiveCodeBench: all public and private cases pass",
        ),
        "python_syntax": (
            "code.humaneval:PythonSyntax",
            "whether the code can be parsed",
        ),
        "vqa_accuracy": (
            "vision.vqa:VqaAccuracy",
            "official VQA accuracy over ten annotators",
        ),
        "relaxed_accuracy": (
            "vision.relaxed:RelaxedAccuracy",
            "ChartQA: within five per cent",
        ),
        "anls": ("vision.anls:Anls", "DocVQA: normalised edit similarity"),
        "anls_star": ("vision.anls_star:AnlsStar", "ANLS over nested answers"),
        "ocrbench": (
            "vision.ocrbench:OcrBench",
            "OCRBench: the text occurs in the answer",
        ),
        "yes_no": ("choice.yes_no:YesNo", "yes or no, by a named rule (POPE, MME)"),
        "yes_probability": (
            "choice.yes_probability:YesProbability",
            "yes or no with the probability of yes",
        ),
        "caption": (
            "vision.caption:Caption",
            "BLEU, ROUGE-L and CIDEr-D counts of a caption",
        ),
        "meteor": (
            "text.meteor:Meteor",
            "METEOR 1.5 of a caption; needs Java and pycocoevalcap",
        ),
        "meteor_nltk": (
            "text.meteor_nltk:MeteorNltk",
            "METEOR as nltk has it; needs nltk and its WordNet data",
        ),
        "spice": (
            "vision.spice:Spice",
            "SPICE of captions; needs Java, pycocoevalcap and CoreNLP's jars",
        ),
        "box_iou": ("vision.boxes:BoxIou", "overlap of a named box with the right one"),
        "image_similarity": ("image.image_similarity:ImageSimilarity", "PSNR and SSIM"),
        "clip_score": ("image.clip_score:ClipScore", "CLIPScore from a given cosine"),
        "clip_score_asked": (
            "image.clip_score:ClipScoreAsked",
            "CLIPScore, the cosine measured by a given model",
        ),
        "vqa_score": (
            "image.vqa_score:VqaScore",
            "how probable a given model finds the image right",
        ),
        "lpips": (
            "image.lpips:Lpips",
            "LPIPS to the target image by a given model, lower is better",
        ),
        "fid": (
            "image.fid:Fid",
            "Fréchet distance of two sets of images by a given model's features",
        ),
        "t2i_compbench": (
            "image.t2i_compbench:T2ICompBench",
            "T2I-CompBench from VQA, a detector and CLIP",
        ),
        "geneval": ("image.geneval:GenEval", "GenEval from saved detections"),
        "dpg": ("image.dpg:Dpg", "DPG-Bench from saved answers"),
        "wise_legacy": ("image.wise:WiseLegacy", "WiScore as first published"),
        "wise_verified": ("image.wise:WiseVerified", "WISE_Verified, 2026"),
        "ocr_text": ("image.ocr_text:OcrText", "rendered text as a recogniser read it"),
        "wer": (
            "speech.wer:WordErrorRate",
            "word error rate, corpus-pooled, normaliser in the name",
        ),
        "cer": ("speech.wer:CharacterErrorRate", "character error rate"),
        "mer": (
            "speech.wer:MixedErrorRate",
            "errors over Han characters and Latin words",
        ),
        "exists_match": (
            "speech.exists_match:ExistsMatch",
            "spoken QA: references with OR and AND occur",
        ),
        "single_choice_zh": (
            "choice.single_choice_zh:SingleChoiceZh",
            "the letter of a spoken Chinese answer",
        ),
        "dnsmos": ("speech.dnsmos:Dnsmos", "speech quality (DNSMOS P.835 and P.808)"),
        "si_sdr": ("speech.si_sdr:SiSdr", "scale-invariant signal-to-distortion ratio"),
        "speaker_similarity": (
            "speech.speaker_similarity:SpeakerSimilarity",
            "cosine of speaker embeddings",
        ),
        "speech_consistency": (
            "speech.consistency:SpeechConsistency",
            "a model's speech against its own text",
        ),
        "mmvet": ("vision.mmvet:MmVet", "MM-Vet: a judge's grade from 0 to 1"),
        "digit_accuracy": (
            "image.digit_accuracy:DigitAccuracy",
            "whether a drawn digit is the one asked for",
        ),
        "spoken_wer": (
            "speech.spoken_wer:SpokenWer",
            "a model's speech as a given recogniser hears it",
        ),
        "rendered_text": (
            "image.rendered_text:RenderedText",
            "drawn words as a given recogniser reads them",
        ),
        "read_text": (
            "image.rendered_text:ReadText",
            "words read from an image, spaces aside",
        ),
        "judge_ratings": (
            "judge.judge_ratings:JudgeRatings",
            "a judge's ratings of several aspects, one value",
        ),
        "asked": (
            "asked:Asked",
            "a specialist asked about an image or audio, its reply scored",
        ),
        "saved_number": (
            "saved_number:SavedNumber",
            "a number that a specialist saved",
        ),
        "hf_metric": (
            "hf_metric:HfMetric",
            "a Hugging Face evaluate metric from a local file",
        ),
    },
)
