"""Boundary crossings as chains of async stages: the log format, redaction, comparison, recording and replay.

Imports nothing else of `openprogram`, so that whatever stands below a replay cannot name a vendor.
Source: docs/map.md.
"""
