"""What all tests begin with."""

from tests import shapes

shapes.install()
