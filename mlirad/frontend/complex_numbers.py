"""Complex numbers in expressions: literals, parts, operators, functions, constructors."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.ir import SSAValue

from mlirad.frontend import casts, complex_functions, complex_operators
from mlirad.frontend import complex_formulas as formulas
from mlirad.frontend.builder import Value
from mlirad.frontend.choices import Choices
from mlirad.frontend.operands import ComplexValue, Number, Operand, flatten, rebuild, spell
from mlirad.frontend.types import BOOL, COMPLEX64, COMPLEX128, Complex, Scalar

CASTS: dict[object, Complex] = {np.complex64: COMPLEX64, np.complex128: COMPLEX128}


def as_function(formula: object) -> FunctionType:
    assert isinstance(formula, FunctionType)
    return formula


class ComplexNumbers(Choices):
    """What can be done with complex numbers."""

    def complex_constant(self, number: complex | np.complexfloating[Any]) -> ComplexValue:
        """A number known while compiling: complex64 only if it is one of numpy."""
        type_ = COMPLEX64 if type(number) is np.complex64 else COMPLEX128
        plain = complex(number)
        with self.at_entry():
            return complex_operators.constant(plain, type_, self.builder)

    def real_or_imag(self, number: Number, name: str) -> Value:
        """`number.real` or `number.imag`; the imaginary part of a real number is zero."""
        if isinstance(number, ComplexValue):
            return number.real if name == "real" else number.imag
        if name == "real":
            return number
        return Value(casts.number(0, number.type, self.builder), number.type)

    def conjugate(self, number: Number) -> Number:
        if isinstance(number, Value):
            return number
        minus = complex_operators.unary("USub", number, self.builder)
        assert isinstance(minus, ComplexValue)
        return ComplexValue(number.real, minus.imag)

    # Operators

    def complex_binary(
        self, op: str, symbol: str, left: Number, right: Number, node: ast.AST
    ) -> Number:
        if op not in complex_operators.OPERATORS:
            what = f"'{symbol}' cannot take {left.type} and {right.type}"
            raise self.typing_error(node, what, "complex numbers have + - * / ** == !=")
        if op == "Pow":
            return self.complex_power(left, right, node)
        return complex_operators.binary(op, left, right, self.builder)

    def complex_power(self, base: Number, exponent: Number, node: ast.AST) -> ComplexValue:
        """
        `base ** exponent`, computed in polar form like numba's; only squares are products.

        An exponent that is an int has no derivative, so it may choose between the two.
        """
        type_ = complex_operators.common_type(base.type, exponent.type)
        assert type_ is not None
        known = exponent.constant
        own = complex_operators.convert(base, type_, self.builder)
        if known is not None and known == 2:
            return complex_operators.binary("Mult", own, own, self.builder)
        operands = [
            complex_operators.convert(n, COMPLEX128, self.builder)
            for n in (own, complex_operators.convert(exponent, type_, self.builder))
        ]
        formula = formulas.power if known is not None else formulas.variable_power
        result = self.formula_call(as_function(formula), operands, node)
        assert isinstance(result, ComplexValue)
        return complex_operators.convert(result, type_, self.builder)

    def complex_unary(self, op: str, symbol: str, value: ComplexValue, node: ast.AST) -> Number:
        if op == "Invert":
            raise self.typing_error(node, f"'{symbol}' cannot take {value.type}")
        result = complex_operators.unary(op, value, self.builder)
        if isinstance(result, ComplexValue) and value.constant is not None:
            constant = -value.constant if op == "USub" else value.constant
            return replace(result, constant=constant)
        return result

    def complex_compare(
        self, op: str, symbol: str, left: Operand, right: Operand, node: ast.AST
    ) -> Value:
        pair = [
            side if isinstance(side, ComplexValue) else self.as_value(side, node)
            for side in (left, right)
        ]
        if op not in ("Eq", "NotEq"):
            what = f"'{symbol}' cannot compare {pair[0].type} and {pair[1].type}"
            raise self.typing_error(node, what, "complex numbers have no order: compare abs()")
        return complex_operators.equal(op, pair[0], pair[1], self.builder)

    # Functions

    def is_complex_function(self, called: object) -> bool:
        """Whether Python's object is a function, or a type, of complex numbers."""
        if called is builtins.complex or complex_functions.find(called) is not None:
            return True
        return isinstance(called, type) and called in CASTS

    def complex_call(
        self, called: object, operands: Sequence[Operand], node: ast.Call, name: str
    ) -> Operand | None:
        """The call of a function of complex numbers; None if it is another function here."""
        numbers = [o for o in operands if isinstance(o, (Value, ComplexValue))]
        if called is builtins.complex or (isinstance(called, type) and called in CASTS):
            return self.constructed(called, operands, numbers, node, name)
        found = complex_functions.find(called)
        has_complex = any(isinstance(o, ComplexValue) for o in operands)
        if found is None or not (has_complex or found.lifts or found.as_they_are):
            return self.operator_call(called, operands, node) if has_complex else None
        taken = found.formula
        if found.name == "log" and found.lifts and len(numbers) == 2:
            taken = as_function(formulas.log_to_base)
        defaults = taken.__defaults__ or ()
        least = taken.__code__.co_argcount - len(defaults)
        most = least + sum(not isinstance(value, float) for value in defaults)
        if len(numbers) != len(operands) or not least <= len(numbers) <= most:
            listed = ", ".join(map(spell, operands))
            raise self.typing_error(
                node, f"'{name}' cannot take ({listed})", "it takes single numbers"
            )
        type_ = self.argument_type(numbers)
        if found.lifts or has_complex:
            numbers = [
                n if n.type == BOOL else complex_operators.convert(n, type_, self.builder)
                for n in numbers
            ]
        result = self.formula_call(taken, numbers, node)
        if found.result == "as the argument" and isinstance(result, (Value, ComplexValue)):
            return complex_operators.convert(result, type_, self.builder)
        if found.result == "as the part" and isinstance(result, Value):
            return casts.convert(result, type_.part, self.builder)
        return result

    def operator_call(
        self, called: object, operands: Sequence[Operand], node: ast.Call
    ) -> Operand | None:
        """`bool(z)`, `pow(z, w)` and `np.power(z, w)`."""
        match operands:
            case [ComplexValue() as z] if called is builtins.bool or called is np.bool_:
                return Value(self.truth_of(z), BOOL)
            case [(Value() | ComplexValue()) as z, (Value() | ComplexValue()) as w]:
                if called is builtins.pow:
                    return self.complex_power(z, w, node)
                if called is np.power:  # beside a complex64, numpy's ints do not count
                    z, w = (
                        self.whole_as(n, self.argument_type([z, w], whole=False)) for n in (z, w)
                    )
                    return self.complex_power(z, w, node)
            case [Value() as condition, (Value() | ComplexValue()) as z, other]:
                if called is np.where and isinstance(other, (Value, ComplexValue)):
                    return self.either(self.truth_of(condition), z, other)
            case _:
                pass
        return None

    def either(self, condition: SSAValue, z: Number, w: Number) -> ComplexValue:
        """One of two numbers that both have been computed."""
        type_ = complex_operators.common_type(z.type, w.type, in_a_variable=True)
        assert type_ is not None
        pair = [complex_operators.convert(n, type_, self.builder) for n in (z, w)]
        floats = complex_operators.Floats(type_.part, self.builder)
        real = floats.select(condition, pair[0].real.ssa, pair[1].real.ssa)
        return floats.pair(real, floats.select(condition, pair[0].imag.ssa, pair[1].imag.ssa))

    def whole_as(self, number: Number, type_: Complex) -> Number:
        """An int as the real part of `type_`; any other number as it is."""
        if isinstance(number, ComplexValue) or number.type.kind == "f":
            return number
        return casts.convert(number, type_.part, self.builder)

    def argument_type(self, numbers: Sequence[Number], whole: bool = True) -> Complex:
        """The complex type that holds all of them, without the ints if `whole` is false."""
        type_ = COMPLEX64
        for number in numbers:
            if not whole and isinstance(number, Value) and number.type.kind != "f":
                continue
            wider = complex_operators.common_type(type_, number.type)
            assert wider is not None
            type_ = wider
        return type_

    def formula_call(
        self, formula: FunctionType, arguments: Sequence[Number], node: ast.AST
    ) -> Operand:
        """A call of a formula, which is compiled for these types like a user's function."""
        given: list[Operand] = list(arguments)
        defaults, missing = formula.__defaults__ or (), formula.__code__.co_argcount - len(given)
        for value in defaults[len(defaults) - missing :] if missing else ():
            default = self.constant(value)
            if isinstance(value, float) and isinstance(arguments[0], ComplexValue):
                default = casts.convert(default, arguments[0].type.part, self.builder)
            given.append(default)
        callee = self.program.function(formula, given, self.device, self.source.where(node))
        operands = [ssa for argument in given for ssa in flatten(argument)]
        self.locate(node)
        call = self.builder.insert(func.CallOp(callee.symbol, operands, callee.result_types))
        return rebuild(callee.result, iter(call.results))

    def constructed(
        self,
        called: object,
        operands: Sequence[Operand],
        numbers: Sequence[Number],
        node: ast.Call,
        name: str,
    ) -> ComplexValue:
        """`complex(x)`, `complex(x, y)`, `np.complex64(x)`, `np.complex128(x)`."""
        most = 1 if called in CASTS else 2
        listed = ", ".join(map(spell, operands))
        what = f"'{name}' cannot take ({listed})"
        if len(numbers) != len(operands) or not 1 <= len(numbers) <= most:
            raise self.typing_error(node, what, "it takes one number, or a real and an imaginary")
        if called in CASTS:
            return complex_operators.convert(numbers[0], CASTS[called], self.builder)
        if len(numbers) == 1 and isinstance(numbers[0], ComplexValue):
            return complex_operators.convert(numbers[0], COMPLEX128, self.builder)
        parts = [n for n in numbers if isinstance(n, Value)]
        if len(parts) < len(numbers) or any(p.type == BOOL for p in parts):
            raise self.typing_error(node, what, "write x + 1j * y, or convert bools with int(...)")
        narrow = all(part.type == Scalar("f", 32) for part in parts)
        type_ = COMPLEX64 if narrow else COMPLEX128
        if len(parts) == 1:
            return complex_operators.convert(parts[0], type_, self.builder)
        real, imag = (casts.convert(part, type_.part, self.builder) for part in parts)
        return ComplexValue(real, imag)
