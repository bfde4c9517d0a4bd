"""Paceline: sync policies for distributed training, and the laboratory that compares them.

`paceline.sync`
    The policies, and the base class for one of your own.
`paceline.sim`
    Clusters as data, and policies compared on them in virtual time.
"""

from paceline import sim, sync
from paceline.errors import (
    Cancelled,
    ContractError,
    Corruption,
    DeadlineExceeded,
    Error,
    InvalidArgument,
    NotFound,
    Refused,
    StaleGeneration,
    Unavailable,
)

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
    "sim",
    "sync",
]
