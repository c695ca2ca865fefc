"""Tokens for languages that write without spaces, where no tokenizer is installed or wanted."""

import re
from collections.abc import Callable
from typing import Literal

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import DummyTokenizer, get_lang_class
from spacy.vocab import Vocab

from ..errors import Errors

Tokens = Literal["words", "characters"]
CHARACTERS = {"@tokenizers": "longtail.CharacterTokenizer.v1"}
# as spaCy: one blank after a token belongs to it, all other white space is a token
UNITS = re.compile(r"(\S)( ?)|\s+")


class CharacterTokenizer(DummyTokenizer):
    """Tokenizer that makes every character a token.

    vocab (Vocab): Vocabulary of the documents.
    """

    def __init__(self, vocab: Vocab) -> None:
        self.vocab = vocab

    def __call__(self, text: str) -> Doc:
        units = [(match[1] or match[0], bool(match[2])) for match in UNITS.finditer(text)]
        return Doc(self.vocab, words=[word for word, _ in units], spaces=[space for _, space in units])


def create_character_tokenizer() -> Callable[[Language], CharacterTokenizer]:
    """Create a tokenizer that makes every character a token, for languages without spaces.

    A single blank belongs to the character before it, other white space is a token, as in spaCy.
    A character is a Unicode code point, so that a letter and a combining mark are two tokens.

    RETURNS (Callable): Function from a pipeline to its tokenizer.
    EXAMPLE:
        >>> from spacy_longtail.corpus.tokenizers import create_character_tokenizer
        >>> nlp.tokenizer = create_character_tokenizer()(nlp)
        >>> [token.text for token in nlp("飓风 Ida")]
        ['飓', '风', 'I', 'd', 'a']
    """
    return lambda nlp: CharacterTokenizer(nlp.vocab)


def tokenizer_config(lang: str, tokens: str) -> dict[str, dict[str, str]]:
    """Return the settings of a config's [nlp] block, besides `lang`, for the tokens of a corpus.

    lang (str): spaCy language code.
    tokens (str): "words" of the language's tokenizer, or "characters".
    RETURNS (Dict[str, Dict[str, str]]): The setting `tokenizer`, or nothing for spaCy's own rules.
    RAISES (ValueError): If spaCy has no such language (L428).
    """
    try:
        usual = get_lang_class(lang).default_config["nlp"]["tokenizer"]
    except ImportError as error:
        raise ValueError(Errors.L428.format(lang=lang, problem="spaCy has no such language")) from error
    chosen = CHARACTERS if tokens == "characters" else usual
    return {} if chosen["@tokenizers"] == "spacy.Tokenizer.v1" else {"tokenizer": dict(chosen)}


def blank(lang: str, tokens: str) -> Language:
    """Return a pipeline with only a tokenizer.

    lang (str): spaCy language code.
    tokens (str): "words" of the language's tokenizer, or "characters".
    RAISES (ValueError): If there is no such tokenizer (L428).
    """
    config = {"nlp": tokenizer_config(lang, tokens)}
    try:
        return spacy.blank(lang, config=config)
    except Exception as error:  # each language raises its own errors for missing packages
        raise ValueError(Errors.L428.format(lang=lang, problem=error)) from error
