"""Vectors of words from their characters."""

from spacy.tokens import Doc
from thinc.api import Embed, Linear, Model, chain, expand_window, reduce_max, with_array
from thinc.types import Floats2d, Ragged

from ..layers.words import N_ROWS, with_distinct_words
from ..settings import whole


def CharCNN(
    width: int = 30, char_width: int = 30, window: int = 1, max_chars: int = 30
) -> Model[list[Doc], list[Floats2d]]:
    """Vectors of words from their characters: embedded, convolved, each filter's maximum over the word.

    Words that were never seen get a vector from their spelling. Case is kept. Each character below
    U+1000 has a vector, the others share 4093 by the remainder of their code point: no alphabet is
    learnt from the corpus. Needs no torch.

    width (int): Filters, the width of the output.
    char_width (int): Width of the characters' vectors.
    window (int): Characters on either side that a filter sees: 1 is a filter over three. Beyond the word
        stand zeros.
    max_chars (int): Characters of a word that are read: of a longer word the first and the last half of
        as many, since endings tell much. An odd one goes to the first half.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, width).
    SOURCE: Ma & Hovy 2016, arXiv:1603.01354, section 2.1; Chiu & Nichols 2016, arXiv:1511.08308.
    """
    width = whole("width", width, "30 is usual.", 1)
    char_width = whole("char_width", char_width, "30 is usual.", 1)
    window = whole("window", window, "1 is usual: filters over three characters.")
    max_chars = whole("max_chars", max_chars, "30 leaves most words whole.", 1)
    characters: Model = with_array(Embed(nO=char_width, nV=N_ROWS, dropout=0.0))
    filters: Model = with_array(Linear(nO=width, nI=char_width * (2 * window + 1)))
    words: Model[Ragged, Floats2d] = chain(characters, expand_window(window), filters, reduce_max())
    return with_distinct_words(words, width, max_chars)
