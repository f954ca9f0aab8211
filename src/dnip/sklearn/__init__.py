"""The estimators for scikit-learn."""
