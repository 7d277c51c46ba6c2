"""The pages of the service: every one begins with its answer, then the proof, then the material."""
