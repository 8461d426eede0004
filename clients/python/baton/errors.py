"""What can go wrong: a class for each kind of problem document."""
import re


class BatonError(Exception):
    """All errors of this package."""


class Cancelled(BatonError):
    """Another thread has ended the wait."""


class LockLost(BatonError):
    """The lock may be another's from now on. Stop the work that it protects.

    `code` is "not_held" or "max_held" if batond has said so. `ended` is how the hold ended, if that is known:
    its `reason`, and by whom it was `broken`.
    """

    def __init__(self, message: str, document: dict):
        self.code: str = document.get("code", "")
        self.ended: dict | None = document.get("ended")
        super().__init__(message, document)

    def __str__(self) -> str:
        return self.args[0]


class Problem(BatonError):
    """batond, or the proxy in front of it, has refused a request."""

    def __init__(self, status: int, document: dict):
        self.status, self.document = status, document
        self.code: str = document.get("code", "")
        self.detail: str = document.get("detail", "")
        super().__init__(status, document)  # pickle makes an error again from what it was made from

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.code else self.detail

    @property
    def retry_after(self) -> float:
        """Seconds after which it makes sense to ask again; 0 if unknown."""
        return self.document.get("retry_after_ms", 0) / 1000


class Locked(Problem):
    """Others hold the lock, or wait for it."""

    @property
    def holders(self) -> list[dict]:
        return self.document.get("holders", [])


class WaitTimeout(Locked):
    """The wait has ended before the lock was granted."""


class NotHeld(Problem):
    """The token has no live hold."""


class MaxHeld(Problem):
    """The hold has reached its max_held, and cannot get longer."""


class TokenInUse(Problem):
    """The token was used for another request."""


class UpgradeConflict(Problem):
    """Another owner of a shared hold waits to make it exclusive."""


class Superseded(Problem):
    """A later request with this token waits in place of this one."""


class Invalid(Problem):
    """The request itself is wrong; repeating it does not help."""


class Unauthorized(Problem):
    """The API key is missing or unknown."""


class Forbidden(Problem):
    """The API key does not have the right to do this."""


class TooMany(Problem):
    """Too many requests wait, or were sent in a second."""


class Damaged(Problem):
    """The record of the lock in Redis cannot be read."""


class Unavailable(Problem):
    """No batond can serve now, or the outcome is unknown. Repeating the request is safe."""


class Quarantined(Unavailable):
    """New locks are paused, because Redis may have lost some."""


class Unreachable(Unavailable):
    """No batond has answered."""


OF_CODE = {"locked": Locked, "wait_timeout": WaitTimeout, "not_held": NotHeld, "max_held": MaxHeld,
           "token_in_use": TokenInUse, "upgrade_conflict": UpgradeConflict, "superseded": Superseded,
           "damaged": Damaged, "quarantined": Quarantined}
OF_STATUS = {0: Unreachable, 401: Unauthorized, 403: Forbidden, 408: Unavailable, 409: Problem, 429: TooMany,
             500: Problem, 502: Unavailable, 503: Unavailable, 504: Unavailable}

# What a refused acquire says of its token, and what is so when its error is raised.
OF_TOKEN = r"(^|(?<=\. ))(Your place in the queue|[^.]*\bthis token\b).*"
GIVEN_UP = "The client has given up its place in the queue."


def problem(status: int, document: dict) -> Problem:
    """The error that a reply stands for; `status` is 0 if nobody has answered."""
    kind = OF_CODE.get(document.get("code", "")) or OF_STATUS.get(status) or Invalid
    if "token" in document:
        document = document | {"detail": re.sub(OF_TOKEN, GIVEN_UP, document.get("detail", ""), flags=re.DOTALL)}
        del document["token"]
    return kind(status, document)
