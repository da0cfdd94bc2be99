/**
 * Yields the complete lines of a streamed text. A last line without a line break is yielded at the
 * end.
 */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const parts = (rest + value).split('\n')
      rest = parts.pop() ?? ''
      yield* parts
    }
    if (rest !== '') yield rest
  } finally {
    // Ends the request if the reader stops early.
    await reader.cancel().catch(() => undefined)
  }
}
