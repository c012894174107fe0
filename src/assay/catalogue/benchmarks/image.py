"""Benchmarks of image generation that ship: by module, each name with its one line."""

from ..places import by_module

IMAGE = by_module(
    "assay.benchmarks.image",
    {
        "geneval": {
            "geneval": "GenEval: objects by a detector, mean of six tasks (arithmetic as published)",
            "geneval_saved": "GenEval from saved detections (arithmetic as published)",
        },
        "dpg": {
            "dpg_bench": "DPG-Bench: propositions by a VQA model (arithmetic as published)",
            "dpg_bench_saved": "DPG-Bench from saved answers (arithmetic as published)",
        },
        "wise": {
            "wise_verified": "WISE, 2026: a judge's right or wrong (fields and weights as published)",
            "wise_legacy": "WISE of 2025: WiScore by a judge (fields and weights as published)",
        },
        "composition": {
            "t2i_compbench": "T2I-CompBench: attributes and relations by a worker (means as published)",
            "t2i_compbench_parts": "T2I-CompBench from a VQA model, a detector and CLIP (arithmetic as published)",
            "genai_bench": "GenAI-Bench: VQAScore by a worker (means as published)",
            "geneval_pp": "GenEval++: a judge's yes or no, mean of the tags (arithmetic as published)",
            "imagine_bench": "ImagineBench: a judge's three ratings, by kind (arithmetic as published)",
            "imagine_bench_ulmeval": "ImagineBench, weighted as in ULMEvalKit (arithmetic as published)",
        },
        "measures": {
            "clip_score": "CLIPScore of images and their prompts, 0 to 2.5 (as published)",
            "clip_score_torchmetrics": "CLIPScore as torchmetrics has it, 0 to 100 (as published)",
            "fid": "FID of the images of a set of prompts, Inception features (formula as published)",
            "fid_clip": "Fréchet distance of the same on CLIP features (formula as published)",
            "edit_lpips": "Edits with a known result: LPIPS (as published)",
        },
        "editing": {
            "omnicontext": "OmniContext: given subjects in a new image, judged (arithmetic as published)",
            "gedit": "GEdit-Bench, English: edits as users ask for them, judged (arithmetic as published)",
            "gedit_cn": "GEdit-Bench, Chinese: edits as users ask for them, judged (arithmetic as published)",
            "imgedit": "ImgEdit: a judge's three ratings of an edit (arithmetic as published)",
            "edit_similarity": "Edits with a known result: PSNR and SSIM (formulas as published)",
        },
        "rendering": {
            "text_rendering": "Text in images, read by a recogniser (format-checked)"
        },
    },
)
