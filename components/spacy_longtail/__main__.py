import sys

from .errors import Errors


def main() -> None:
    """Entry point of `python -m spacy_longtail`: what there is before the boundary of the commands."""
    try:
        from .cli import main as run
    except ImportError as error:
        sys.stderr.write(f"{Errors.L542.format(problem=f'{error}.')}\n")
        sys.exit(2)
    except KeyboardInterrupt:  # while modules are imported, which takes seconds
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
