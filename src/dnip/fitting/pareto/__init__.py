"""The front of accuracy and COBias: every trade-off that weights can make, and which to take."""

from dnip.fitting.pareto.fronts import Front, Point, Rule, front
from dnip.fitting.pareto.trade_off import CrossFit, TradeOff, cross_fit, trace_front

__all__ = ["CrossFit", "Front", "Point", "Rule", "TradeOff", "cross_fit", "front", "trace_front"]
