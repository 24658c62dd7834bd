"""What turnfsm needs of livekit-agents, and whether a version of it has that.

It imports livekit-agents only to look at it, and nothing of `turnfsm.runtime.livekit`: so it can
also look at a version with which that cannot be imported.
"""

from .contract import SUPPORTED, Lost, UnsupportedLiveKit, check, installed, lost
from .features import FEATURES, Feature
from .names import ORDERS, PRIVATE_NAMES, Order, PrivateName

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
