"""The pytest plugin: tests that replay a recording of their own, offline. See docs/how-to/pytest.md.

pytest loads `plugin`, which imports nothing else of openprogram until a test with a recording starts.
"""
