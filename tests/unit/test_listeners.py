"""Pipelines that are remembered, so that a component's listener can be checked."""

import threading
from weakref import WeakSet

from spacy_longtail.layers import listeners
from spacy_longtail.layers.listeners import pipelines, remember


class Pipeline:
    """Stands for a Language, of which a blank one takes long to make."""


def test_pipelines_are_listed_while_another_thread_loads_one(monkeypatch):
    first, second = Pipeline(), Pipeline()
    loading = threading.Thread(target=remember, args=(second,))

    class Interrupted(WeakSet):
        """Lets the other thread run for a while in the middle of an iteration."""

        def __iter__(self):
            for item in super().__iter__():
                loading.start()
                loading.join(timeout=0.2)
                yield item

    monkeypatch.setattr(listeners, "_PIPELINES", Interrupted([first]))

    found = pipelines()
    loading.join()

    assert found == [first]
    assert second in listeners._PIPELINES


def test_a_pipeline_that_is_not_in_use_any_more_is_forgotten(monkeypatch):
    monkeypatch.setattr(listeners, "_PIPELINES", WeakSet())
    nlp = Pipeline()
    remember(nlp)
    n_before = len(pipelines())

    del nlp

    assert n_before == 1
    assert pipelines() == []
