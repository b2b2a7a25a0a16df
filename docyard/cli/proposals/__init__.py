"""Proposals at a terminal: who speaks, what is said, and what a person sees of it."""
