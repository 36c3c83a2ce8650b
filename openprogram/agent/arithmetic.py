"""Arithmetic that a model may ask for: parsed, never evaluated as Python, and bounded before it is computed."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["MAX_CHARACTERS", "MAX_RESULT_BITS", "calculate"]

#: Characters of an expression. It bounds the nesting too, below what the parser and this walker can recurse.
MAX_CHARACTERS: Final = 200
#: Bits of any whole number on the way, about 1200 decimal digits.
MAX_RESULT_BITS: Final = 4096

Number: TypeAlias = int | float


def calculate(expression: str) -> Number:
    """Evaluate an arithmetic expression such as `(3 + 4) * 2 ** 8 / 5`.

    Knows numbers, parentheses and the operators + - * / // % **.

    Raises ValueError: not such an expression, too long, or a result too large. ZeroDivisionError.
    """
    if len(expression) > MAX_CHARACTERS:
        raise ValueError(f"the expression has {len(expression)} characters; at most {MAX_CHARACTERS} are allowed")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{expression!r} is not an arithmetic expression") from error
    return _value(tree.body)


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):  # not bool, which is an int too
            return _bounded(value)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_power(_value(left), _value(right)))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _bounded(_computed(_OPERATORS[type(sign)], _value(left), _value(right)))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not arithmetic: numbers, parentheses and + - * / // % ** only")


_OPERATORS: Final[dict[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _power(base: Number, exponent: Number) -> Number:
    # estimated first: computing 9 ** 9 ** 9 to find it too large would take the memory that the bound is to save
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > MAX_RESULT_BITS:
        raise ValueError(f"a power is too large: more than {MAX_RESULT_BITS} bits")
    result = _computed(operator.pow, base, exponent)
    if isinstance(result, complex):
        raise ValueError(f"{base} ** {exponent} is not a real number")
    return result


def _computed(operation: Callable[[Number, Number], Number], left: Number, right: Number) -> Number:
    try:
        return operation(left, right)
    except OverflowError as error:
        raise ValueError("a result is too large for a floating-point number") from error


def _bounded(value: Number) -> Number:
    if isinstance(value, int):
        if value.bit_length() > MAX_RESULT_BITS:
            raise ValueError(f"a result is too large: more than {MAX_RESULT_BITS} bits")
    elif not math.isfinite(value):
        raise ValueError("a result is too large for a floating-point number")
    return value
