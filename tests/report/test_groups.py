"""Breakdowns: aligned tables, a row for each group, every number with its interval."""

from assay.core import Result
from assay.report import group_lines, group_tables


def result(model="a.py", metric="m", groups=("3", "4"), **more):
    found = {
        name: Result("t", model, metric, 0.5, 2, n_expected=None, ci=(0.1, 0.9))
        for name in groups
    }
    return Result(
        "t", model, metric, 0.5, 4, n_expected=4, groups={"words": found}, **more
    )


def test_groups_are_rows_and_metrics_columns():
    assert group_lines([result(), result(metric="other", higher_is_better=False)]) == [
        "  words  n  m                     other ↓",
        "  3      2  0.500 [0.100, 0.900]  0.500 [0.100, 0.900]",
        "  4      2  0.500 [0.100, 0.900]  0.500 [0.100, 0.900]",
    ]


def test_tables_say_whose_they_are_where_there_are_several_models():
    assert [table.title for table in group_tables([result()])] == [""]
    assert [table.title for table in group_tables([result(), result("b.py")])] == [
        "a.py",
        "b.py",
    ]


def test_a_tag_that_all_samples_share_is_left_out():
    assert group_lines([result(groups=("only",))]) == []


def test_the_table_says_where_numbers_that_do_not_fit_are():
    [table] = group_tables([result(metric=f"m{n}") for n in range(6)])

    assert (
        len(table.headings) == 6 and table.title == " (2 more numbers in summary.json)"
    )


def test_groups_of_a_summary_read_from_disk_are_the_same():
    plain = Result(
        **{
            **{f: getattr(result(), f) for f in Result.__dataclass_fields__},
            "groups": result().to_plain()["groups"],
        }
    )

    assert group_lines([plain]) == group_lines([result()])
