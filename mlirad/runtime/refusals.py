"""Values that native code cannot take: what they are, and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.errors import ArgumentTypeError, MliradError, UnsupportedError


class Refused(Exception):
    """A value that cannot be passed: the error class, what it is, and the way out."""

    def __init__(self, kind: type[MliradError], what: str, way_out: str):
        super().__init__(what)
        self.kind, self.what, self.way_out = kind, what, way_out

    def error(self, function: str, argument: str) -> MliradError:
        """The error to raise, with the names that only the caller knows."""
        return self.kind(f"{function}: argument {argument!r} is {self.what}\n  {self.way_out}")


_KINDS = {
    "O": "Python objects have no meaning in compiled code",
    "S": "strings have no meaning in compiled code",
    "U": "strings have no meaning in compiled code",
    "M": "dates are not numbers here: pass x.astype('int64')",
    "m": "times are not numbers here: pass x.astype('int64')",
    "V": "bytes without fields have no meaning in compiled code",
}


def dtype_refusal(dtype: np.dtype[Any], whole: np.dtype[Any], path: str) -> Refused:
    what = f"an array of dtype {whole}"
    if path:
        what += f", whose field '{path[:-1]}' is {dtype}"
    if not dtype.isnative:
        native = "another dtype" if path else repr(str(dtype.newbyteorder("=")))
        way_out = f"pass x.astype({native})" if not path else "convert it: x.astype(native_dtype)"
        return Refused(ArgumentTypeError, f"{what} (not this machine's byte order)", way_out)
    if dtype.kind in "fc":
        names = "float32 or float64" if dtype.kind == "f" else "complex64 or complex128"
        noun = "floating-point" if dtype.kind == "f" else "complex"
        return Refused(ArgumentTypeError, what, f"{noun} arrays are {names}: pass x.astype(…)")
    way_out = "arrays hold int8…int64, uint8…uint64, bool, floats, complex numbers or records"
    way_out = _KINDS.get(dtype.kind, way_out)
    if path:
        way_out += "; leave the field out: x[['field', …]] is a view of the others"
    return Refused(ArgumentTypeError, what, way_out)


def value_refusal(value: object) -> Refused:
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiou" else "a"
    if hasattr(value, "__cuda_array_interface__"):
        return Refused(
            UnsupportedError,
            f"{article} {kind} on a GPU",
            "there is no GPU back end yet: pass a numpy array",
        )
    if value is None:
        return Refused(
            ArgumentTypeError, "None", "leave the parameter out, or pass an array or a number"
        )
    if isinstance(value, np.void):
        return Refused(
            UnsupportedError,
            "a record (one element of a structured array)",
            "pass the array and an index, or a view of one element: x[i:i+1]",
        )
    if isinstance(value, np.generic):
        return Refused(
            ArgumentTypeError,
            f"{article} {kind}",
            "numbers are bool, int, float, complex or numpy's int8…uint64, bool_, float32, "
            "float64, complex64, complex128",
        )
    if isinstance(value, list):
        return Refused(ArgumentTypeError, "a list", "pass np.array(…) of it, or a tuple")
    if isinstance(value, (str, bytes)):
        return Refused(
            ArgumentTypeError,
            f"a {kind}",
            "strings have no meaning in compiled code: make it a global, or pass a number",
        )
    return Refused(
        ArgumentTypeError, f"{article} {kind}", "pass numpy arrays, numbers, or tuples of them"
    )
