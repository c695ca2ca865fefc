"""What a model, or the server that it runs on, can fail with. Everything else is a bug."""

from json import JSONDecodeError

from pydantic import ValidationError

from ...faults import is_coded, is_out_of_memory, raised_in


class UnusableError(ValueError):
    """A secondary gave what cannot be merged."""


def is_failure(error: Exception) -> bool:
    """Whether nobody answered, the memory is full, or the output cannot be used.

    error (Exception): What a component raised while it read.
    """
    return (
        isinstance(error, (OSError, JSONDecodeError, ValidationError, UnusableError))  # timeouts, too
        or is_coded(error)
        or is_out_of_memory(error)
        or raised_in(error).startswith("spacy_llm.")  # it refuses answers with builtin errors
    )
