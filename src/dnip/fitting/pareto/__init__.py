"""The front of accuracy and COBias: every trade-off that weights can make, and which to take."""

from dnip.fitting.pareto.rules import CrossFit, Rule, cross_fit
from dnip.fitting.pareto.solve import Front, Point, front
from dnip.fitting.pareto.trade_off import TradeOff, trace_front

__all__ = ["CrossFit", "Front", "Point", "Rule", "TradeOff", "cross_fit", "front", "trace_front"]
