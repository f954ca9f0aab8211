"""The front of accuracy and COBias: every trade-off that weights can make, and which to take."""

from dnip.pareto.expectation import expected_cobias
from dnip.pareto.left_out import CrossFit, cross_fit
from dnip.pareto.rules import Rule
from dnip.pareto.solve import Front, Point, front
from dnip.pareto.trade_off import TradeOff, trace_front

__all__ = [
    "CrossFit",
    "Front",
    "Point",
    "Rule",
    "TradeOff",
    "cross_fit",
    "expected_cobias",
    "front",
    "trace_front",
]
