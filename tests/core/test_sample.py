"""Samples: what a copy under another name keeps."""

from dataclasses import fields

from assay.core import Sample


def test_a_sample_under_another_name_keeps_everything_else():
    given = {f.name: (f.name,) for f in fields(Sample)}

    named = Sample(**given).named("other")

    assert named.id == "other"
    assert all(
        getattr(named, name) == value for name, value in given.items() if name != "id"
    )
