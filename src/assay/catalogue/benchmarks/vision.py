"""Vision-language benchmarks that ship, by name: `name: (module:attribute, one line)`."""

VISION: dict[str, tuple[str, str]] = {
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
        "SEED-Bench, images, read as VLMEvalKit does (as published)",
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
        "CORE-MM: several images, a judge's rating (format-checked)",
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
    "mmstar": ("assay.benchmarks.vision.choices:mmstar", "MMStar, needs the image (prompt as published)"),
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
    "scienceqa": ("assay.benchmarks.vision.choices:scienceqa", "ScienceQA with images (prompt as published)"),
    "seedbench_img": ("assay.benchmarks.vision.choices:seedbench_img", "SEED-Bench, images (prompt as published)"),
    "textvqa": ("assay.benchmarks.vision.short_answers:textvqa", "TextVQA val, VQA accuracy (rule as published)"),
    "vqav2": ("assay.benchmarks.vision.short_answers:vqav2", "VQAv2 val, VQA accuracy (rule as published)"),
    "vqav2_a013f00": (
        "assay.benchmarks.vision.short_answers:vqav2_a013f00",
        "VQAv2 val as the last official revision scores it (rule as published)",
    ),
}
