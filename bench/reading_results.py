"""Reading the results of other tools: CPU seconds and peak memory for 100,000 samples of each format.

`python bench/reading_results.py` with the Python of `make interop`, whose packages read the logs of inspect_ai and the
workbooks. The logs and the files of Every Eval Ever are exports of a run of assay; the others are written here in the
fields that the tools write. The first command converts the results, the second one reads the converted run.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measured import ASSAY, cost_of

QUESTION = "Question {n}: a train leaves at {n} and takes {n} minutes. When does it arrive? Answer with a number alone."
ANSWER = (
    "Let me think. It leaves at {n} and takes {n} minutes, so that it arrives at {sum}."
)
HEADER = [
    "index",
    "question",
    "A",
    "B",
    "C",
    "D",
    "answer",
    "category",
    "prediction",
    "hit",
    "log",
]


def main() -> None:
    """Write each format, read it twice, and print what that took."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, default=100_000)
    arguments.add_argument("--formats", nargs="*", choices=list(FORMATS))
    given = arguments.parse_args()
    for name in given.formats or FORMATS:
        folder = Path(tempfile.mkdtemp())
        try:
            path = FORMATS[name](folder, given.samples)
            measure(name, path, folder, given.samples)
        finally:
            shutil.rmtree(folder)


def measure(name: str, path: Path, folder: Path, samples: int) -> None:
    """Read one file twice, each time to its table and one sample."""
    environment = {"XDG_DATA_HOME": str(folder / "converted")}
    command = [*ASSAY, "show", str(path), "--json", "--limit", "1"]
    size = sum(file.stat().st_size for file in files_below(path)) / 1e6
    print(f"{name}: {samples} samples, {size:.0f} MB", flush=True)
    for step in ("the first command", "the second command"):
        started = time.perf_counter()
        spent = cost_of(command, environment=environment)
        wall = time.perf_counter() - started
        print(
            f"  {step:20} {wall:6.1f} s wall  {spent.cpu_seconds:6.1f} s CPU  {spent.peak_mb:5.0f} MB",
            flush=True,
        )


def files_below(path: Path) -> list[Path]:
    """Return the files of a result: the file alone, or with its neighbours where several belong together."""
    if path.suffix in (".eval", ".xlsx", ".tsv"):
        return [path]
    folder = path if path.is_dir() else path.parent
    return [file for file in folder.rglob("*") if file.is_file()]


def rows_of(samples: int) -> Iterator[dict[str, Any]]:
    """Yield question, right answer and prediction of each sample; every second one is right."""
    for number in range(samples):
        right = str(2 * number)
        yield {
            "number": number,
            "question": QUESTION.format(n=number),
            "right": right,
            "prediction": ANSWER.format(n=number, sum=2 * number + number % 2),
            "value": float(number % 2 == 0),
        }


def write_lines(path: Path, rows: Iterator[dict[str, Any]]) -> Path:
    """Write rows as JSONL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
    return path


def write_lm_eval(folder: Path, samples: int) -> Path:
    """Write `results_*.json` and `samples_*.jsonl` as lm-eval does."""
    moment = "2026-11-18T20-21-54.095444"
    write_lines(
        folder / f"model/samples_trains_{moment}.jsonl",
        (lm_eval_row(row) for row in rows_of(samples)),
    )
    results = {
        "results": {
            "trains": {
                "alias": "trains",
                "exact_match,none": 0.5,
                "exact_match_stderr,none": 0.5 / samples**0.5,
            }
        },
        "configs": {"trains": {"task": "trains", "metadata": {"version": 1.0}}},
        "n-shot": {"trains": 0},
        "higher_is_better": {"trains": {"exact_match": True}},
        "n-samples": {"trains": {"original": samples, "effective": samples}},
        "config": {"model": "hf", "model_args": "pretrained=model"},
        "model_name": "model",
        "date": 1763495000.0,
        "lm_eval_version": "0.4.13",
    }
    path = folder / f"model/results_{moment}.json"
    path.write_text(json.dumps(results))
    return path


def lm_eval_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return one line of `samples_*.jsonl`."""
    arguments = {"arg_0": row["question"], "arg_1": {"until": ["\n"]}}
    return {
        "doc_id": row["number"],
        "doc": {"question": row["question"], "answer": row["right"]},
        "target": row["right"],
        "arguments": {"gen_args_0": arguments},
        "resps": [[row["prediction"]]],
        "filtered_resps": [row["prediction"]],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": "0" * 64,
        "prompt_hash": "1" * 64,
        "target_hash": "2" * 64,
        "exact_match": row["value"],
    }


def write_evalscope(folder: Path, samples: int) -> Path:
    """Write the reviews of one dataset as evalscope does."""
    run = folder / "evalscope"
    write_lines(
        run / "reviews/model/trains_default.jsonl",
        (evalscope_row(row) for row in rows_of(samples)),
    )
    report = {"metrics": [{"name": "mean_acc", "score": 0.5}]}
    path = run / "reports/model/trains.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(report))
    return run


def evalscope_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return one review."""
    score = {
        "value": {"acc": row["value"]},
        "status": "success",
        "extracted_prediction": row["prediction"][-6:],
        "prediction": row["prediction"],
    }
    return {
        "index": row["number"],
        "target": [row["right"]],
        "messages": [
            {"role": "user", "content": row["question"]},
            {"role": "assistant", "content": row["prediction"]},
        ],
        "sample_score": {"score": score, "sample_id": row["number"]},
    }


def vlmevalkit_cells(row: dict[str, Any]) -> list[Any]:
    """Return one row of a table of VLMEvalKit."""
    options = [row["right"], "7", "8", "9"]
    return [
        row["number"],
        row["question"],
        *options,
        "A",
        f"category {row['number'] % 20}",
        row["prediction"],
        int(row["value"]),
        "Match Log: fetched from the prediction",
    ]


def write_vlmevalkit_tsv(folder: Path, samples: int) -> Path:
    """Write a table of predictions with verdicts as TSV."""
    path = folder / "model/model_Trains_result.tsv"
    path.parent.mkdir()
    with path.open("w") as file:
        file.write("\t".join(HEADER) + "\n")
        for row in rows_of(samples):
            file.write("\t".join(map(str, vlmevalkit_cells(row))) + "\n")
    return path


def write_vlmevalkit_xlsx(folder: Path, samples: int) -> Path:
    """Write the same table as a workbook."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    sheet.append(HEADER)
    for row in rows_of(samples):
        sheet.append(vlmevalkit_cells(row))
    path = folder / "model/model_Trains_result.xlsx"
    path.parent.mkdir()
    book.save(path)
    return path


def exported(folder: Path, samples: int, exporter: str) -> Path:
    """Return the folder of an export of a run of assay."""
    rows = (
        {"id": str(r["number"]), "question": r["question"], "answer": r["right"]}
        for r in rows_of(samples)
    )
    data = write_lines(folder / "trains.jsonl", rows)
    run, export = folder / "run", folder / "export"
    words = [
        str(data),
        "--model",
        "scripted",
        "-a",
        f"answers={ANSWER.format(n=1, sum=2)}",
    ]
    words += ["--scorer", "includes", "-o", str(run)]
    subprocess.run([*ASSAY, "run", *words], check=True, capture_output=True)
    target = str(export / "log.eval") if exporter == "inspect" else str(export)
    export.mkdir()
    command = [*ASSAY, "export", str(run), "--to", exporter, "-o", target]
    subprocess.run(command, check=True, capture_output=True)
    return export


def write_inspect(folder: Path, samples: int) -> Path:
    """Export a run as a log of inspect_ai."""
    (path,) = exported(folder, samples, "inspect").rglob("*.eval")
    return path


def write_every_eval_ever(folder: Path, samples: int) -> Path:
    """Export a run as files of Every Eval Ever."""
    (path,) = exported(folder, samples, "every-eval-ever").rglob("*.json")
    return path


FORMATS: dict[str, Callable[[Path, int], Path]] = {
    "lm-eval": write_lm_eval,
    "evalscope": write_evalscope,
    "VLMEvalKit tsv": write_vlmevalkit_tsv,
    "VLMEvalKit xlsx": write_vlmevalkit_xlsx,
    "Every Eval Ever": write_every_eval_ever,
    "inspect_ai": write_inspect,
}


if __name__ == "__main__":
    main()
