"""What rows, answers and judges' words a dataset of the kits reads, where its code alone does not tell.

By the stem of its file. Facts about formats only: every text is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Facts:
    """One dataset: what differs from the rows that every class is tried with."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    """A value for all rows, or a list with one for each."""
    answer: Any = "A"
    """The column `answer`."""
    says: str | None = None
    """What the scripted model answers; the answer itself where nothing is named."""
    reply: str = "1"
    """What the judge says."""
    judge: str | None = "gpt-4o"
    """The judge's name; none leaves the argument out."""
    cls: str | None = None
    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the constructor."""
    files: tuple[str, ...] = ()
    """Files that the class looks for, below `$LMUData`; they are made as their suffix says."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that name such a file."""


IMAGE = "an image of ours"
"""Stands for an image as base64."""
_HUB = "../.cache/huggingface/hub"
_FOUR = "['cat', 'dog', 'cow', 'hen']"
_LETTERS = "['A. cat', 'B. dog', 'C. cow', 'D. hen']"
_VIDEO = {"video_path": "clip0.mp4", "candidates": _LETTERS, "options": _LETTERS}
FACTS: dict[str, Facts] = {
    "NPMM": Facts(
        {
            "data_source": [
                "np/NpTsp",
                "np/NpGcpD",
                "np/NpVertexCover",
                "np/NpMaximumCut",
            ],
            "graph": "{}",
            "ground_truth": 1,
        }
    ),
    "av_speakerbench": Facts(
        {
            "audio_visual_path": "clip0.mp4",
            "visual_path": "clip0.mp4",
            "choices": _LETTERS,
            "task_id": ["a", "a", "b", "b"],
        }
    ),
    "chartmuseum": Facts({}, "cat", "<answer>cat</answer>", "Yes", judge=None),
    "chartqapro": Facts(
        {
            "question": "['What is shown?']",
            "question_type": "Factoid",
            "year": "['NO']",
            "paragraph": "Some words.",
        },
        "['cat']",
        "cat",
    ),
    "charxiv": Facts(
        {"inst_category": [1, 2, 3, 4], "qid": [1, 2, 3, 4], "grading_query": "Grade."},
        reply='{"extracted_answer": "A", "score": 1}',
        judge="gpt-4o-mini",
        name="CharXiv_reasoning_val",
    ),
    "cmmmu": Facts(
        {
            "category": [
                "技术与工程",
                "科学",
                "健康与医学",
                "商业",
                "艺术与设计",
                "人文社会科学",
            ],
            "type": "选择",
            **{
                f"option{n}": word
                for n, word in enumerate(("cat", "dog", "cow", "hen"), 1)
            },
        }
    ),
    "creation": Facts(
        {
            "task_name": "story_continue",
            "criteria": "{'subjective': 'Is it good?', 'objective': 'Is it right?'}",
            "reference_answer_by_gpt4o": "A story.",
            "ground_truth": "A cat.",
        },
        reply="Final verdict is: [[A>B]]\nResponse A Visual Factuality Score: 7/10\n"
        "Response B Visual Factuality Score: 5/10",
        name="Creation_MMBench",
    ),
    "da2k": Facts(
        {"image": "a.png"},
        "point1",
        files=(
            f"{_HUB}/DA-2K-extracted/da2k.tsv",
            f"{_HUB}/DA-2K-extracted/DA-2K/a.png",
        ),
        judge="exact_matching",
    ),
    "dude": Facts(
        {"answers": "['cat']"}, "cat", reply="cat", options={"model": "GPT4"}
    ),
    "dynamath": Facts(
        {
            "answer_type": "multiple choice",
            "subject": ["algebra", "algebra", "logic", "logic"],
            "knowledge_level": "high school",
            "varid": 1,
            "qid": [0, 1, 2, 3],
        },
        "A",
        '{"short answer": "A"}',
        judge="gpt-4o-mini",
    ),
    "image_mt": Facts(
        {"question": "['What is shown?']"},
        "['cat']",
        "cat",
        "{'Creativity': 7, 'Richness': 7, 'Visual Perception': 7, 'Logical Coherence': 7, 'Answer Accuracy': 7, "
        "'Image Relationship Understanding': 7, 'Overall Score': 7}",
        cls="MMDUDataset",
        name="MMDU",
    ),
    "longvideobench": Facts(
        {
            **_VIDEO,
            "correct_choice": 0,
            "duration_group": 15,
            "question_category": "S2E",
            "duration": 4,
        },
        judge="exact_matching",
    ),
    "m4bench": Facts(
        {
            "image1": IMAGE,
            "image2": IMAGE,
            "image1_path": "a.png",
            "image2_path": "b.png",
            "query": "Question: what?\nOptions:\n(A) cat\n(B) dog",
        },
        "(A)",
        "(A)",
        "(A)",
    ),
    "miabench": Facts(
        {
            "component_weight": "[5, 5]",
            "components": "['a cat', 'a dog']",
            "num_of_component": 2,
            "component_type": "['describe', 'length']",
        },
        reply="first: 5/5, second: 4/5, total score: 9/10. It is good.",
    ),
    "mlvu": Facts(
        {
            "video": ["clip0.mp4", "clip0.mp4", "clip1.mp4", "clip1.mp4"],
            "prefix": ".",
            "task_type": ["plotQA", "plotQA", "needle", "needle"],
            "duration": 4,
            "candidates": _FOUR,
        },
        "cat",
        "(A) cat",
        cls="MLVU_MCQ",
        judge="chatgpt-0125",
    ),
    "mmbench_video": Facts(
        {**_VIDEO, "dimensions": "['OCR', 'Hallucination']"},
        "cat",
        reply="3",
        judge="gpt-4-turbo",
    ),
    "mmifeval": Facts(
        {
            "infer_type": "main",
            "id": ["a", "b", "c", "d"],
            "tag": ["P-Level", "P-Level", "C-Level", "C-Level"],
            "constraints": '[{"key": "short", "value": "Be short.", "judge": {"method": "direct_gpt"}}]',
        },
        '["cat"]',
        "cat",
        "Judgement: right. Score of constraint_1: 1/1, Total Score: 1/1.",
    ),
    "mmlongbenchdoc": Facts(
        {
            "answer_format": "Str",
            "evidence_sources": "['Chart']",
            "evidence_pages": "[1]",
        },
        "cat",
        reply="Extracted answer: cat\nAnswer format: Str",
        options={"model": "GPT4"},
        name="MMLongBench_DOC",
    ),
    "mmoral_opg_open": Facts(
        {"category": ["Teeth,Report", "Patho,SumRec", "HisT", "Jaw"]},
        "cat",
        reply="0.5",
        judge="gpt-4o",
    ),
    "mmsi_video": Facts(
        {
            "id": [f"q_{n}" for n in range(13)],
            "system_prompt": "Watch.",
            "task_prompt": "Answer.",
            "user_prompt": "<video> What is shown?",
            "format_prompt": "A letter.",
            "frames_list": "[['f0.jpg']]",
            "ref_images": "[]",
            "type": [
                "(Cross-Video) Memoery Update",
                "(Cross-Video) Multi-View Integration",
                "Planning",
                "Prediction",
                "(Motion Understanding) Camera Motion",
                "(Motion Understanding) Instance Motion",
                "(Motion Understanding) Interactive Motion",
                *(
                    f"(Spatial Construction) {name}"
                    for name in (
                        "Instance-Instance Spatial Relationship",
                        "Instance-Scene Spatial Relationship",
                        "Scene-Scene Spatial Relationship",
                        "Instance/Scene Attribute",
                        "Camera-Instance Spatial Relationship",
                        "Camera-Scene Spatial Relationship",
                    )
                ),
            ],
            "ground_truth": "A",
            "options": _FOUR,
            "Easy2hard": ["level_1", "level_2", "level_3"],
            "Grounding": ["Time Localization", "Target Grounding"],
            "Indoor_Scene_Perception": [
                "Static Scene (Instance-Centric)",
                "Static Scene (Camera-Centric)",
                "Dynamic Scene",
            ],
            "Robot": ["Navigation", "Manipulation"],
        },
        files=("images/MMSIVideo/frames/f0.jpg", "images/MMSIVideo/ref_images"),
        name="MMSIVideo_SC",
    ),
    "mvbench": Facts(
        {
            "video": ["clip0.mp4", "clip0.mp4", "clip1.mp4", "clip1.mp4"],
            "prefix": ".",
            "task_type": "Action Sequence",
            "data_type": "video",
            "bound": False,
            "start": 0,
            "end": 1,
            "candidates": _FOUR,
        },
        "cat",
        "(A) cat",
        judge="exact_matching",
    ),
    "mvu_eval": Facts(
        {
            "video_paths": "clip0;clip1",
            "options": '["A. cat", "B. dog"]',
            "ground_truth": "A",
            "task": "ocr",
        }
    ),
    "oceanocr": Facts(
        {
            "id": [
                "document_en",
                "document_zh",
                "scene_text_rec",
                "handwritten_en",
                "handwritten_zh",
            ]
        },
        '[{"value": ""}, {"value": "a cat and a dog"}]',
        "a cat and a dog",
    ),
    "omtgbench": Facts({}, "0.0s - 1.0s", "from 0.0s to 1.0s", options={"fps": 2.0}),
    "ost_bench": Facts(
        {
            "type": [
                *(
                    f"AO_{what}(option{n})"
                    for what in ("direction", "distance")
                    for n in (1, 2, 3)
                ),
                "A_object-existence(int1)",
                "A_object-existence(int2)",
                "A_object-quantity(int)",
                *(
                    f"A_object-{what}(option)"
                    for what in ("existence", "order", "diversity")
                ),
                *(
                    f"A_{what}({kind})"
                    for what in ("orientation", "position")
                    for kind in ("option", "float")
                ),
                *(
                    f"AO_{what}({kind})"
                    for what in ("direction", "distance")
                    for kind in ("int", "float")
                ),
            ],
            "option": "['cat', 'dog']",
            "image_path": "['a.jpg']",
            "question": "What is shown in <image>?",
            "answer": [
                *["cat"] * 6,
                *["2"] * 3,
                *["cat"] * 3,
                "cat",
                "2",
                "cat",
                *["2"] * 5,
            ],
        },
        "cat",
        files=("images/OST/a.jpg",),
    ),
    "qbench_video": Facts(
        {"video_path": "clip0.mp4", "question_type": "yes-no", "quality_type": "aes"},
        cls="QBench_Video_MCQ",
    ),
    "reasonmap_plus": Facts(
        {
            "type": ["TorF", "Counting1", "Counting2", "Counting3"],
            "difficulty_city": "easy",
        },
        "yes",
        "yes",
    ),
    "refspatialbench": Facts(
        {
            "category": ["location", "placement", "unseen", "location"],
            "mask_path": "mask.png",
        },
        "(0.5, 0.5)",
        "[(0.5, 0.5)]",
        files=("../mask.png",),
    ),
    "revsi": Facts(
        {
            "video": ["clip0.mp4", "clip0.mp4", "clip1.mp4", "clip1.mp4"],
            "question_type": [
                "object_counting_single",
                "route_planning",
                "object_abs_distance",
                "route_planning",
            ],
            "options": _LETTERS,
            "ground_truth": ["3", "A", "2.0", "A"],
        },
        "3",
    ),
    "robospatialbench": Facts(
        {"category": ["compatibility", "configuration", "context", "compatibility"]},
        "yes",
        "Yes",
        name="RoboSpatial",
    ),
    "sfebench": Facts(
        {
            "question": "What is shown in <image>?",
            "question_type": ["mcq", "exact_match", "open_ended", "mcq"],
            "E": None,
            "g_index": [0, 1, 2, 3],
        },
        reply="<rating>7</rating>",
        judge="gpt-4o-1120",
    ),
    "slidevqa": Facts({}, "cat", reply="cat", options={"model": "GPT4"}),
    "vl_rewardbench": Facts(
        {"response": "['a cat', 'a dogs']"},
        "[0, 1]",
        "The first.",
        "Answer 1",
        judge="gpt-4o-mini",
    ),
    "videomme": Facts(
        {
            **_VIDEO,
            "duration": ["short", "medium", "long", "short"],
            "domain": "Knowledge",
            "sub_category": "Humanity & History",
            "task_type": "Counting Problem",
            "subtitle_path": "none.srt",
        },
        judge="exact_matching",
    ),
    "videommev2": Facts(
        {
            "video": [1, 1, 1, 1],
            "options": "A. cat\nB. dog",
            "group_type": "relevance",
            "group_structure": "[1, 2, 3, 4]",
            "level": 1,
        },
        judge="exact_matching",
        files=("../clips/video/001.mp4", "../clips/video/1.mp4"),
    ),
    "videommmu": Facts(
        {
            "id": ["dev_Art_1", "dev_Art_2", "dev_Business_1", "dev_Business_2"],
            "video": "clip0.mp4",
            "question_type": [
                "perception",
                "comprehension",
                "adaptation",
                "perception",
            ],
            "options": '["cat", "dog", "cow", "hen"]',
            "image": "a.png",
            "category": ["Perception", "Comprehension", "Adaptation", "Perception"],
        }
    ),
    "videott": Facts(
        {
            **_VIDEO,
            "question_prompt": "Answer with a letter.",
            "capability": [
                "Character Motivation Causality",
                "Element Counting",
                "Event Counting",
                "Event Localization",
                "Element Localization",
                "Positional Relationship",
                "Plot Attribute",
                "Plot Attribute (Montage)",
                "Objective Causality (Videography Phenomenon & Illusion)",
                "Element Attributes",
                "Element Attributes (Optical Illusion)",
                "Event Duration & Speed Attribute",
                "Objective Causality",
                "Character Reaction Causality",
                "Professional Knowledge",
                "Displacement Attribute",
                "Character Emotion Attribute",
                "Local Event Attribute",
            ],
        },
        judge="exact_matching",
    ),
    "worldsense": Facts(
        {
            **_VIDEO,
            "duration": ["<1min", "1-2min", ">8min", "<1min"],
            "domain": "Tech & Science",
            "sub_category": "Physics",
            "audio_class": "['Speech']",
            "task_domain": "Recognition",
            "task_type": "Event Recognition",
            "subtitle_path": "none.srt",
        },
        judge="exact_matching",
    ),
    "tempcompass": Facts(
        {
            "prefix": ".",
            "suffix": ".mp4",
            "task_type": "multi-choice",
            "dim": "action",
            "candidates": _LETTERS,
        },
        "A. cat",
        "A. cat",
        cls="TempCompass_MCQ",
        judge="exact_matching",
    ),
    "vdc": Facts(
        {
            "video": ["clip0.mp4", "clip0.mp4", "clip1.mp4", "clip1.mp4"],
            "caption_type": ["short", "detailed", "background", "main_object"],
            "question": "[{'question': 'What is shown?', 'answer': 'A cat.'}]",
        },
        "cat",
        reply="{'pred': 'yes', 'score': 4}",
        judge="llama31-8b",
    ),
    "video_mmlu": Facts(
        {
            "video": ["clip0.mp4", "clip0.mp4", "clip1.mp4", "clip1.mp4"],
            "discipline": ["Math", "physics", "chemistry", "Math"],
            "question": "[{'question': 'What is shown?', 'answer': 'A cat.'}]",
        },
        "cat",
        reply="{'pred': 'yes', 'score': 4}",
        cls="Video_MMLU_CAP",
        judge="qwen-72b",
    ),
    "wildprobe": Facts(
        {"dimension": "sight"},
        "cat",
        reply="[judge] true\n[reason] It is the same.",
        judge="gpt-4.1",
        files=("probe.jsonl",),
        environment={"WILDPROBE_MULTIIMG_REASONING_DATA_PATH": "probe.jsonl"},
    ),
    "worldvqa": Facts(
        {"category": ["a", "a", "b", "b"], "image_path": "a.png"},
        "cat",
        reply="A",
        judge="gpt-4o-1120",
        files=("../a.png",),
    ),
}
DRAWING_FACTS: dict[str, Facts] = {
    "dpgbench": Facts(
        {
            "text": "A cat.",
            "questions": '[{"proposition_id": 1, "dependency": [0], "category_broad": "entity", '
            '"category_detailed": "whole", "question_natural_language": "Is there a cat?"}]',
        },
        judge=None,
    ),
    "geneval_pp": Facts(
        {
            "include": "[{'class': 'cat', 'count': 1}]",
            "tag": "counting",
            "id": ["a", "b", "c", "d"],
        },
        reply='{"correct": 1, "reason": "A cat."}',
    ),
    "imagine_bench": Facts(
        {
            "id": ["a", "b", "c", "d"],
            "type": ["mix", "mix", "time", "time"],
            "note": "A cat.",
        },
        reply="Fantasy Fulfillment: 8\nIdentity Preservation: 7\nAesthetic Quality: 6",
    ),
    "omni_context": Facts(
        {
            "key": ["a", "b", "c", "d"],
            "task_type": [
                "single_character",
                "single_object",
                "scene_object",
                "scene_object",
            ],
        },
        reply='{"score": 7, "reasoning": "Good."}',
    ),
    "wise": Facts(
        {
            "prompt": "A cat.",
            "explanation": "A cat.",
            "Category": "Cultural knowledge",
            "Subcategory": "Festival",
        },
        reply="Consistency: 2\nRealism: 1\nAesthetic Quality: 2",
    ),
}
