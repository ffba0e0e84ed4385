"""No test asks a hub, and none sees what another one started."""

import os
from collections.abc import Iterator

import pytest

from cotrain.assembly.services import SERVICES

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(autouse=True, scope="module")
def services_end_with_their_module() -> Iterator[None]:
    """Ends sandboxes and graders that a module's tests opened: others count processes."""
    yield
    SERVICES.close()
