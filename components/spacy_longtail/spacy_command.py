"""`spacy longtail ...`: the commands as one of spaCy's own, which imports this at each start."""

import typer
from spacy.cli import app


@app.command(
    "longtail",
    add_help_option=False,  # --help is the commands' own
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def longtail(context: typer.Context) -> None:
    """NER for rare types: convert, train, evaluate, report. See `spacy longtail --help`."""
    from .cli import main  # spaCy's other commands do not wait for it

    main(context.args, prog_name="spacy longtail")
