"""Which sections are best? Exact scores of live sections, without looking at most of the lists."""
