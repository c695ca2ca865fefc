"""Passwords in database URLs: taken out of every text that is shown or kept."""

import re
from urllib.parse import unquote

MASK = "***"
URL = re.compile(r"(\w://[^:/@\s]*):(\S*)@")  # user, password; one with an @ of its own too
SETTING = re.compile(r"(?i)\b(password|passwd|pwd)(\s*=\s*)[^\s&;'\"]+")


def masked(text: str, url: str = "") -> str:
    """A text without passwords.

    text (str): Such as an error of a database driver.
    url (str): A database URL, whose password is taken out wherever it stands.
    """
    found = URL.search(url)
    password = found[2] if found else ""
    for secret in {password, unquote(password)} - {""}:
        text = text.replace(secret, MASK)
    return SETTING.sub(rf"\1\2{MASK}", URL.sub(rf"\1:{MASK}@", text))
