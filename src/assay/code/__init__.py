"""What code depends on: users' files, the files and data behind them, and digests of code, state and samples."""
