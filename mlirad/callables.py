"""The objects that Python code calls and launches, compiled on first use."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from mlirad.derived import DerivedProgram
from mlirad.errors import AliasError, LaunchError, LaunchTypeError, TypingError
from mlirad.frontend.types import Array, Tuple, Type
from mlirad.guarded import guarded
from mlirad.program import SIZES, Program, PythonProgram
from mlirad.runtime import recording
from mlirad.runtime.aliasing import alias_partition
from mlirad.runtime.annotations import Annotation
from mlirad.runtime.arguments import is_array, key_of, leaf_names, leaves, overlaps_itself, type_of
from mlirad.runtime.recording import Mode
from mlirad.runtime.sizes import Sizes, forall_sizes, launch_sizes
from mlirad.runtime.specialize import (
    Request,
    Specialization,
    Specializations,
    launch_axes,
)
from mlirad.runtime.workers import several


class Compiled:
    """What kernels and functions have in common."""

    is_kernel: bool = False

    def __init__(self, program: Program):
        self.program = program
        self.specializations = Specializations(self._build)
        self._derivatives: dict[Hashable, Compiled] = {}
        self.recordables: dict[Hashable, object] = {}
        """For recordings, by the structure of the arguments."""
        self.__name__ = program.name
        if isinstance(program, PythonProgram):
            self.py_func = program.function
            self.__doc__ = program.function.__doc__
            self.__module__ = program.function.__module__
            self.__qualname__ = program.function.__qualname__
            self.__wrapped__ = program.function

    @property
    def name(self) -> str:
        return self.program.name

    def __repr__(self) -> str:
        return f"<mlirad {'kernel' if self.is_kernel else 'function'} {self.name}>"

    def on(self, device: str) -> Self:
        """The same, on `device`; there is only `"cpu"` yet."""
        from mlirad.devices import check_device

        check_device(device)
        return self

    def run(self, sizes: tuple[int, ...], args: Sequence[Any]) -> Any:
        """
        Runs it on `args`, one per parameter, without telling any recording.

        `sizes` is the grid and the block of a kernel, empty for a function.
        """
        flat = leaves(args)
        alias = alias_partition(flat)
        axes = launch_axes(sizes)
        key = (alias, axes, several(), *map(key_of, args))
        specialization = self.specializations.find(key)
        if specialization is None:
            specialization = self._compile(key, args, alias, axes)
        else:
            self.program.verify_again(args, alias)
        return specialization(sizes, flat)

    def _compile(
        self, key: Hashable, args: Sequence[Any], alias: tuple[int, ...], axes: int
    ) -> Specialization:
        self.program.verify(args)
        try:
            return self.specializations.compile(key, self.request(args, alias, axes))
        except TypingError as error:
            self._explain_folded(args, alias, error)
            raise

    def _explain_folded(
        self, args: Sequence[Any], alias: tuple[int, ...], error: TypingError
    ) -> None:
        """
        Raises an AliasError if `error` is that an array which overlaps itself is written.

        Such arrays are typed as read-only; without them there must be no error.
        """
        folded = [_folded(value) for value in leaves(args)]
        if not any(folded):
            return
        types = [_writable(type_of(value)) for value in args]
        try:
            self.program.lower(self.program.agree(types), alias)
        except TypingError:
            return
        names = [name for name, found in zip(self._names(args), folded, strict=True) if found]
        raise AliasError(
            f"{self.name}: {', '.join(map(repr, names))}: several elements of the array share "
            f"memory, and it is written\n  pass a copy: np.array({names[0]})\n{error}"
        ) from None

    def _names(self, args: Sequence[Any]) -> list[str]:
        """The names of the leaves of `args`."""
        parameters = (*self.program.parameters, *self.program.optional)
        return [
            name
            for parameter, value in zip(parameters, args, strict=False)
            for name in leaf_names(parameter, type_of(value))
        ]

    def derivative(
        self,
        mode: Mode,
        kinds: tuple[type[Annotation], ...],
        returns: type[Annotation] | None,
        immediate: bool = False,
        deterministic: bool = False,
    ) -> Compiled:
        """The derivative that `autodiff` and the transforms run, built once."""
        key = mode, kinds, returns, immediate, deterministic
        found = self._derivatives.get(key)
        if found is None:
            found = self._derivatives[key] = type(self)(DerivedProgram(self.program, *key))
        return found

    def call(self, sizes: tuple[int, ...], args: Sequence[Any]) -> Any:
        """As `run`, but a recording that is active takes part."""
        recorder = recording.current()
        if recorder is None:
            return self.run(sizes, args)
        from mlirad.launchable import Recordable

        self.program.verify(args)
        return recorder.launch(Recordable.of(self, args), sizes, leaves(args))

    def request(self, args: Sequence[Any], alias: tuple[int, ...], axes: int = 3) -> Request:
        """What has to be compiled for `args`."""
        types = self.program.agree([type_of(value) for value in args])
        return Request(types, alias, axes, several())

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """`args` with keywords and defaults put in their places."""
        parameters, optional = self.program.parameters, self.program.optional
        if not kwargs and len(parameters) <= len(args) <= len(parameters) + len(optional):
            return args
        if (signature := self.program.signature) is not None:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise LaunchTypeError(f"{self._usage()}: {error}") from None
            bound.apply_defaults()
            return bound.args
        if kwargs:
            raise LaunchTypeError(f"{self._usage()} takes no keyword arguments")
        count = f"{len(parameters)} argument{'s' if len(parameters) != 1 else ''}"
        raise LaunchTypeError(f"{self._usage()} takes {count}, but got {len(args)}")

    def _usage(self) -> str:
        names = [*self.program.parameters, *(f"[{name}]" for name in self.program.optional)]
        return f"{self.name}({', '.join(names)})"

    def _build(self, request: Request) -> Specialization:
        from mlirad.compiling import compile_program

        return compile_program(self.program, request)

    def inspect_mlir(self, stage: str = "python", args: Sequence[Any] | None = None) -> str:
        """
        The IR at `stage` as text.

        Args:
            stage: `python`, `optimized`, `differentiated`, `lowered` or `cpu`.
            args: example arguments (arrays, numbers, or types of `mlirad.frontend.types`); by
                default those of the last call.
        """
        from mlirad.compiling import text_at

        return text_at(self.program, self.request_for(args), stage)

    def inspect_llvm(self, args: Sequence[Any] | None = None) -> str:
        """The LLVM IR as text; `args` as for `inspect_mlir`."""
        from mlirad.compiling import llvm_text

        return llvm_text(self.program, self.request_for(args))

    def inspect_asm(self, args: Sequence[Any] | None = None) -> str:
        """The machine code as assembly text; `args` as for `inspect_mlir`."""
        from mlirad.compiling import assembly_text

        return assembly_text(self.program, self.request_for(args))

    def inspect_ptx(self, cc: tuple[int, int] = (9, 0), args: Sequence[Any] | None = None) -> str:
        """
        The PTX of all kernels that this launches, without a GPU; of a derivative, all of its own.

        Mathematics needs libdevice, which comes with CUDA. Raises `UnsupportedError` without
        it, and for what a GPU cannot do.

        Args:
            cc: the compute capability: (7, 5), (8, 0), (9, 0) or (10, 0).
            args: as for `inspect_mlir`.
        """
        from mlirad.compiling import ptx_text

        return ptx_text(self.program, self.request_for(args), cc)

    def request_for(self, args: Sequence[Any] | None) -> Request:
        """What to compile for example arguments or types; by default, that of the last call."""
        if args is None:
            if self.specializations.last is None:
                raise LaunchError(
                    f"{self.name} was not called yet\n  call it first, or give 'args='"
                )
            return self.specializations.last
        if all(isinstance(value, Type) for value in args):
            types = self.program.agree(args)
            count = sum(len(leaf_names("", type_)) for type_ in types)
            return Request(types, tuple(range(count)), spread=several())
        self.program.verify(args)
        return self.request(args, alias_partition(leaves(args)))


def _folded(value: object) -> bool:
    return is_array(value) and value.flags.writeable and overlaps_itself(value)


def _writable(type_: Type) -> Type:
    match type_:
        case Array():
            return replace(type_, writable=True)
        case Tuple(elements):
            return replace(type_, elements=tuple(map(_writable, elements)))
        case _:
            return type_


class Function(Compiled):
    """A compiled function, or the derivative of one."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call((), self.bind(args, kwargs))


class Kernel(Compiled):
    """A grid kernel, or the derivative of one. Launched with `kernel[grid, block](…)`."""

    is_kernel = True

    def __init__(self, program: Program):
        super().__init__(program)
        self._configured: dict[object, ConfiguredKernel] = {}
        self._guarded: Kernel | None = None

    def __getitem__(self, configuration: object) -> ConfiguredKernel:
        try:
            found = self._configured.get(configuration)
        except TypeError:
            return ConfiguredKernel(self, launch_sizes(self.name, configuration))
        if found is None or found.written != repr(configuration):
            # `True == 1`, hence the comparison of what was written
            found = ConfiguredKernel(
                self, launch_sizes(self.name, configuration), repr(configuration)
            )
            self._configured[configuration] = found
        return found

    def forall(self, count: int) -> ConfiguredKernel:
        """The kernel with `count` threads in one dimension. With 0 of them it does nothing."""
        sizes = forall_sizes(self.name, count)
        if len(sizes) == SIZES:
            return ConfiguredKernel(self, sizes)
        if self._guarded is None:
            self._guarded = Kernel(guarded(self.program))
        return ConfiguredKernel(self._guarded, sizes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LaunchTypeError(
            f"{self.name} is a kernel and was called without a grid\n"
            f"  launch it: {self.name}[grid, block](…) or {self.name}.forall(n)(…)"
        )


class ConfiguredKernel:
    """A kernel with its grid and block; calling it launches it."""

    __slots__ = ("kernel", "sizes", "written")

    def __init__(self, kernel: Kernel, sizes: Sizes, written: str = ""):
        self.kernel, self.sizes, self.written = kernel, sizes, written

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel.call(self.sizes, self.kernel.bind(args, kwargs))

    def __repr__(self) -> str:
        return f"{self.kernel!r}[{self.sizes[:3]}, {self.sizes[3:]}]"
