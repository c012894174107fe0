"""Rows, drivers and judges of a cell, on their way through ask/ to scores; and the session that orders cells."""
