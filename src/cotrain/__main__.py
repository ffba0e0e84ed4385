"""`python -m cotrain`: the command line."""

from cotrain.cli import main

if __name__ == "__main__":
    main()
