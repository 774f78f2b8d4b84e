"""Operations over HTTP: the shape of each request, and the routes."""
