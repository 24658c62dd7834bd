"""The pytest plugin with the fixture `virtual_time`.

Load it in the top conftest.py: `pytest_plugins = ["turnfsm.testing.plugin"]`.
"""

from turnfsm.runtime.testing.plugin import (
    pytest_asyncio_loop_factories,
    pytest_pycollect_makeitem,
    virtual_time,
)

__all__ = ["pytest_asyncio_loop_factories", "pytest_pycollect_makeitem", "virtual_time"]
