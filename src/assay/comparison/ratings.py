"""Bradley-Terry and Elo ratings of the models of a leaderboard, from battles on the samples they share.

If samples have the tag `opponent`, as with a pairwise judge, each value is a battle
against that opponent: 1 is won, 0 lost, 0.5 a tie. Otherwise every two models have a
battle on every sample that both answered, and the better score wins.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..core import UNRESOLVED, Result, ScoreRecord, UsageError
from ..core.errors import note_line, plural
from ..report import markdown_text, printable, text_grid
from ..report.grid import markdown_grid
from ..store import RunReader
from ..store.export import csv_text
from ..summarizers.statistics.rating_models import Battle, Ratings, bradley_terry, elo
from .compared_values import Values
from .leaderboard import Column, Duel, Entry, Leaderboard, Rank, rank

METHODS: Mapping[str, Callable[[Sequence[Battle]], Ratings]] = {
    "bradley-terry": bradley_terry,
    "elo": elo,
}
OPPONENT = "opponent"
"""The tag that names the other model of a pairwise comparison."""
HEADINGS = ("Rank", "Model", "Rating", "95 % interval", "Won", "Lost", "Tied")
NUMBERS = (2, 4, 5, 6)


@dataclass(frozen=True, slots=True)
class RatedColumn:
    """The ratings of all models in one column of the leaderboard."""

    column: Column
    ratings: Ratings
    ranks: Mapping[str, Rank]

    @property
    def title(self) -> str:
        """The column, the method and the number of samples, in one line."""
        samples = plural(self.ratings.samples, "sample")
        return f"{self.column.title}: {self.ratings.method} ratings, {samples}"

    def to_plain(self) -> dict[str, Any]:
        """Return the ratings as JSON."""
        models = []
        for rating in self.ratings.ratings:
            rank_of_model = self.ranks[rating.name]
            models.append(
                {
                    "name": rating.name,
                    "rating": rating.value,
                    "ci": None if rating.low is None else [rating.low, rating.high],
                    "rank": {"best": rank_of_model.best, "worst": rank_of_model.worst},
                    "wins": rating.wins,
                    "losses": rating.losses,
                    "ties": rating.ties,
                }
            )
        return {
            "protocol": self.column.protocol,
            "metric": self.column.metric,
            "method": self.ratings.method,
            "samples": self.ratings.samples,
            "models": models,
        }

    def rows(self) -> list[list[str]]:
        """Return the cells of the table."""
        rows = []
        for rating in self.ratings.ratings:
            interval = "–"
            if rating.low is not None and rating.high is not None:
                interval = f"[{rating.low:.0f}, {rating.high:.0f}]"
            rows.append(
                [
                    str(self.ranks[rating.name]),
                    rating.name,
                    f"{rating.value:.0f}",
                    interval,
                    f"{rating.wins:,}",
                    f"{rating.losses:,}",
                    f"{rating.ties:,}",
                ]
            )
        return rows


def rate(board: Leaderboard, method: str = "bradley-terry") -> list[RatedColumn]:
    """Return the ratings of the models of a leaderboard, for each of its columns.

    Example: `rate(make_leaderboard([Path("runs/a"), Path("runs/b")]))`
    """
    values = Values()
    rated = []
    for column in board.columns:
        entries = [entry for entry in board.entries if column in entry.numbers]
        battles = list(_battles(entries, column, values))
        if not battles:
            continue
        try:
            ratings = METHODS[method](battles)
        except ValueError as error:
            fix = "add samples or models; `--ratings elo` always has numbers"
            raise UsageError(
                str(error),
                where=column.title,
                fix=fix,
            ) from error
        rated.append(RatedColumn(column, ratings, _ranks(ratings)))
    if not rated:
        raise UsageError(
            "no two models share samples: there are no battles",
            fix="name runs of several models on the same task",
        )
    return rated


def _ranks(ratings: Ratings) -> Mapping[str, Rank]:
    """Return the rank of each model. Models whose difference is not significant share ranks."""
    values = {rating.name: rating.value for rating in ratings.ratings}

    def duel(first: str, second: str) -> Duel:
        return Duel(values[first] - values[second], ratings.p_of(first, second))

    if ratings.covariance is None:
        order = list(values)
        return {name: Rank(number, number) for number, name in enumerate(order, 1)}
    return rank(list(values), duel)


def _battles(
    entries: Sequence[Entry],
    column: Column,
    values: Values,
) -> Iterator[Battle]:
    """Yield the battles of one column: against opponents that the samples name, or between each pair of models."""
    against_named = [
        battle for entry in entries for battle in _named_battles(entry, column)
    ]
    if against_named:
        yield from against_named
        return
    for first, second in combinations(entries, 2):
        ours, theirs = (_scores(entry, column, values) for entry in (first, second))
        for id in ours.keys() & theirs.keys():
            gap = ours[id] - theirs[id]
            if not column.higher_is_better:
                gap = -gap
            won = 0.5 if gap == 0 else float(gap > 0)
            yield Battle(first.name, second.name, won, id)


def _scores(
    entry: Entry,
    column: Column,
    values: Values,
) -> Mapping[str, float]:
    result, reader = entry.numbers[column]
    return values.of_samples(reader, result, result.model)[0]


def _named_battles(entry: Entry, column: Column) -> Iterator[Battle]:
    """Yield a model's battles against the opponents that its samples name. Battles against itself are skipped."""
    result, reader = entry.numbers[column]
    for record in _records(reader, result):
        opponent = record.tags.get(OPPONENT)
        won = record.values.get(result.metric)
        if opponent in (None, entry.name) or won is None:
            continue
        if record.outcome in UNRESOLVED:
            continue
        if not 0 <= won <= 1:
            raise UsageError(
                f"{result.metric} of sample {record.id!r} is {won:g}, which is not the result of a battle",
                where=str(reader.layout.folder),
                fix="1 is won, 0 lost, 0.5 a tie, as `pairwise_judge` gives",
            )
        if record.cluster is None:
            sample = record.id
        else:
            sample = record.cluster
        yield Battle(entry.name, opponent, float(won), sample)


def _records(reader: RunReader, result: Result) -> Iterator[ScoreRecord]:
    """Yield the score records from which a result was computed."""
    for scorer in reader.scorers(result.task, result.model):
        if result.metric == scorer or result.metric.startswith(f"{scorer}."):
            yield from reader.scores(result.task, result.model, scorer)


def text(rated: Sequence[RatedColumn]) -> str:
    """Return the ratings for a terminal."""
    lines: list[str] = []
    for column in rated:
        grid = text_grid(HEADINGS, column.rows(), NUMBERS)
        lines += [printable(column.title), *grid, ""]
    lines += [printable(note_line(note)) for note in remarks(rated)]
    return "\n".join(lines).rstrip() + "\n"


def markdown(rated: Sequence[RatedColumn]) -> str:
    """Return the ratings as Markdown."""
    parts = []
    for column in rated:
        title = f"**{markdown_text(column.title)}**"
        parts += [title, markdown_grid(HEADINGS, column.rows())]
    parts.append("\n".join(f"- {markdown_text(note)}" for note in remarks(rated)))
    return "\n\n".join(parts) + "\n"


def csv(rated: Sequence[RatedColumn]) -> str:
    """Return the ratings as CSV, with a row for each model and column."""
    columns = ("protocol", "metric", "model", "rating", "low", "high", "won", "lost")
    rows: list[list[Any]] = []
    for entry in rated:
        for rating in entry.ratings.ratings:
            rows.append(
                [
                    entry.column.protocol,
                    entry.column.metric,
                    rating.name,
                    rating.value,
                    "" if rating.low is None else rating.low,
                    "" if rating.high is None else rating.high,
                    rating.wins,
                    rating.losses,
                ]
            )
    return csv_text(columns, rows)


def remarks(rated: Sequence[RatedColumn]) -> Iterator[str]:
    """Yield the notes below the table of ratings."""
    yield "400 points are odds of 10 to 1; the mean of all models is 1000"
    if any(column.ratings.covariance is not None for column in rated):
        yield "a range of ranks: these models cannot be distinguished (p after Holm)"
    if any(column.ratings.method == "Elo" for column in rated):
        yield "Elo depends on the order of the samples and has no interval"
