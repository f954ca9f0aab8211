"""The front of accuracy and COBias: every trade-off that weights can make, and which to take."""

from dnip.fitting.pareto.cross_fits import CrossFit, cross_fit
from dnip.fitting.pareto.fronts import Front, Point, front
from dnip.fitting.pareto.rules import Rule
from dnip.fitting.pareto.trade_off import TradeOff, trace_front

__all__ = ["CrossFit", "Front", "Point", "Rule", "TradeOff", "cross_fit", "front", "trace_front"]
