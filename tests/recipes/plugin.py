"""Components for the recipes' tests: they kill their process, score entities, wait or fail."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, SpanGroup

FACTORIES = {"test_dies": "make_dies", "test_scores": "make_scores"}


@Language.factory("test_dies", default_config={"record": "", "word": "", "times": 1})
def make_dies(nlp: Language, name: str, record: str, word: str, times: int):
    """Dies at a document with the word until the record, a file, has that many deaths."""

    def component(doc: Doc) -> Doc:
        file = Path(record)
        if word in doc.text and len(file.read_text()) < times:
            with file.open("a") as out:
                out.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return doc

    return component


@Language.factory("test_scores")
def make_scores(nlp: Language, name: str):
    """Scores that can be told apart for all entities but GEO, as of a ruler in front."""

    def component(doc: Doc) -> Doc:
        scored = [ent for ent in doc.ents if ent.label_ != "GEO"]
        group = SpanGroup(doc, name="entity_scores", spans=scored)
        group.attrs["scores"] = [1 / (1 + ent.start + len(doc)) for ent in scored]
        doc.spans["entity_scores"] = group
        return doc

    return component


@Language.factory("test_waits", default_config={"folder": ""})
def make_waits(nlp: Language, name: str, folder: str):
    """Create the file `started` at a document that says "wait", and wait for the file `go`."""

    def component(doc: Doc) -> Doc:
        if "wait" in doc.text:
            (Path(folder) / "started").touch()
            wait_for((Path(folder) / "go").exists)
        return doc

    return component


@Language.component("test_fails")
def fail(doc: Doc) -> Doc:
    """Fail at a document that says "fail", with its text in the message."""
    if "fail" in doc.text:
        raise ValueError(doc.text)
    return doc


def wait_for(condition: Callable[[], bool]) -> None:
    """Return as soon as the condition holds, or raise a TimeoutError after a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)
