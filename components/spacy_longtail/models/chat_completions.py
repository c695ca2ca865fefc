"""`longtail.ChatCompletions.v1`: spacy-llm's model for any server that speaks the chat protocol.

spacy-llm imports this module where it looks for models; it needs the extra `llm`.
"""

import os
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from ..errors import Errors
from ..settings import finite, whole
from ..web_client import WHO, ChatClient

# without a user or a password
ENDPOINT = re.compile(r"(?a:https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d+)?)(/\S*)?")
VERSION = re.compile(r"(?i)(api-?)?version=v?\d[\w.-]{0,24}")  # what some services need in a query
# prompt_cache_key is a field of the chat protocol that holds no key
SECRET = re.compile(
    r"(?i)(^|[^a-z])(?<!cache_)key$|api.?key|access.?token|secret|passw|credential|authorization"
)


def create_chat_completions(
    name: str,
    endpoint: str,
    key_variable: str | None = None,
    config: dict[str, str | int | float | bool | list | dict] = {},  # noqa: B006  # never changed
    max_tries: int = 3,
    interval: float = 1.0,
    max_request_time: float = 60.0,
    context_length: int | None = None,
) -> ChatClient:
    """Create a model for spacy-llm's components, behind a server of one's own or behind a service.

    Nothing is sent before the first text: no server has to run where the pipeline is built. Prompts
    are sent to the endpoint alone: a redirect is an error.

    name (str): The model, as the server calls it.
    endpoint (str): URL such as http://localhost:8000/v1/chat/completions. It is saved in the config
        and must hold no key; of a query only ?api-version= is accepted.
    key_variable (Optional[str]): Environment variable of the key, which no config has; or null.
    config (Dict[str, Any]): Further fields of a request, such as temperature.
    max_tries (int): Requests for a prompt in all, where the server is overloaded or silent.
    interval (float): Seconds before the second request; each time twice as many.
    max_request_time (float): Seconds until the whole answer has arrived.
    context_length (Optional[int]): Tokens that the model can read, prompt included: spacy-llm cuts
        longer sentences; null cuts none.
    RETURNS (ChatClient): From prompts to answers.
    RAISES (ValueError): If a setting is out of range, or the config would hold a key.
    """
    if problem := _problem_of(endpoint) or next(_secrets_in(config), ""):
        raise ValueError(Errors.L292.format(who=WHO, problem=problem))
    if key_variable is not None and not os.environ.get(key_variable):
        problem = f"the environment variable {key_variable!r} of 'key_variable' is not set"
        raise ValueError(Errors.L292.format(who=WHO, problem=problem))
    rule, minimum = "a number of seconds above 0", 1e-3
    return ChatClient(
        name=name,
        endpoint=endpoint,
        config=dict(config),
        key_variable=key_variable,
        max_tries=whole("max_tries", max_tries, "1 tries once.", 1),
        interval=finite("interval", interval, rule, "1 is usual.", minimum),
        max_request_time=finite("max_request_time", max_request_time, rule, "60 is usual.", minimum),
        context_length=context_length,
    )


def _problem_of(endpoint: str) -> str:
    """Say why an endpoint cannot be used, without showing it: it may hold a key. "" if it can."""
    if not ENDPOINT.fullmatch(endpoint):
        return "'endpoint' must be a URL of http or https, without a user or a password in it"
    while (decoded := unquote(endpoint)) != endpoint:
        endpoint = decoded
    path, query = urlsplit(endpoint)[2:4]
    is_version = all(map(VERSION.fullmatch, query.split("&"))) if "?" in endpoint else True
    kinds = {
        "a fragment (#...)": "#" in endpoint,
        "parameters in its path (;name=value)": ";" in path or "=" in path,
        "a query (?name=value) other than ?api-version=": not is_version,
    }
    kind = next((kind for kind, is_there in kinds.items() if is_there), "")
    return f"'endpoint' must not have {kind}, where a key would be saved with the config" if kind else ""


def _secrets_in(config: object, name: str = "config") -> Iterator[str]:
    """Yield a problem for each field of a request that is called as a key is."""
    if isinstance(config, dict):
        for key, value in config.items():
            if SECRET.search(key):
                yield f"'{name}.{key}' would save a key with the config"
            yield from _secrets_in(value, f"{name}.{key}")
    elif isinstance(config, list):
        for value in config:
            yield from _secrets_in(value, name)
