"""`python -m openprogram`: the same as the command `openprogram`."""

from openprogram.cli.app import main

if __name__ == "__main__":
    main()
