"""Locks of Baton: renewed by themselves, and given up before they end.

>>> import baton
>>> client = baton.Client("http://127.0.0.1:7420")
>>> with client.lock("deploy", wait=60) as lock:
...     print(lock.fence)
"""
from .aio import AsyncClient, AsyncLock
from .blocking import Client, Lock
from .core import current
from .errors import (BatonError, Cancelled, Damaged, Forbidden, Invalid, Locked, LockLost, MaxHeld, NotHeld, Problem,
                     Quarantined, Superseded, TokenInUse, TooMany, Unauthorized, Unavailable, Unreachable, UpgradeConflict,
                     WaitTimeout)

__version__ = "0.3.0"
__all__ = ["AsyncClient", "AsyncLock", "BatonError", "Cancelled", "Client", "Damaged", "Forbidden", "Invalid", "Lock",
           "LockLost", "Locked", "MaxHeld", "NotHeld", "Problem", "Quarantined", "Superseded", "TokenInUse", "TooMany",
           "Unauthorized", "Unavailable", "Unreachable", "UpgradeConflict", "WaitTimeout", "current"]
