"""How a section moves: where it goes, at which level and address, and what of its text changes for that."""
