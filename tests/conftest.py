"""What all tests share: machine code of an earlier run, or of another test run, is never used."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLIRAD_CACHE_DIR", str(tmp_path_factory.mktemp("machine-code")))
        yield
