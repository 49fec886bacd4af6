"""Where random bits come from: a key, the ChaCha blocks it makes, and the stream of words they form."""
