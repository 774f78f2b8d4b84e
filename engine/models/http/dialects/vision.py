"""Images in requests: which models accept them, and the images of each tool call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.models.endpoint import Endpoint
from engine.models.protocol import ModelRequest
from engine.records.message import Image, Message

VISION_MODELS = re.compile(
    r'claude-(?!2|instant)|gpt-4o|gpt-4\.[1-9]|gpt-4-turbo|gpt-[5-9]|chatgpt-|(^|/)o[134](-|$)|gemini|gemma-?[34]'
    r'|pixtral|mistral-(small|medium|large)-(2506|2508|2512|latest|3)|llava|llama-?4|llama3\.2-vision|vision'
    r'|-?vl(\b|:|-)|[a-z]vl(\b|:|-)|minicpm-v|glm-[45][\d.]*v|grok-[4-9]|kimi-k2\.[5-9]',
    re.I,
)
"""Matches the names of models that accept images."""


def takes_images(model: str, endpoint: Endpoint) -> bool:
    """Return whether to send images to a model."""
    return endpoint.images == 'always' or (
        endpoint.images == 'by model' and VISION_MODELS.search(model) is not None
    )


@dataclass(frozen=True, slots=True)
class RequestImages:
    """The images to send to a model."""

    images: Mapping[str, str] = field(default_factory=dict)
    """In base64, by digest."""

    @classmethod
    def of(cls, request: ModelRequest, model: str, endpoint: Endpoint) -> RequestImages:
        """Return the images of a request if the model accepts them, otherwise none."""
        return cls(request.images if takes_images(model, endpoint) else {})

    def results(self, message: Message) -> dict[str, list[tuple[str, str]]]:
        """Return media type and base64 of the images in a message of tool results, by call."""
        by_call: dict[str, list[tuple[str, str]]] = {}
        for part in message.parts:
            if isinstance(part, Image) and part.digest in self.images:
                by_call.setdefault(part.call, []).append((part.media_type, self.images[part.digest]))
        return by_call


def data_url(media_type: str, data: str) -> str:
    """Return an image in the form that the OpenAI dialects accept."""
    return f'data:{media_type};base64,{data}'
