"""How a command asks the server of a folder for an address: each proves to the other that it can read that folder.

The secret itself is never sent. A server that was killed leaves its port behind, where anybody's program may answer by
now: it would learn nothing, and what it says is not believed.
"""

import hmac
import re
import secrets
from collections.abc import Callable

_ASKED = re.compile(r"Sfumato ([\w-]{20,100}) ([0-9a-f]{64})")
_ANSWERED = re.compile(r"([\w-]{20,100}) ([0-9a-f]{64})")


def question(secret: str) -> tuple[str, str]:
    """Return a number that is used once, and the header that asks with it.

    >>> number, header = question("secret")
    >>> token_in("secret", number, answer("secret", header, lambda: "x" * 43) or "") == "x" * 43
    True
    """
    number = secrets.token_urlsafe(32)
    return number, f"Sfumato {number} {_proof(secret, 'question', number)}"


def answer(secret: str, header: str, make: Callable[[], str]) -> str | None:
    """Return a token, made now, with the proof that it is ours; None to who does not know the secret."""
    said = _ASKED.fullmatch(header)
    if said is None or not hmac.compare_digest(_proof(secret, "question", said[1]), said[2]):
        return None
    token = make()
    return f"{token} {_proof(secret, 'answer', said[1], token)}"


def token_in(secret: str, number: str, text: str) -> str | None:
    """Return the token of an answer; None if it is not by the server that holds the secret."""
    said = _ANSWERED.fullmatch(text)
    if said is None or not hmac.compare_digest(_proof(secret, "answer", number, said[1]), said[2]):
        return None
    return said[1]


def _proof(secret: str, *words: str) -> str:
    return hmac.new(secret.encode(), " ".join(words).encode(), "sha256").hexdigest()
