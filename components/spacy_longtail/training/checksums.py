"""Checksums of files and of settings."""

import hashlib
import json
from pathlib import Path

from ..encoders import located

CHUNK = 1 << 20
DIGITS = 16


def digest(value: object) -> str:
    """A short checksum of JSON data."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf8", "replace")).hexdigest()[:DIGITS]


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of the .spacy files of a folder one after the other, as hexadecimal."""
    digest = hashlib.sha256()
    for part in sorted(path.rglob("*.spacy")) if path.is_dir() else [path]:
        with part.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def file_content(path: str) -> str:
    """A checksum of a file, or of a folder's files; "" if there is neither, as for a hub's name."""
    root = located(path)
    try:
        files = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]
        if not all(file.is_file() for file in files):
            return ""
    except OSError:  # a text that is too long for a name
        return ""
    return digest([(file.relative_to(root).as_posix(), checksum(file)) for file in files])
