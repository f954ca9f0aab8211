"""The method: objective, scales, constraints, problem, solution, prediction, coefficients."""
