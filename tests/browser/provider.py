"""A model provider on loopback: it lists models, requires a key, and answers with one sentence."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from engine.models.scripted.schema_faker import SchemaFaker

KEY = 'a-key-that-nobody-may-see'
MODELS = ('large', 'small', *(f'older-{number}' for number in range(20)))


class Provider(BaseHTTPRequestHandler):
    """Implements the part of OpenAI's chat completions that our pages need."""

    def do_GET(self) -> None:
        """Send the list of models."""
        given = self.headers.get('authorization', '')
        if given != f'Bearer {KEY}':
            message = f'Incorrect API key provided: {given.removeprefix("Bearer ")}'  # as careless servers do
            self._send(401, {'error': {'message': message, 'code': 'invalid_api_key'}})
            return
        self._send(200, {'data': [{'id': name} for name in MODELS]})

    def do_POST(self) -> None:
        """Stream one sentence, or what fits the schema that is asked for."""
        request = json.loads(self.rfile.read(int(self.headers['content-length'])))
        asked = request.get('response_format', {}).get('json_schema', {}).get('schema')
        fitting = SchemaFaker(asked, lambda name, number: 'A live answer.').value() if asked else None
        answer = json.dumps(fitting) if asked else 'A live answer.'
        pieces = [{'delta': {'content': answer}}, {'delta': {}, 'finish_reason': 'stop'}]
        lines = [f'data: {json.dumps({"choices": [{"index": 0, **piece}]})}\n\n' for piece in pieces]
        self._stream(''.join([*lines, 'data: [DONE]\n\n']).encode())

    def _stream(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""

    def _send(self, status: int, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Google(Provider):
    """Implements the same part of Gemini's API; only `gemini-flash` answers calls."""

    def do_GET(self) -> None:
        """Send the list of models."""
        if not self._has_key():
            return
        listed = [('gemini-flash', 'generateContent'), ('embedding', 'embedContent')]
        models = [
            {'name': f'models/{name}', 'supportedGenerationMethods': [method]} for name, method in listed
        ]
        self._send(200, {'models': models})

    def do_POST(self) -> None:
        """Stream one sentence."""
        self.rfile.read(int(self.headers['content-length']))
        if not self._has_key():
            return
        if not self.path.startswith('/v1/models/gemini-flash:streamGenerateContent'):
            self._send(404, {'error': {'code': 404, 'message': 'no such model', 'status': 'NOT_FOUND'}})
            return
        content = {'role': 'model', 'parts': [{'text': 'A live answer.'}]}
        counted = {'promptTokenCount': 1200, 'candidatesTokenCount': 4, 'cachedContentTokenCount': 1000}
        response = {
            'candidates': [{'content': content, 'finishReason': 'STOP'}],
            'usageMetadata': {**counted, 'totalTokenCount': 1204},
        }
        self._stream(f'data: {json.dumps(response)}\n\n'.encode())

    def _has_key(self) -> bool:
        if self.headers.get('x-goog-api-key') == KEY:
            return True
        error = {'code': 400, 'message': 'API key not valid.', 'status': 'INVALID_ARGUMENT'}
        self._send(400, {'error': {**error, 'details': [{'reason': 'API_KEY_INVALID'}]}})
        return False


@contextmanager
def provider(kind: type[Provider] = Provider) -> Iterator[str]:
    """Run a provider within the block, and yield its address."""
    server = ThreadingHTTPServer(('127.0.0.1', 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f'http://127.0.0.1:{server.server_port}/v1'
    finally:
        server.shutdown()
        server.server_close()
