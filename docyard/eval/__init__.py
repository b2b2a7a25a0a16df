"""How well the search finds what people asked for: cases in, measures, reports and plots out."""
