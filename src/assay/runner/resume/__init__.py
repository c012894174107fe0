"""What an earlier run left in the folder, and which of it is still valid."""
