"""One thread per test process: parallel runs do not fight, and speeds can be compared."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
