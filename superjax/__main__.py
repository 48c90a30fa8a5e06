"""`python -m superjax`: the same as the `superjax` script."""

from superjax.cli.app import entry

if __name__ == "__main__":
    entry()
