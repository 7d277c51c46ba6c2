"""The shapes of the API as OpenAPI shows them."""
