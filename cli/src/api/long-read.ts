/** Responses that are too long for the memory, or take long because the server works on them. */

/**
 * Yields the text of a response in parts. Throws what the connection throws, and a `TimeoutError` if nothing arrives for `silentMs`.
 * A response that ends before its end, because the server cut the connection, throws too.
 */
export async function* partsOf(body: ReadableStream<Uint8Array>, silentMs: number): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined
      const silent = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new DOMException('Nothing has arrived', 'TimeoutError')), silentMs)
      })
      // The time that the reader of the parts takes doesn't count.
      const { done, value } = await Promise.race([reader.read(), silent]).finally(() => clearTimeout(timer))
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Joins parts to lines. A last line without an end is left out, because it isn't whole. */
export async function* linesOf(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const part of parts) {
    const lines = (rest + part).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}
