"""A sidecar of a decision server: it passes requests on and corrects the answers by coefficients.

Applications change one URL, in whatever language they are written. Its libraries are those of the
extra ``serve``.
"""
