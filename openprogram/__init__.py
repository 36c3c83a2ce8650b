"""Record an LLM agent's provider calls once, replay them offline, learn the exact field where a later run diverges."""

__all__ = ["__version__"]

__version__ = "0.1.0"
