"""What an earlier run left, and what of it still holds."""
