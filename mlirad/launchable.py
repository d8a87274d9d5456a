"""
Programs as a recording wants them: leaf by leaf, with the reverse sweep apart from the primal.

`Recordable` is the `Launchable` of `mlirad.runtime.recording`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlirad.callables import Compiled
from mlirad.frontend import types as t
from mlirad.program import Lowered, Program
from mlirad.runtime.aliasing import alias_partition
from mlirad.runtime.annotations import Const, Dual
from mlirad.runtime.arguments import (
    AnyArray,
    Packer,
    Unpacker,
    count_words,
    flat_types,
    is_array,
    key_of,
    leaf_names,
    type_of,
)
from mlirad.runtime.cache_key import canonical
from mlirad.runtime.recording import Mode
from mlirad.runtime.specialize import Entry, Request, launch_axes
from mlirad.runtime.workers import several

Skeleton = t.Type | None
"""
The structure of an argument: None for a real number or an array of them, else its type. Of what
is inside a tuple or a compound array only the structure counts.
"""


def skeleton(value: object) -> Skeleton:
    """The structure of one argument."""
    if is_array(value) and value.dtype.kind not in "cV":
        return None
    type_ = type_of(value)
    return None if isinstance(type_, t.Scalar) else type_


def rebuild(like: t.Type, flat: Iterator[t.Type]) -> t.Type:
    """A type of the structure of `like` made of the types of leaves."""
    match like:
        case t.Tuple(elements):
            return replace(like, elements=tuple(rebuild(element, flat) for element in elements))
        case t.NoneType() | t.Function():
            return like
        case t.Array(element) if not isinstance(element, t.Scalar):
            leaves = [next(flat) for _ in t.leaves(like)]
            arrays = [leaf for leaf in leaves if isinstance(leaf, t.Array)]
            return replace(
                like,
                aligned=all(leaf.aligned for leaf in arrays),
                writable=all(leaf.writable for leaf in arrays),
            )
        case t.Complex():
            for _ in t.leaves(like):
                next(flat)
            return like
        case _:
            return next(flat)


@dataclass(eq=False)
class FlatProgram(Program):
    """`base` with one parameter per leaf, for arguments of the given structure."""

    base: Program
    skeletons: tuple[Skeleton, ...]
    name: str = field(init=False)
    is_kernel: bool = field(init=False)
    parameters: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.name, self.is_kernel = self.base.name, self.base.is_kernel
        names = (*self.base.parameters, *self.base.optional)
        self.parameters = tuple(
            leaf
            for name, like in zip(names, self.skeletons, strict=False)
            for leaf in leaf_names(name, like or t.BOOL)
        )

    def _types(self, types: Sequence[t.Type]) -> list[t.Type]:
        rest = iter(types)
        return [rebuild(like or t.BOOL, rest) for like in self.skeletons]

    def agree(self, types: Sequence[t.Type]) -> tuple[t.Type, ...]:
        return tuple(flat_types(self.base.agree(self._types(types))))

    def lower(self, types: Sequence[t.Type], alias: Sequence[int]) -> Lowered:
        lowered = self.base.lower(self._types(types), alias)
        flat = tuple(flat_types(lowered.types))
        return Lowered(lowered.module, lowered.symbol, lowered.result, flat)

    def verify(self, args: Sequence[Any]) -> None:
        """Whoever flattened the arguments has verified them, when they had their structure."""

    @property
    def sizes(self) -> int:
        return self.base.sizes

    def fingerprint(self) -> bytes:
        return canonical(self.skeletons) + self.base.fingerprint()


@dataclass(eq=False)
class SplitProgram(Program):
    """The two halves of the reverse mode of `base`, for given active leaves."""

    base: Program
    active: tuple[bool, ...]
    name: str = field(init=False)
    is_kernel: bool = field(init=False)
    parameters: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.base.name
        self.is_kernel, self.parameters = self.base.is_kernel, self.base.parameters

    @property
    def augmented(self) -> str:
        return f"{self.name}.augmented"  # no Python function is called so

    @property
    def reverse(self) -> str:
        return f"{self.name}.reverse"

    def agree(self, types: Sequence[t.Type]) -> tuple[t.Type, ...]:
        return self.base.agree(types)

    def lower(self, types: Sequence[t.Type], alias: Sequence[int]) -> Lowered:
        from mlirad.requests import split

        lowered = self.base.lower(types, alias)
        split(lowered, self.sizes, self.active, self.augmented, self.reverse)
        return lowered

    def verify(self, args: Sequence[Any]) -> None:
        self.base.verify(args)

    @property
    def sizes(self) -> int:
        return self.base.sizes

    def fingerprint(self) -> bytes:
        return f"split{self.active}|".encode() + self.base.fingerprint()


class Split:
    """Both halves, compiled for one combination of types and overlaps."""

    def __init__(self, program: SplitProgram, request: Request):
        from mlirad.compiling import entry, load

        library, result, types = load(program, request)
        self.types = list(flat_types(types))
        self.active = program.active
        self.result_size = 8 * len(list(flat_types([result])))
        words = sum(map(count_words, self.types)) + program.sizes
        self.augmented: Entry = entry(library, program.augmented, request, words)
        self.reverse: Entry = entry(library, program.reverse, request)
        self.pack = Packer(self.types)
        self.unpack = Unpacker(result)
        interleaved: list[t.Scalar | t.Array] = []
        for type_, active in zip(self.types, self.active, strict=True):
            interleaved += [type_, type_] if active else [type_]
        self.pack_reverse = Packer(interleaved)


class Kept:
    """What one augmented primal kept; the `Residuals` of one launch."""

    def __init__(self, split: Split, sizes: tuple[int, ...], caches: bytes, args: Sequence[Any]):
        self._split, self._sizes = split, sizes
        self._caches: bytes | None = caches
        self._args = [a[...] if is_array(a) else a for a in args]  # their shapes may be changed

    def reverse(self, args: Sequence[object], shadows: Sequence[AnyArray | None]) -> None:
        """Runs the reverse sweep; see `Residuals`."""
        split, caches = self._split, self._caches
        assert caches is not None, "a reverse sweep runs once"
        words: list[Any] = []
        for arg, shadow, type_, active in zip(
            args, shadows, split.types, split.active, strict=True
        ):
            words.append(arg)
            if active:
                assert shadow is not None
                assert isinstance(type_, t.Array)
                assert shadow.flags.c_contiguous or not type_.contiguous
                words.append(shadow)
        self._caches = None
        self._args = []
        status, _ = split.reverse(split.pack_reverse(self._sizes, words) + caches)
        if status:
            raise MemoryError("not enough memory for the reverse sweep")

    def discard(self) -> None:
        """Frees what was kept: a reverse sweep whose seeds are zero does."""
        if self._caches is None:
            return
        active = zip(self._args, self._split.active, strict=True)
        self.reverse(self._args, [np.zeros_like(a) if wanted else None for a, wanted in active])


class Recordable:
    """A compiled program that a recording can launch, for arguments of one structure."""

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self._splits: dict[Hashable, Split] = {}

    @staticmethod
    def of(compiled: Compiled, args: Sequence[Any]) -> Recordable:
        """That of `compiled` for arguments of the structure of `args`, made once."""
        structure = tuple(map(skeleton, args))
        found = compiled.recordables.get(structure)
        if not isinstance(found, Recordable):
            flat = compiled
            if any(part is not None for part in structure) or compiled.program.optional:
                flat = type(compiled)(FlatProgram(compiled.program, structure))
            found = compiled.recordables[structure] = Recordable(flat)
        return found

    @property
    def name(self) -> str:
        return self.compiled.name

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.compiled.program.parameters

    def primal(self, sizes: tuple[int, ...], args: Sequence[object]) -> object:
        return self.compiled.run(sizes, args)

    def forward(
        self,
        sizes: tuple[int, ...],
        args: Sequence[object],
        tangents: Sequence[AnyArray | None],
    ) -> object:
        kinds = tuple(Const if tangent is None else Dual for tangent in tangents)
        values: list[object] = []
        for value, tangent in zip(args, tangents, strict=True):
            values += [value] if tangent is None else [value, tangent]
        return self.compiled.derivative(Mode.FORWARD, kinds, Const).run(sizes, values)

    def augment(
        self, sizes: tuple[int, ...], args: Sequence[object], active: Sequence[bool]
    ) -> tuple[object, Kept]:
        alias = alias_partition(args)
        axes = launch_axes(sizes)
        spread = several()
        key = (tuple(active), alias, axes, spread, *map(key_of, args))
        split = self._splits.get(key)
        if split is None:
            program = SplitProgram(self.compiled.program, tuple(active))
            types = program.agree([type_of(value) for value in args])
            split = self._splits[key] = Split(program, Request(types, alias, axes, spread))
        status, results = split.augmented(split.pack(sizes, args))
        if status:
            raise MemoryError(f"{self.name}: not enough memory for what the reverse sweep needs")
        caches = bytes(results)[split.result_size :]
        return split.unpack(results), Kept(split, sizes, caches, args)
