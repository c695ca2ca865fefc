"""`distil-senses`: what a word is, learnt from WordNet by a small net."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..training.senses import distil_senses
from .app import KNOWLEDGE_PANEL, LARGEST_SEED, Json, app, print_json


@app.command("distil-senses", rich_help_panel=KNOWLEDGE_PANEL)
def distil_senses_command(
    source: Annotated[
        str,
        typer.Argument(
            help="'wordnet' for nltk's, or a folder with an English WordNet's index.noun and data.noun."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the weights, *.npz.")],
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Of the training.")] = 0,
    as_json: Json = False,
) -> None:
    """Let a small net learn the senses of English nouns, for 'senses' of longtail.RichEmbed.v1.

    It learns the nouns that the Brown clusters know (extra `lookups`), and to say nothing of 100,000
    other words.
    """
    learnt = distil_senses(source, output, seed)
    if as_json:
        return print_json({"senses": str(output), **learnt._asdict()})
    msg.good(f"Wrote {output}: {output.stat().st_size / 1e6:.1f} MB")
    msg.info(
        f"Right of {learnt.n_nouns:,} nouns {learnt.right:.1%}, nothing said of {learnt.n_others:,} "
        f"other words {learnt.others:.1%}, of words that it never saw {learnt.held_out:.1%}"
    )
    return None
