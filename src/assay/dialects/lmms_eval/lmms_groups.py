"""Groups of lmms-eval, with the methods that the results of groups need."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import lmms_package

if TYPE_CHECKING:
    from lmms_eval.api.group import ConfigurableGroup


class LmmsGroup:
    """A loaded group. Its numbers are computed by lmms-eval's own `consolidate_group_results`."""

    def __init__(
        self,
        key: "ConfigurableGroup",
        members: Mapping[Any, Any],
    ) -> None:
        self._key = key
        self._members = members
        self.name: str = str(key.group_name)
        self.aggregate_metric_list = key._config.aggregate_metric_list or ()

    def aggregate(self, metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the numbers of the group from those of its tasks."""
        results: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, values in metrics.items():
            row = dict(values)
            row["samples"] = row.pop("sample_len")
            row.pop("sample_count")
            results[name] = row

        present = self._without_unasked(self._members, results)
        if present:
            utils = lmms_package.module("evaluator_utils")
            utils.consolidate_group_results(results, {}, {self._key: present})
        return results[self.name]

    def _without_unasked(
        self,
        members: Mapping[Any, Any],
        results: Mapping[str, Any],
    ) -> dict[Any, Any]:
        """Return the members that have numbers. With a limit, some tasks may have no documents."""
        present = {}
        for key, member in members.items():
            if isinstance(member, Mapping):
                inner = self._without_unasked(member, results)
                if inner:
                    present[key] = inner
            elif key in results:
                present[key] = member
        return present

    def get_all_groups(self) -> list["LmmsGroup"]:
        """Return all groups inside this one, at any depth."""
        groups = []
        for key, member in self._members.items():
            if isinstance(member, Mapping):
                group = LmmsGroup(key, member)
                groups += [group, *group.get_all_groups()]
        return groups

    def get_all_tasks(self) -> list[Any]:
        """Return all tasks of this group, at any depth."""
        return list(self._tasks(self._members))

    def _tasks(self, members: Mapping[Any, Any]) -> Iterator[Any]:
        for member in members.values():
            if isinstance(member, Mapping):
                yield from self._tasks(member)
            else:
                yield member
