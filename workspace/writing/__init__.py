"""Writes: the operations of a call planned on the tip, checked, and published as one commit.

idempotency.py        requests
plan.py               plans
read_before_write.py  proof of sight
write.py              one call's writing
"""
