"""Everything that ships with assay, by name: `name: (module:attribute, one line)`.

Plain data, so that listing a thousand names imports none of them.
"""

DATASETS: dict[str, tuple[str, str]] = {}
TEMPLATES: dict[str, tuple[str, str]] = {}
MODELS: dict[str, tuple[str, str]] = {}
SCORERS: dict[str, tuple[str, str]] = {}
SUMMARIZERS: dict[str, tuple[str, str]] = {}
BENCHMARKS: dict[str, tuple[str, str]] = {}

RECOGNISERS: tuple[str, ...] = ()
"""`module:function` of rooms further right that may know what a task reference stands for."""
