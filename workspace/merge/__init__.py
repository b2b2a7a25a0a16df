"""Three versions made one: what both sides did to a base, unit by unit; the rest is conflicts."""
