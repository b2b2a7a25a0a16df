"""`docyard validate` behind its options: what is looked at, in several processes, and since when."""
