"""Rows for lm-eval tasks whose columns cannot be guessed by name: made up, in the form of each dataset."""

import json
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
]


def options(number: int, count: int = 4) -> list[str]:
    """Return some option texts."""
    return [WORDS[(number + place) % 10] for place in range(count)]


def lettered(number: int, names: str) -> Row:
    """Return options in columns such as `option_a` and `option_b`."""
    columns = names.split()
    return dict(zip(columns, options(number, len(columns)), strict=True))


def picture(number: int) -> Any:
    """Return a small image."""
    from PIL import Image

    return Image.new("RGB", (4, 3), (number * 20 % 256, 40, 90))


def winogrande(n: int) -> Row:
    return {
        "sentence": f"The cat {n} saw _ today.",
        "option1": "Tom",
        "option2": "Ann",
        "answer": str(n % 2 + 1),
    }


def storycloze(n: int) -> Row:
    story = {
        f"input_sentence_{place}": f"Part {place} of {n}." for place in range(1, 5)
    }
    return {
        **story,
        "sentence_quiz1": "It ends.",
        "sentence_quiz2": "It goes on.",
        "answer_right_ending": n % 2 + 1,
    }


def wsc273(n: int) -> Row:
    text = f"The cup {n} does not fit in the case because it is large."
    places = {
        "pronoun": "it",
        "pronoun_loc": text.index(" it ") + 1,
        "quote_loc": 0,
        "quote": "it is large",
    }
    return {"text": text, "options": ["The cup", "The case"], "label": n % 2, **places}


def copa(n: int) -> Row:
    kind = "cause" if n % 2 else "effect"
    return {
        "premise": f"The man {n} left.",
        "choice1": "He slept.",
        "choice2": "It rained.",
        "question": kind,
        "label": n % 2,
    }


def triviaqa(n: int) -> Row:
    answer = {
        "value": WORDS[n],
        "aliases": options(n),
        "normalized_aliases": options(n),
    }
    return {"question": f"Which word is {n}?", "question_id": str(n), "answer": answer}


def translation(n: int) -> Row:
    texts = {code: f"{code} text {n}" for code in ("en", "ro", "ar", "de", "fr", "cs")}
    return {"translation": texts}


def race(n: int) -> Row:
    question = {
        "question": "What is it?",
        "answer": "ABCD"[n % 4],
        "options": options(n),
    }
    blank = {"question": "It is _ .", "answer": "B", "options": options(n)}
    return {"article": f"An article {n}.", "problems": repr([question, blank])}


def commonsense_qa(n: int) -> Row:
    choices = {"label": list("ABCDE"), "text": options(n, 5)}
    return {
        "question": f"q{n}",
        "choices": choices,
        "answerKey": "ABCDE"[n % 5],
        "question_concept": "x",
    }


def qa4mre(n: int) -> Row:
    answers = {"answer_id": list("12345"), "answer_str": options(n, 5)}
    return {
        "document_str": f"text {n}",
        "question_str": "why?",
        "answer_options": answers,
        "correct_answer_id": str(n % 5 + 1),
    }


def drop(n: int) -> Row:
    no_date = {"day": "", "month": "", "year": ""}
    answer = {
        "number": str(n),
        "date": no_date,
        "spans": [],
        "worker_id": "",
        "hit_id": "",
    }
    others = {
        "number": [str(n)],
        "date": [no_date],
        "spans": [[WORDS[n]]],
        "worker_id": [""],
        "hit_id": [""],
    }
    return {
        "section_id": "s",
        "query_id": str(n),
        "passage": f"text {n}",
        "question": "how many?",
        "answer": answer,
        "validated_answers": others,
    }


def mathqa(n: int) -> Row:
    return {
        "Problem": f"{n} + 1?",
        "options": "a ) 1 , b ) 2 , c ) 3 , d ) 4 , e ) 5",
        "correct": "abcde"[n % 5],
        "Rationale": "",
    }


def logiqa(n: int) -> Row:
    return {
        "context": f"text {n}",
        "question": "which?",
        "options": options(n),
        "label": "abcd"[n % 4],
        "answer": n % 4,
        "text": "t",
    }


def hendrycks_math(n: int) -> Row:
    return {
        "problem": f"{n} + 1?",
        "solution": f"It is $\\boxed{{{n + 1}}}$.",
        "answer": str(n + 1),
        "level": "Level 1",
        "type": "Algebra",
    }


def headqa(n: int) -> Row:
    answers = [
        {"aid": place + 1, "atext": text} for place, text in enumerate(options(n))
    ]
    return {"qtext": f"q{n}", "answers": answers, "ra": n % 4 + 1}


def mmlu_pro(n: int) -> Row:
    texts = options(n, 10)
    columns = {f"option_{place}": text for place, text in enumerate(texts)}
    subject = "biology" if n % 2 else "business"
    return {
        "question": f"q{n}",
        "options": texts,
        **columns,
        "answer": "ABCDEFGHIJ"[n % 10],
        "answer_index": n % 10,
        "cot_content": "A: Let's think step by step. It is (A).",
        "category": subject,
        "src": "x",
        "question_id": n,
    }


def global_mmlu(n: int) -> Row:
    category = "Business" if n % 2 else "Humanities"
    return {
        "question": f"q{n}",
        **lettered(n, "option_a option_b option_c option_d"),
        "answer": "ABCD"[n % 4],
        "subject_category": category,
        "subject": "x",
    }


def glianorex(n: int) -> Row:
    return {
        "question": f"q{n}",
        "options": dict(zip("ABCD", options(n), strict=True)),
        "answer_idx": "ABCD"[n % 4],
        "answer": WORDS[n],
        "language": "en",
    }


def crows_pairs(n: int) -> Row:
    return {
        "sent_more": f"more {n}",
        "sent_less": f"less {n}",
        "bias_type": 0 if n % 2 else 8,
        "stereo_antistereo": 0,
    }


def winogender(n: int) -> Row:
    return {
        "sentence": f"The nurse {n} said she left.",
        "pronoun": "she",
        "occupation": "nurse",
        "participant": "patient",
        "gender": "female",
        "target": "nurse",
        "label": n % 2,
        "sentid": "x",
    }


def toxigen(n: int) -> Row:
    return {
        "text": f"text {n}",
        "toxicity_ai": float(n % 5),
        "toxicity_human": float(n % 4),
    }


def eq_bench(n: int) -> Row:
    feelings = {}
    for place, word in enumerate(options(n), 1):
        feelings |= {f"emotion{place}": word, f"emotion{place}_score": place}
    return {
        "prompt": f"How does {n} feel?",
        "reference_answer_fullscale": repr(feelings),
        "reference_answer": repr(feelings),
    }


def mutual(n: int) -> Row:
    return {
        "article": f"m : hi {n}",
        "options": options(n),
        "answers": "ABCD"[n % 4],
        "id": str(n),
    }


def tydiqa(n: int) -> Row:
    answers = {"text": [WORDS[n]], "answer_start": [0]}
    language = "arabic" if n % 2 else "bengali"
    return {
        "id": f"{language}-{n}",
        "context": f"{WORDS[n]} text",
        "question": "which?",
        "title": "t",
        "answers": answers,
    }


def kobest_copa(n: int) -> Row:
    kind = "원인" if n % 2 else "결과"
    return {
        "premise": f"p{n}.",
        "question": kind,
        "alternative_1": "a.",
        "alternative_2": "b.",
        "label": n % 2,
    }


def arab_culture(n: int) -> Row:
    keys = ["A", "B", "C"]
    choices = {
        "arabic_keys": ["أ", "ب", "ج"],
        "english_keys": keys,
        "text": options(n, 3),
    }
    answer = {"arabic_answer_key": "أ", "english_answer_key": keys[n % 3]}
    place = {"country": "Egypt", "region": "Gulf"}
    return {
        "first_statement": f"It is {n}.",
        **place,
        "options": choices,
        "answer_key": answer,
    }


def alghafa(n: int) -> Row:
    solutions = lettered(n, "sol1 sol2 sol3 sol4")
    return {"query": f"q{n}", **solutions, "label": str(n % 4)}


def arabicmmlu(n: int) -> Row:
    choices = {f"Option {place}": text for place, text in enumerate(options(n, 5), 1)}
    facts = {
        "Level": "High",
        "Country": "Egypt",
        "Subject": "History",
        "Context": f"text {n}",
    }
    return {"Question": f"q{n}", **facts, **choices, "Answer Key": "ABCDE"[n % 5]}


def aradice_mmlu(n: int) -> Row:
    facts = {
        "Level": "High",
        "Country": "Egypt",
        "Subject": "History",
        "context": f"text {n}",
    }
    choices = dict(zip("ABCDE", options(n, 5), strict=True))
    return {
        "question": f"q{n}",
        **facts,
        "options": choices,
        "Answer Key": "ABCDE"[n % 5],
    }


def bbq(n: int) -> Row:
    condition = "disambig" if n % 2 else "ambig"
    people = {
        "ans0": ["old man", "old"],
        "ans1": ["young man", "nonOld"],
        "ans2": ["unknown", "unknown"],
    }
    return {
        "example_id": n,
        "question_index": "1",
        "category": "Age",
        "context": f"text {n}",
        "question": "who?",
        "ans0": "The old man",
        "ans1": "The young man",
        "ans2": "Unknown",
        "label": n % 3,
        "context_condition": condition,
        "question_polarity": "neg" if n % 3 else "nonneg",
        "question_type": "pro-stereo" if n % 4 else "anti-stereo",
        "answer_info": people,
        "additional_metadata": {
            "stereotyped_groups": ["old"],
            "subcategory": "None",
            "version": "a",
            "source": "x",
        },
        "stereotyped_groups": ["old"],
    }


def chartqa(n: int) -> Row:
    return {"image": picture(n), "query": f"How many in {n}?", "label": [str(n)]}


def mmmu(n: int) -> Row:
    images = {f"image_{place}": picture(n) for place in range(1, 8)}
    return {
        "id": str(n),
        "question": f"<image 1> What is {n}?",
        "options": repr(options(n)),
        **images,
        "answer": "ABCD"[n % 4],
        "question_type": "multiple-choice",
        "explanation": "",
        "img_type": "x",
    }


def pisa(n: int) -> Row:
    return {
        "image": picture(n),
        "question": f"What is {n}?",
        "choices": repr(options(n)),
        "answer": n % 4,
    }


def common_voice(n: int) -> Row:
    samples = [((place * (n + 1)) % 50) / 50 for place in range(400)]
    return {
        "audio": {"array": samples, "sampling_rate": 16000},
        "transcript": f"text {n}",
    }


def click(n: int) -> Row:
    name = f"economy_geography_history_law_politics_popular_society_tradition_{n}"
    return {
        "id": name,
        "paragraph": f"text {n}",
        "question": "which?",
        "choices": options(n),
        "answer": WORDS[n],
    }


def darija_sentiment(n: int) -> Row:
    answer = "سلبي" if n % 2 else "ايجابي"
    return {
        "messages": [
            {"role": "user", "content": f"-سلبي -ايجابي {n}"},
            {"role": "assistant", "content": answer},
        ]
    }


def include(n: int) -> Row:
    return {
        "question": f"q{n}",
        **lettered(n, "option_a option_b option_c option_d"),
        "answer": n % 4,
        "domain": "Arts & Humanities",
        "subject": "x",
        "language": "x",
    }


def indicparam(n: int) -> Row:
    choices = lettered(n, "option_a option_b option_c option_d")
    return {
        "question_text": f"q{n}",
        **choices,
        "correct_answer": "abcd"[n % 4],
        "subject": "Bodo",
    }


def jaqket(n: int) -> Row:
    texts = {"text": options(n), "title": options(n)}
    return {
        "question": f"q{n}",
        "ctxs": texts,
        "answers": {"text": [WORDS[n]]},
        "qid": str(n),
    }


def jsonschema(n: int) -> Row:
    schema = '{"type": "object", "properties": {"a": {"type": "integer"}}}'
    return {"json_schema": schema, "json_object": f'{{"a": {n}}}', "unique_id": str(n)}


def libra(n: int) -> Row:
    return {
        "context": f"text {n}",
        "input": "why?",
        "positive_outputs": options(n),
        "length": "8p",
        "id": n,
    }


def lingoly(n: int) -> Row:
    parts = [{"questionpart_n": "a", "question": f"what is {n}?", "answer": WORDS[n]}]
    questions = f'[{{"prompt": "Answer.", "subprompts": {json.dumps(parts)}}}]'
    return {
        "overall_question_n": str(n),
        "preamble": "Words.",
        "context": f"text {n}",
        "questions": questions,
    }


def med_prescriptions(n: int) -> Row:
    details = {"disease_diagnosis": f"illness {n}", "medicines": options(n)}
    return {"name": "x", "results": repr({"prescription_details": details})}


def med_text(n: int) -> Row:
    return {
        "text": f"text {n}",
        "class": n % 5 + 1,
        "transcription": f"text {n}",
        "medical_specialty": " Urology",
    }


def metabench_arc(n: int) -> Row:
    choices = {"label": list("ABCD"), "text": options(n)}
    shots: Row = {}
    for shot in range(1, 26):
        shots |= {
            f"arc_question_shot_{shot}": f"q{shot}",
            f"arc_answerKey_shot_{shot}": "ABCD"[shot % 4],
        }
        shots |= {f"arc_choices_shot_{shot}": choices, f"arc_idx_shot_{shot}": shot}
    return {
        "question": f"q{n}",
        "choices": choices,
        "answerKey": "ABCD"[n % 4],
        "alltwentyfiveshot_longprompt": "",
        **shots,
    }


def nerel(n: int) -> Row:
    return {
        "instruction": "Define {word}.",
        "context": f'{{"word": "{WORDS[n]}"}}',
        "true_answer": f"text {n}",
    }


def mmmlu(n: int) -> Row:
    choices = dict(zip("ABCD", options(n), strict=True))
    return {
        "Question": f"q{n}",
        **choices,
        "Answer": "ABCD"[n % 4],
        "Subject": "abstract_algebra",
    }


def physics_gre(n: int) -> Row:
    scores = {letter: int(place == n % 5) for place, letter in enumerate("ABCDE")}
    return {"input": f"q{n}", "has_image": False, "target_scores": scores}


def polemo(n: int) -> Row:
    labels = [
        "__label__meta_zero",
        "__label__meta_minus_m",
        "__label__meta_plus_m",
        "__label__meta_amb",
    ]
    return {"sentence": f"text {n}", "target": labels[n % 4]}


def qasper(n: int) -> Row:
    answer = {
        "unanswerable": False,
        "yes_no": bool(n % 2),
        "free_form_answer": "",
        "extractive_spans": [],
    }
    questions = {"question": [f"q{n}"], "answers": [{"answer": [answer]}]}
    return {
        "id": str(n),
        "title": f"title {n}",
        "abstract": f"text {n}",
        "qas": questions,
    }


def realtoxicity(n: int) -> Row:
    return {"prompt": {"text": f"text {n}"}, "continuation": {"text": "x"}}


def uncheatable(n: int) -> Row:
    return {"content": f"A page of {WORDS[n]} text.", "category": "ao3_english"}


def based(n: int) -> Row:
    """Return a row of fda, swde and squad_completion."""
    return {
        "doc_id": str(n),
        "text": f"The key {n} is",
        "key": "key",
        "value": WORDS[n],
    }


def squad(n: int) -> Row:
    answers = {"text": [WORDS[n]], "answer_start": [0]}
    return {
        "id": str(n),
        "title": "t",
        "context": f"{WORDS[n]} text",
        "question": "which?",
        "answers": answers,
    }


def discrim(n: int) -> Row:
    races = ["white", "black", "asian", "hispanic", "native american"]
    genders = ["male", "female", "non-binary"]
    return {
        "filled_template": f"Is {n} fit?",
        "race": races[n % 5],
        "gender": genders[n % 3],
        "age": 20 + 10 * n,
        "decision_question_id": n % 2,
    }


def ifeval(n: int) -> Row:
    kinds = ["punctuation:no_comma", "change_case:english_lowercase"]
    return {
        "key": n,
        "prompt": f"Write {n}.",
        "instruction_id_list": kinds[: n % 2 + 1],
        "kwargs": [{}] * (n % 2 + 1),
    }


def longbench(n: int) -> Row:
    return {
        "context": f"text {n}",
        "input": "which?",
        "answers": options(n),
        "all_classes": options(n),
        "length": n,
        "dataset": "x",
        "language": "en",
        "_id": str(n),
    }


def scrolls(n: int) -> Row:
    choice = ["Entailment", "Not mentioned", "Contradiction"][n % 3]
    return {
        "id": str(n),
        "pid": f"{n}_0",
        "input": f"What is {n}?\n\nA text.",
        "outputs": [choice],
        "output": choice,
    }


def coqa(n: int) -> Row:
    turns = {"input_text": ["who?", "where?"], "turn_id": [1, 2]}
    answers = {"input_text": [WORDS[n], "there"], "turn_id": [1, 2]}
    return {
        "id": str(n),
        "story": f"A story {n}.",
        "questions": turns,
        "answers": answers,
        "additional_answers": {"0": answers},
    }


def medical_pairs(n: int) -> Row:
    """Return a row of the tasks that have a text and a text for it, under every dataset's names."""
    answer = [{"Answer": {"AnswerText": f"answer {n}"}}]
    return {
        "CHQ": f"SUBJECT: x MESSAGE: text {n}",
        "Summary": f"answer {n}",
        "Prompt": f"text {n}",
        "QUESTION": {"QuestionText": f"q{n}", "AnswerList": answer},
        "Completion": f"answer {n}",
        "description": f"text {n}",
        "utterances": {"utterance": ["q", f"answer {n}"]},
        "src": f"text {n}",
        "tgt": f"answer {n}",
        "dialogue": f"text {n}",
        "section_text": f"answer {n}",
        "Question": f"q{n}",
        "Free_form_answer": f"answer {n}",
        "question": f"q{n}",
        "answer": f"answer {n}",
        "Must_have": options(n),
        "Nice_to_have": options(n),
        "extractive_notes_summ": f"FINDINGS: text {n} IMPRESSION: answer {n}",
        "summary": f"answer {n}",
        "web_headline": f"head {n}",
        "web_text": f"text {n}",
    }


def humaneval(n: int) -> Row:
    return {
        "task_id": str(n),
        "prompt": f"def add_{n}(a, b):\n",
        "entry_point": f"add_{n}",
        "test": f"def check(f):\n    assert add_{n}(1, 2) == 3\n",
        "canonical_solution": "    return a + b",
        "suffix": "",
    }


def mbpp(n: int) -> Row:
    tests = [f"assert add(1, {place}) == {place + 1}" for place in range(3)]
    return {
        "task_id": n,
        "text": f"Add {n}.",
        "code": "def add(a, b): return a + b",
        "test_list": tests,
        "prompt": "Add.",
    }


def longproc(n: int) -> Row:
    facts = {
        "nums": [1, 2],
        "target": 3,
        "task_topic": "x",
        "filtering_instruction": "x",
        "tsv_header": "a",
    }
    return {
        "id": str(n),
        "input_prompt": f"Do {n}.",
        "reference_output": f"text {n}",
        "metadata": json.dumps({**facts, "gt": "text"}),
    }


def cruxeval(n: int) -> Row:
    return {
        "id": str(n),
        "code": "def f(a):\n    return a",
        "input": str(n),
        "output": str(n),
    }


BY_BEGINNING: dict[str, Callable[[int], Row]] = {
    "winogrande": winogrande, "icelandic_winogrande": winogrande, "xwinograd": winogrande, "storycloze": storycloze,
    "xstorycloze": storycloze, "wsc273": wsc273, "copal_id": copa, "xcopa": copa, "triviaqa": triviaqa,
    "wmt": translation, "iwslt": translation, "race": race, "commonsense_qa": commonsense_qa, "qa4mre": qa4mre,
    "drop": drop, "mathqa": mathqa, "logiqa": logiqa, "hendrycks_math": hendrycks_math, "headqa": headqa,
    "mmlu_pro": mmlu_pro, "global_mmlu": global_mmlu, "glianorex": glianorex, "crows_pairs": crows_pairs,
    "winogender": winogender, "toxigen": toxigen, "eq_bench": eq_bench, "eqbench": eq_bench, "mutual": mutual,
    "tydiqa": tydiqa, "kobest_copa": kobest_copa, "arab_culture": arab_culture, "arabic_leaderboard_alghafa": alghafa,
    "arabicmmlu": arabicmmlu, "AraDiCE_ArabicMMLU": aradice_mmlu, "bbq": bbq, "cabbq": bbq, "esbbq": bbq,
    "chartqa": chartqa, "mmmu": mmmu, "pisa": pisa, "common_voice": common_voice, "click": click,
    "darija_sentiment": darija_sentiment, "include_base": include, "indicparam": indicparam,
    "ja_leaderboard_jaqket": jaqket, "jsonschema_bench": jsonschema, "librusec": libra, "lingoly": lingoly,
    "med_prescriptions": med_prescriptions, "med_text_classification": med_text, "metabench_arc": metabench_arc,
    "ru_entity": nerel, "mmmlu": mmmlu, "physics_gre": physics_gre, "polemo2": polemo, "qasper": qasper,
    "realtoxicity": realtoxicity, "uncheatable": uncheatable, "fda": based, "swde": based, "squad_completion": based,
    "squadv2": squad, "xquad": squad, "discrim_eval": discrim, "ifeval": ifeval, "longbench": longbench,
    "scrolls_contractnli": scrolls, "coqa": coqa, "meddialog": medical_pairs, "mediqa_qa2019": medical_pairs,
    "medtext": medical_pairs, "meqsum": medical_pairs, "mts_dialog": medical_pairs, "olaph": medical_pairs,
    "mimic_repsum": medical_pairs, "noticia": medical_pairs, "minerva_math": hendrycks_math,
    "putnam_axiom": hendrycks_math, "humaneval": humaneval, "mbpp": mbpp, "cruxeval": cruxeval, "longproc": longproc,
    "tinyArc": commonsense_qa, "cocoteros": copa,
}  # fmt: skip
"""By the beginning of a task's name: a function from a number to a row."""


ROWS_NEEDED = {"med_text_classification": 40, "discrim_eval": 60}
"""Rows of tasks for which a few are not enough: the first takes a tenth of them, the second fits a regression."""


def written_rows(task: str, count: int) -> list[Row] | None:
    """Return the rows written for a task, or None where they are guessed."""
    beginnings = [name for name in BY_BEGINNING if task.startswith(name)]
    if not beginnings:
        return None
    make = BY_BEGINNING[max(beginnings, key=len)]
    return [make(number) for number in range(count)]
