"""The evaluation API, at `/api/v1`: requests in, one service called, shapes out."""
