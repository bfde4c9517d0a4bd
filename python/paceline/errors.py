"""What Paceline raises: one class for each error code of the C++ library."""

from __future__ import annotations

__all__ = [
    "Cancelled",
    "ContractError",
    "Corruption",
    "DeadlineExceeded",
    "Error",
    "InvalidArgument",
    "NotFound",
    "Refused",
    "StaleGeneration",
    "Unavailable",
]


class Error(Exception):
    """Something that Paceline could not do.

    Attributes
    ----------
    what : str
        The thing, and what is wrong with it.
    fix : str
        The way out; may be empty.
    where : str
        The file and line, or the option; may be empty.
    """

    def __init__(self, what: str, fix: str = "", where: str = "") -> None:
        super().__init__(what, fix, where)
        self.what = what
        self.fix = fix
        self.where = where

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if not self.fix:
            return text
        return f"{text.rstrip()}\n{self.fix}" if "\n" in text else f"{text}; {self.fix}"


class InvalidArgument(Error, ValueError):
    """Mend the call or the file."""


class NotFound(Error, LookupError):
    """The thing named is not there."""


class Unavailable(Error, ConnectionError):
    """Try again: a peer is gone, or the run cannot go on."""


class DeadlineExceeded(Error, TimeoutError):
    """It took too long; try again or raise the deadline."""


class StaleGeneration(Error):
    """Join again."""


class Corruption(Error, ValueError):
    """A file or message is not what it says it is."""


class Refused(Error, PermissionError):
    """The machine said no: port, folder, memory, permission."""


class Cancelled(Error):
    """Somebody asked for it."""


class ContractError(Error, AssertionError):
    """A policy breaks what every policy promises; `what` shows a conversation that does."""
