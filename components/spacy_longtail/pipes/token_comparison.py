"""Whether two pipelines make the same tokens of a text, where one is given the tokens of the other."""

from collections.abc import Callable
from itertools import zip_longest

from spacy.tokens import Doc
from spacy.util import logger

from ..errors import Warnings
from .locks import Lock

N_COMPARED = 100  # sentences
MOST_COMPARED = 500  # characters of each: what came in words can be too much for a tokenizer
Tokenizer = Callable[[str], Doc]


class TokenComparison:
    """Says once where the tokenizer of a source differs from that of the pipeline around it."""

    def __init__(self, around: Tokenizer, who: str) -> None:
        self.around, self.who = around, who
        self._has_warned = False
        self._n_left = N_COMPARED
        self._lock = Lock()

    def compare(self, sentences: list[Doc], source: Tokenizer) -> None:
        """Compare them on the first sentences of all calls; what differs is logged, LW118.

        The sentences' own tokens are not looked at: a corpus in words has others, and the source may
        have learnt from such a one.
        """
        with self._lock:
            compared = sentences[: self._n_left]
            self._n_left -= len(compared)
        for sentence in compared:
            text = sentence.text[:MOST_COMPARED]
            given, own = ([t.text for t in make(text)] for make in (self.around, source))
            if given != own:
                at = next(i for i, pair in enumerate(zip_longest(given, own)) if len(set(pair)) > 1)
                shown = {"given": _excerpt(given, at), "own": _excerpt(own, at)}
                self._warn(Warnings.W118.format(who=self.who, **shown))
                return

    def _warn(self, text: str) -> None:
        """Once, whichever thread comes first."""
        with self._lock:
            has_warned, self._has_warned, self._n_left = self._has_warned, True, 0
        if not has_warned:
            logger.warning(text)


def _excerpt(tokens: list[str], at: int) -> str:
    """Some tokens from a place on."""
    return " / ".join(tokens[at : at + 5])
