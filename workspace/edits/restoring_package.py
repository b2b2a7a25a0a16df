"""What restoring and undoing need: old versions, what became of them, and how they go back in."""
