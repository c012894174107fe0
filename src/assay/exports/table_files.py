"""Export a run as a table: CSV or Parquet, one row per sample and scorer."""

from pathlib import Path

from ..store import RunReader
from ..store.export import write_csv, write_parquet
from .exporter import check_model


class Csv:
    """Exports a CSV file with one row per sample and scorer, safe to open in a spreadsheet."""

    file_name = "samples.csv"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write the rows of one model or of all models, which the column `model` names."""
        check_model(reader, model)
        return f"{write_csv(reader, path, model)} rows"


class Parquet:
    """Exports a Parquet file with one row per sample and scorer, and with unchanged texts."""

    file_name = "samples.parquet"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write the rows of one model or of all models, which the column `model` names."""
        check_model(reader, model)
        return f"{write_parquet(reader, path, model)} rows"
