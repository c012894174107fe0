"""What of a toolkit's own checkout runs here: one module for each toolkit, read by `tools/guest_world.py`.

Each module has `is_checkout(folder)` and `survey(folder)`, which yields an `Outcome` for every extension file.
"""
