"""
Requests for derivatives, part of the `autodiff` dialect: which function, and how each argument and
result takes part. See `mlirad.dialects.autodiff`.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Operation,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from mlirad.dialects.counts import expect_count


class Activity(StrEnum):
    """How one argument or result takes part in a derivative request."""

    CONST = "const"
    """Held fixed: carries no shadow."""
    DUP = "dup"
    """Carried as a (primal, shadow) pair."""
    ACTIVE = "active"
    """A scalar whose cotangent is returned (arguments) or passed in (results)."""


@irdl_attr_definition
class ActivityAttr(EnumAttribute[Activity], SpacedOpaqueSyntaxAttribute):
    name = "autodiff.activity"


def activities(kinds: Sequence[Activity]) -> ArrayAttr[ActivityAttr]:
    return ArrayAttr(ActivityAttr(a) for a in kinds)


def with_shadows(types: Iterable[Attribute], kinds: Iterable[ActivityAttr]) -> list[Attribute]:
    """The types, that of each `dup` one twice."""
    pairs = zip(types, kinds, strict=True)
    return [each for t, kind in pairs for each in ([t, t] if kind.data is Activity.DUP else [t])]


def of_kind(
    types: Iterable[Attribute], kinds: Iterable[ActivityAttr], wanted: Activity
) -> list[Attribute]:
    return [t for t, kind in zip(types, kinds, strict=True) if kind.data is wanted]


class RequestSymbolUserOpInterface(SymbolUserOpInterface):
    """The request fits the function that it names."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, Request | SplitOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"there is no function {op.callee}")
        type_ = callee.function_type
        name = op.callee.string_value()
        expect_count(f"activities of arguments of '{name}'", len(type_.inputs), len(op.activity))
        expect_count(f"activities of results of '{name}'", len(type_.outputs), len(op.ret_activity))
        if isinstance(op, Request):
            op.verify_types(type_)


class Request(IRDLOperation):
    """What `fwddiff` and `revdiff` have in common."""

    callee = prop_def(FlatSymbolRefAttrConstr)
    activity = prop_def(ArrayAttr[ActivityAttr])
    ret_activity = prop_def(ArrayAttr[ActivityAttr])
    inputs = var_operand_def()
    outputs = var_result_def()
    traits = traits_def(RequestSymbolUserOpInterface())

    assembly_format = (
        "$callee `(` $inputs `)` $activity `->` $ret_activity attr-dict `:` "
        "functional-type($inputs, $outputs)"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        inputs: Sequence[SSAValue],
        activity: Sequence[Activity],
        ret_activity: Sequence[Activity],
        result_types: Sequence[Attribute],
    ):
        if isinstance(callee, str):
            callee = SymbolRefAttr(callee)
        super().__init__(
            operands=[inputs],
            result_types=[result_types],
            properties={
                "callee": callee,
                "activity": activities(activity),
                "ret_activity": activities(ret_activity),
            },
        )

    def types(self, callee: FunctionType) -> tuple[list[Attribute], list[Attribute]]:
        """What the types of `inputs` and `outputs` must be for a callee of this type."""
        raise NotImplementedError

    def verify_types(self, callee: FunctionType) -> None:
        """Raises a `VerifyException` for the first input or output that has another type."""
        inputs, outputs = self.types(callee)
        for what, expected, values in (
            ("input", inputs, self.inputs),
            ("result", outputs, self.outputs),
        ):
            # Traits are verified first: `verify_` finds what is missing or too much.
            for number, (type_, value) in enumerate(zip(expected, values, strict=False)):
                if value.type != type_:
                    raise VerifyException(
                        f"expected {what} {number} to be {type_}, but got {value.type}"
                    )

    def count(self, kind: Activity) -> int:
        """How many arguments have this activity."""
        return sum(a.data is kind for a in self.activity)

    def count_results(self, kind: Activity) -> int:
        """How many results have this activity."""
        return sum(a.data is kind for a in self.ret_activity)


@irdl_op_definition
class FwdDiffOp(Request):
    """
    Forward-mode derivative of `callee` at `inputs`.

    `inputs` interleaves each `dup` argument with its tangent. The results are the primal
    results, each `dup` one followed by its tangent. Shadows of memrefs are overwritten
    wherever their primal is.

    Example:

    ```mlir
    %y, %dy = autodiff.fwddiff @f(%x, %dx) [#autodiff<activity dup>]
      -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
    ```
    """

    name = "autodiff.fwddiff"

    def types(self, callee: FunctionType) -> tuple[list[Attribute], list[Attribute]]:
        return (
            with_shadows(callee.inputs, self.activity),
            with_shadows(callee.outputs, self.ret_activity),
        )

    def verify_(self) -> None:
        if self.count(Activity.ACTIVE) or self.count_results(Activity.ACTIVE):
            raise VerifyException("'active' is for reverse mode; forward mode has 'dup'")
        primals, shadows = len(self.activity), self.count(Activity.DUP)
        expect_count(
            f"inputs ({primals} primals and {shadows} tangents)",
            primals + shadows,
            len(self.inputs),
        )
        results, tangents = len(self.ret_activity), self.count_results(Activity.DUP)
        expect_count(
            f"results ({results} primals and {tangents} tangents)",
            results + tangents,
            len(self.outputs),
        )


@irdl_op_definition
class RevDiffOp(Request):
    """
    Reverse-mode derivative of `callee` at `inputs`.

    `inputs` interleaves each `dup` argument (a memref) with its shadow, and ends with one
    seed per `active` result. The results are the primal results, then the cotangents of the
    `active` arguments. On entry a shadow holds the seed of the final contents, on exit the
    cotangent of the initial contents; primal memrefs end as the primal leaves them.

    Example:

    ```mlir
    %y, %x_ct = autodiff.revdiff @f(%x, %y_ct) [#autodiff<activity active>]
      -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
    ```
    """

    name = "autodiff.revdiff"

    def types(self, callee: FunctionType) -> tuple[list[Attribute], list[Attribute]]:
        seeds = of_kind(callee.outputs, self.ret_activity, Activity.ACTIVE)
        cotangents = of_kind(callee.inputs, self.activity, Activity.ACTIVE)
        return (
            with_shadows(callee.inputs, self.activity) + seeds,
            [*callee.outputs, *cotangents],
        )

    def verify_(self) -> None:
        if self.count_results(Activity.DUP):
            raise VerifyException("a result is 'active' or 'const' in reverse mode")
        primals, shadows = len(self.activity), self.count(Activity.DUP)
        seeds = self.count_results(Activity.ACTIVE)
        expect_count(
            f"inputs ({primals} primals, {shadows} shadows and {seeds} seeds)",
            primals + shadows + seeds,
            len(self.inputs),
        )
        results, cotangents = len(self.ret_activity), self.count(Activity.ACTIVE)
        expect_count(
            f"results ({results} primals and {cotangents} cotangents)",
            results + cotangents,
            len(self.outputs),
        )


@irdl_op_definition
class SplitOp(IRDLOperation):
    """
    Asks for the two halves of reverse mode as functions, for a caller that keeps the caches.

    Afterwards `augmented` has the primal's arguments and returns its results followed by the
    caches; `reverse` takes the arguments interleaved with shadows, the seeds and the caches,
    and returns the cotangents of the `active` arguments. `reverse` reads no array but the
    caches and shadows, so the primal arrays may change in between; it frees the caches.

    Example:

    ```mlir
    autodiff.split @f into @f_augmented, @f_reverse [#autodiff<activity dup>] -> []
    ```
    """

    name = "autodiff.split"

    callee = prop_def(FlatSymbolRefAttrConstr)
    augmented = prop_def(FlatSymbolRefAttrConstr)
    reverse = prop_def(FlatSymbolRefAttrConstr)
    activity = prop_def(ArrayAttr[ActivityAttr])
    ret_activity = prop_def(ArrayAttr[ActivityAttr])
    traits = traits_def(RequestSymbolUserOpInterface())

    assembly_format = (
        "$callee `into` $augmented `,` $reverse $activity `->` $ret_activity attr-dict"
    )

    def __init__(
        self,
        callee: str,
        augmented: str,
        reverse: str,
        activity: Sequence[Activity],
        ret_activity: Sequence[Activity],
    ):
        super().__init__(
            properties={
                "callee": SymbolRefAttr(callee),
                "augmented": SymbolRefAttr(augmented),
                "reverse": SymbolRefAttr(reverse),
                "activity": activities(activity),
                "ret_activity": activities(ret_activity),
            },
        )


@irdl_op_definition
class StopGradientOp(IRDLOperation):
    """The operand, held fixed: its derivative is zero in both modes."""

    name = "autodiff.stop_gradient"

    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])
