"""Recordings as files: naming, listing, describing, switching the mode, removing.

Works on files and configuration only: nothing here initialises the runtime or can reach a vendor.
"""
