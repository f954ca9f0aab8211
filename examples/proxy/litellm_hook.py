# Needs: pip install 'litellm[proxy]'
# ruff: noqa: ANN401 - the proxy's own types
"""
A hook for the LiteLLM proxy
============================

It asks for log-probabilities, and corrects chat answers that are a label, or JSON with one. Put
this file beside the proxy's config, and name it there::

    litellm_settings:
      callbacks: litellm_hook.corrector

``DNIP_COEFFICIENTS`` names the coefficients; ``litellm --config config.yaml`` starts the proxy.
"""

import logging
import os
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

import dnip
from dnip.llm.serving.chat import as_asked, passing, with_logprobs

LOG = logging.getLogger("dnip.litellm")
# What the client asked for itself, until the answer has come; the proxy keeps it with the request.
ASKED = "dnip_asked"


class Corrector(CustomLogger):
    """Corrects chat completions on their way."""

    def __init__(self, coefficients: str) -> None:
        super().__init__()
        self.coefficients = dnip.Coefficients.load(coefficients)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Ask for log-probabilities, too."""
        if call_type not in ("completion", "acompletion") or passing(data):
            return data
        asked = {name: data.get(name) for name in ("logprobs", "top_logprobs")}
        data.setdefault("metadata", {})[ASKED] = asked
        return with_logprobs(data)

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Correct the answer; one that cannot be corrected passes, with a line in the log."""
        asked = (data.get("metadata") or {}).get(ASKED)
        if asked is None:
            return response
        try:
            response = dnip.correct(response, coefficients=self.coefficients, request=data)
        except dnip.InvalidInputError as error:
            LOG.warning("passed on as it is: %s", error)
        return type(response)(**as_asked(response.model_dump(), asked))


if "DNIP_COEFFICIENTS" in os.environ:
    corrector = Corrector(os.environ["DNIP_COEFFICIENTS"])
