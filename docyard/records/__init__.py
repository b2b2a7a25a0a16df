"""The records of searches and calls, and the reports of readers."""
