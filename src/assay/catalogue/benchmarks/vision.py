"""Vision-language benchmarks that ship: by module, each name with its one line."""

from ..places import by_module

VISION = by_module(
    "assay.benchmarks.vision",
    {
        "choices": {
            "ai2d": "AI2D, diagrams of school science (prompt as published)",
            "mmmu_dev": "MMMU development split (rule as published)",
            "mathvista_mini": "MathVista testmini: options, numbers and lists (normalized as published)",
            "mmmu": "MMMU validation: options and open questions (rule as published)",
            "mmstar": "MMStar, needs the image (prompt as published)",
            "realworldqa": "RealWorldQA, photographs (prompt as published)",
            "scienceqa": "ScienceQA with images (prompt as published)",
            "seedbench_img": "SEED-Bench, images (prompt as published)",
        },
        "upstream": {
            "mmbench_dev_en_upstream": "MMBench dev, English, read as VLMEvalKit does (as published)",
            "mmbench_dev_cn_upstream": "MMBench dev, Chinese, read as VLMEvalKit does (as published)",
            "mmbench_dev_en_v11_upstream": "MMBench 1.1 dev, English, read as VLMEvalKit does (as published)",
            "mmbench_dev_cn_v11_upstream": "MMBench 1.1 dev, Chinese, read as VLMEvalKit does (as published)",
            "ccbench_upstream": "CCBench, read as VLMEvalKit does (as published)",
            "seedbench_img_upstream": "SEED-Bench, images, read as VLMEvalKit does (as published)",
            "mme_upstream": "MME, read as VLMEvalKit does (as published)",
            "mmvet_upstream": "MM-Vet, read as VLMEvalKit does (as published)",
        },
        "circular": {
            "ccbench": "CCBench, Chinese culture, right under every rotation (as published)",
            "mmbench_dev_cn": "MMBench dev, Chinese, right under every rotation (as published)",
            "mmbench_dev_cn_v11": "MMBench 1.1 dev, Chinese, right under every rotation (as published)",
            "mmbench_dev_en": "MMBench dev, English, right under every rotation (as published)",
            "mmbench_dev_en_v11": "MMBench 1.1 dev, English, right under every rotation (as published)",
            "mmbench_test_cn": "MMBench test, Chinese, letters to hand in (prompt as published)",
            "mmbench_test_cn_v11": "MMBench 1.1 test, Chinese, letters to hand in (prompt as published)",
            "mmbench_test_en": "MMBench test, English, letters to hand in (prompt as published)",
            "mmbench_test_en_v11": "MMBench 1.1 test, English, letters to hand in (prompt as published)",
        },
        "documents": {
            "chartqa": "ChartQA, within 5 % (rule as published)",
            "docvqa": "DocVQA val, ANLS (rule as published)",
            "infovqa": "InfographicVQA val, ANLS (rule as published)",
            "ocrbench": "OCRBench, five kinds of reading (rule as published)",
        },
        "captions": {
            "coco_caption": "COCO captions: BLEU, ROUGE-L, CIDEr (as published)",
            "flickr30k": "Flickr30k captions: BLEU, ROUGE-L, CIDEr (as published)",
        },
        "judged": {
            "core_mm": "CORE-MM: several images, a judge's rating (format-checked)",
            "core_mm_official": "CORE-MM by its paper: grades of 0 to 1, highly complex questions twice (format-checked)",
            "mmvet": "MM-Vet: a judge's grade by capability (scale as published)",
        },
        "memes": {
            "hateful_memes": "Hateful Memes: accuracy and AUROC (AUROC as published)"
        },
        "yes_no": {
            "hallusionbench": "HallusionBench: aAcc, qAcc, fAcc (as published)",
            "hallusionbench_official": "HallusionBench, its own script's sets and figures (counted as published)",
            "mme": "MME: acc, acc+, perception, cognition (as published)",
            "mme_official": "MME, the first four letters read (its own script, as published)",
            "pope": "POPE: objects that are not there (as published)",
            "pope_lmms_eval": "POPE by lmms-eval: the bare word, others left out of recall (as published)",
            "pope_official": "POPE, what does not deny is yes (its own script, as published)",
        },
        "short_answers": {
            "ocrvqa": "OCR-VQA, book covers, VQA's normalizing of the one answer (our own rule)",
            "ocrvqa_exact": "OCR-VQA, book covers, by equality apart from case (VLMEvalKit's rule as published)",
            "okvqa": "OK-VQA val, VQA accuracy (rule as published)",
            "textvqa": "TextVQA val, VQA accuracy (rule as published)",
            "vqav2": "VQAv2 val, VQA accuracy (rule as published)",
            "vqav2_a013f00": "VQAv2 val as the last official revision scores it (rule as published)",
        },
        "refcoco": {
            "refcoco": "RefCOCO val: box overlap of 0.5 (rule as published)",
            "refcoco_plus": "RefCOCO+ val, no words of place: box overlap of 0.5 (rule as published)",
            "refcocog": "RefCOCOg val, longer phrases: box overlap of 0.5 (rule as published)",
        },
    },
)
