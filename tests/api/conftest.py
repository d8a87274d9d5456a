from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test compiles for itself."""
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path))
