"""Where programs run."""

from __future__ import annotations

from mlirad.errors import LaunchTypeError, UnsupportedError


def check_device(device: str) -> None:
    """Raises unless `device` exists and has a back end."""
    if device == "cuda":
        raise UnsupportedError("there is no GPU back end yet\n  use the device 'cpu'")
    if device != "cpu":
        raise LaunchTypeError(f"there is no device {device!r}\n  the devices are 'cpu' and 'cuda'")


def set_default_device(device: str) -> None:
    """Decides where programs on numpy arrays run: `"cpu"`, the only device yet."""
    check_device(device)
