"""A document on its page: rendered, its history, its blame, a commit, and a section that is edited."""
