"""One stage a file: an async function from a receive stream to a send stream, its rule a pure function beside it."""
