"""What all tests begin with."""

import gc

from hypothesis import HealthCheck, settings

from tests import shapes

# No test depends on the clock: how long an example takes, or to draw one, is not judged
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("without_clock", deadline=None, suppress_health_check=SLOW)
settings.load_profile("without_clock")
shapes.install()
gc.disable()  # what collecting imports lives as long as the process


def pytest_collection_finish() -> None:
    """The garbage collector looks at what tests make, not at a million imported objects."""
    gc.freeze()
    gc.enable()
