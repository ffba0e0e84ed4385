"""These tests count the processes of this one, so none of an earlier test may be among them."""

import pytest

from cotrain.assembly.services import SERVICES


@pytest.fixture(autouse=True, scope="session")
def no_services_of_earlier_tests() -> None:
    """Ends the services that earlier tests opened."""
    SERVICES.close()
