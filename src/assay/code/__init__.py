"""What code depends on: users' files, the files and data they use, and digests of code, state and samples."""
