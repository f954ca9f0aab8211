"""Coefficients in production: chats corrected in one's own process, and a sidecar of a server.

The sidecar passes requests on and corrects the answers. Applications change one URL, in whatever
language they are written. Its libraries are those of the extra ``serve``.
"""
