"""The private names of livekit-agents that turnfsm needs, and whether a version has them.

It imports livekit-agents only to inspect it, and nothing of `turnfsm.runtime.livekit`, so that it
can also inspect a version with which that cannot be imported.
"""

from .contract import SUPPORTED, Lost, UnsupportedLiveKit, check, installed, lost
from .names import FEATURES, ORDERS, PRIVATE_NAMES, Feature, Order, PrivateName

__all__ = [
    "FEATURES",
    "ORDERS",
    "PRIVATE_NAMES",
    "SUPPORTED",
    "Feature",
    "Lost",
    "Order",
    "PrivateName",
    "UnsupportedLiveKit",
    "check",
    "installed",
    "lost",
]
