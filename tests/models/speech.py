"""Events of the dialects as bytes, for tests that do not depend on the dialect."""

from __future__ import annotations

import json
from typing import Any


def openai(**chunk: Any) -> bytes:
    return f'data: {json.dumps(chunk, ensure_ascii=False)}\n\n'.encode()


def anthropic(type: str, **event: Any) -> bytes:
    return f'event: {type}\ndata: {json.dumps({"type": type, **event}, ensure_ascii=False)}\n\n'.encode()


class OpenAISpeech:
    """Chat completions."""

    dialect = 'openai'
    start = openai(id='1', model='m', choices=[{'index': 0, 'delta': {'role': 'assistant', 'content': ''}}])
    stop = openai(choices=[{'index': 0, 'delta': {}, 'finish_reason': 'stop'}])
    end = b'data: [DONE]\n\n'
    error = openai(error={'message': 'Overloaded, sorry', 'type': 'overloaded_error', 'code': None})
    nothing = (
        openai(choices=[]),
        openai(choices=None),
        openai(choices=[{'index': 0, 'delta': None}]),
        openai(x=1),
    )

    @staticmethod
    def say(text: str) -> bytes:
        return openai(choices=[{'index': 0, 'delta': {'content': text}}])

    @staticmethod
    def report_usage(output: int) -> bytes:
        return openai(choices=[], usage={'prompt_tokens': 3, 'completion_tokens': output})

    @staticmethod
    def refusal(message: str, type: str) -> bytes:
        return json.dumps({'error': {'message': message, 'type': type, 'code': None}}).encode()


class AnthropicSpeech:
    """Messages."""

    dialect = 'anthropic'
    start = anthropic(
        'message_start', message={'id': '1', 'model': 'm', 'usage': {'input_tokens': 3, 'output_tokens': 1}}
    ) + anthropic('content_block_start', index=0, content_block={'type': 'text', 'text': ''})
    stop = anthropic('content_block_stop', index=0) + anthropic(
        'message_delta', delta={'stop_reason': 'end_turn'}
    )
    end = anthropic('message_stop')
    error = anthropic('error', error={'type': 'overloaded_error', 'message': 'Overloaded, sorry'})
    nothing = (
        anthropic('ping'),
        anthropic('content_block_delta', index=0, delta=None),
        anthropic('message_delta', delta=None, usage=None),
        anthropic('unheard_of', content=[]),
    )

    @staticmethod
    def say(text: str) -> bytes:
        return anthropic('content_block_delta', index=0, delta={'type': 'text_delta', 'text': text})

    @staticmethod
    def report_usage(output: int) -> bytes:
        return anthropic('message_delta', delta={}, usage={'output_tokens': output})

    @staticmethod
    def refusal(message: str, type: str) -> bytes:
        return json.dumps({'type': 'error', 'error': {'type': type, 'message': message}}).encode()


class GeminiSpeech:
    """generateContent, as a stream."""

    dialect = 'gemini'
    start = openai(
        candidates=[{'content': {'role': 'model', 'parts': [{'text': ''}]}, 'index': 0}],
        usageMetadata={'promptTokenCount': 3, 'totalTokenCount': 3},
        modelVersion='m',
        responseId='1',
    )
    stop = openai(candidates=[{'content': {'role': 'model', 'parts': []}, 'finishReason': 'STOP'}])
    end = b''
    error = openai(error={'message': 'Overloaded, sorry', 'status': 'UNAVAILABLE'})
    nothing = (
        openai(candidates=[]),
        openai(candidates=None),
        openai(candidates=[{'content': None}]),
        openai(candidates=[{'content': {'parts': [None, {}, {'text': None}, {'functionCall': None}]}}]),
        openai(candidates=[{'index': 1, 'content': {'parts': [{'text': 'Nein'}]}, 'finishReason': 'SAFETY'}]),
        openai(promptFeedback={'safetyRatings': []}, usageMetadata=None),
        openai(x=1),
    )

    @staticmethod
    def say(text: str) -> bytes:
        return openai(candidates=[{'content': {'role': 'model', 'parts': [{'text': text}]}}])

    @staticmethod
    def report_usage(output: int) -> bytes:
        return openai(candidates=[], usageMetadata={'promptTokenCount': 3, 'candidatesTokenCount': output})

    @staticmethod
    def refusal(message: str, type: str) -> bytes:
        return json.dumps({'error': {'message': message, 'status': type}}).encode()


SPEECHES = (OpenAISpeech(), AnthropicSpeech(), GeminiSpeech())
Speech = OpenAISpeech | AnthropicSpeech | GeminiSpeech
