"""`longtail.ChatCompletions.v1`: spacy-llm's client for any server that speaks the chat protocol.

spacy-llm imports this module where it looks for models; it needs the extra `llm`.
"""

import os
import re
import time
from collections.abc import Callable
from typing import Iterable  # noqa: UP035  # spacy-llm compares signatures with these

import requests
from spacy_llm.models.rest.openai.model import OpenAI

from ..errors import Errors
from ..settings import finite, whole
from ..types import Block

WHO = "longtail.ChatCompletions.v1"
MASK = "***"
ENDPOINT = re.compile(r"https?://[\w.:\[\]-]+(/\S*)?")  # without a user or a password
SECRET = re.compile(r"(?i)[?&]([^=&]*(key|token|secret|passw|pwd|credential|auth)|sig|code)[^=&]*=")
BUSY = (429, 502, 503, 504)  # statuses after which another try may succeed
LOST = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)


def create_chat_completions(
    name: str,
    endpoint: str,
    key_variable: str | None = None,
    config: dict[str, str | int | float | bool | list | dict] = {},  # noqa: B006  # never changed
    max_tries: int = 3,
    interval: float = 1.0,
    max_request_time: float = 60.0,
    context_length: int | None = None,
) -> "ChatCompletions":
    """A model for spacy-llm's components behind a server of one's own, or behind a service.

    Nothing is sent before the first text: no server has to run where the pipeline is built.

    name (str): The model, as the server calls it.
    endpoint (str): URL such as http://localhost:8000/v1/chat/completions.
    key_variable (Optional[str]): Environment variable of the key, which no config has; or null.
    config (Dict[str, Any]): Further fields of a request, such as temperature.
    max_tries (int): Requests for a prompt in all, where the server is overloaded or silent.
    interval (float): Seconds before the second request; each time twice as many.
    max_request_time (float): Seconds to wait for an answer.
    context_length (Optional[int]): Tokens that the model can read, prompt included: spacy-llm cuts
        longer sentences; null cuts none.
    RETURNS (ChatCompletions): From prompts to answers.
    """
    if not ENDPOINT.fullmatch(endpoint) or SECRET.search(endpoint):  # which may hold the secret
        problem = "'endpoint' must be a URL of http or https, without a password or a key in it"
        raise ValueError(Errors.L292.format(who=WHO, problem=problem))
    if key_variable is not None and not os.environ.get(key_variable):
        problem = f"the environment variable {key_variable!r} of 'key_variable' is not set"
        raise ValueError(Errors.L292.format(who=WHO, problem=problem))
    rule, fix, least = "a finite number above 0", "See the docs.", 1e-3
    return ChatCompletions(
        key_variable,
        name=name,
        endpoint=endpoint,
        config=dict(config),
        strict=True,
        max_tries=whole("max_tries", max_tries, "1 tries once.", 1),
        interval=finite("interval", interval, rule, fix, least),
        max_request_time=finite("max_request_time", max_request_time, rule, fix, least),
        context_length=context_length,
    )


class ChatCompletions(OpenAI):
    """spacy-llm's client without calls of api.openai.com. It keeps no key: pickles have none."""

    def __init__(self, key_variable: str | None, **settings: object) -> None:
        self.key_variable = key_variable
        super().__init__(**settings)

    @property
    def credentials(self) -> dict[str, str]:
        return {}

    @property
    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""

    @property
    def _credentials(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    @_credentials.setter
    def _credentials(self, value: Block) -> None:
        """spacy-llm would keep them."""

    def _verify_auth(self) -> None:
        """Nothing is asked before there is a text."""

    def __call__(self, prompts: Iterable[Iterable[str]]) -> Iterable[Iterable[str]]:
        """Ask for answers to prompts, each by itself."""
        try:
            return super().__call__(prompts)
        except Exception as error:  # of requests, of JSON, of answers in another form
            problem = f"{type(error).__name__}: {error}".rstrip(".")
        if self._key:
            problem = problem.replace(self._key, MASK)
        raise ValueError(Errors.L292.format(who=WHO, problem=problem))  # without what caused it

    def retry(
        self, call_method: Callable[..., requests.Response], url: str, **kwargs: object
    ) -> requests.Response:
        """Send a request, and again with growing waits: `max_tries` in all.

        spacy-llm's own sends one more, and gives up at once where nobody listens.
        """
        for n in range(self._max_tries):
            if n:
                time.sleep(self._interval * 2 ** (n - 1))
            try:
                response = call_method(url, **kwargs)
            except LOST as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if response.status_code not in BUSY:
                return response
            problem = f"{response.status_code} {response.reason}"
        raise ConnectionError(f"no answer to {self._max_tries} requests, the last: {problem}")
