"""Evaluations of the documented revision: upstream's own functions make the tables that a run of assay must leave."""

from typing import Any

from differential import Cases
from tables import MME_CATEGORIES, core_mm, mme, mmvet, plain_choice, rotated

cases = Cases()


class Judge:
    """Replies in turn, and keeps what it was asked with."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = replies, []  # type: ignore[var-annotated]

    def generate(self, prompt: Any, **settings: Any) -> str:
        self.asked.append(sorted(settings.items()))
        return self.replies[(len(self.asked) - 1) % len(self.replies)]


def with_judge(module: Any, *replies: str) -> None:
    """The module's judge class gives scripted replies."""
    module.OpenAIWrapper = lambda *args, **kwargs: Judge(*replies)


def mme_predictions(wrong: int = 5) -> list[str]:
    return [
        "Yes" if n % 2 == 0 else "No" if n % wrong else "Hm"
        for n in range(4 * len(MME_CATEGORIES))
    ]


def predicted(name: str, predictions: list[Any]) -> str:
    """A prediction file as `run.py` writes it, and its name."""
    from vlmeval.smp import dump
    from vlmeval.utils import TSVDataset

    data = TSVDataset(name).data
    data["prediction"] = [predictions[at % len(predictions)] for at in range(len(data))]
    data.pop("image")
    dump(data, f"m_{name}.xlsx")
    return f"m_{name}.xlsx"


TABLES = {
    "MMBench_DEV_EN": rotated,
    "MMBench_DEV_CN": lambda: rotated("MMBench_DEV_CN", hint=False),
    "CCBench": lambda: rotated("CCBench", split=True),
    "SEEDBench_IMG": plain_choice,
    "MME": mme,
    "MMVet": mmvet,
    "CORE_MM": core_mm,
}


@cases.add("MME_eval", ("Yes",), ("No",), ("hm",))
def mme_eval(replies: tuple[str, ...]) -> Any:
    from vlmeval.eval import mme_eval
    from vlmeval.smp import load

    mme()
    with_judge(mme_eval, *replies)
    file = predicted("MME", mme_predictions())
    score = mme_eval.MME_eval(file, nproc=1)
    return [score, load("m_MME_auxmatch.xlsx"), load("m_MME_score.csv")]


@cases.add("multiple_choice_eval.judge", "MMBench_DEV_EN", "SEEDBench_IMG", "CCBench")
def multiple_choice_eval(name: str) -> Any:
    import os

    from vlmeval.eval import multiple_choice
    from vlmeval.smp import load

    with_judge(multiple_choice, "A")
    TABLES[name]()
    file = predicted(name, ["A", "hm", "B", "dog", "3", "no", "C"])
    score = multiple_choice.multiple_choice_eval(file, dataset=name, nproc=1)
    files = sorted(f for f in os.listdir(".") if f.startswith("m_"))
    return [
        score,
        files,
        load(f"m_{name}_openai_result.xlsx"),
        load(f"m_{name}_acc.csv"),
    ]
