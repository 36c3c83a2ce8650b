"""Opt-in ways to match requests: calls chosen by content, and values that differ in every run as symbols.

Source: docs/decisions/0009-matching-policies.md.
"""
