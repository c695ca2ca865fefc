"""Keys of services, which are kept in environment variables: taken out of every text that is shown."""

import os
import re

MASK = "***"
NAME = re.compile(r"(?i)key|token|secret|passw|credential|auth")  # of a variable with a secret
LEAST = 6  # characters: less may be a word
# what services call a key where they repeat it
SHOWN = re.compile(r"(?i)\b(bearer|basic)(\s+)[\w.~+/=-]{6,}|\b(sk|pk)(-)[\w-]{8,}")


def without_secrets(text: str) -> str:
    """A text without what the environment keeps secret, and without what looks like a key.

    text (str): Such as an error of a service that repeats what it was sent.
    """
    own = {v for name, v in os.environ.items() if NAME.search(name) and len(v) >= LEAST}
    for secret in sorted(own, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return SHOWN.sub(lambda found: "".join(filter(None, found.groups())) + MASK, text)
