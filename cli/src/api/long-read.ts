/** Responses that are too long for the memory, or take long because the server works on them. */

/**
 * Yields the bytes of a response in parts. Throws what the connection throws, and a `TimeoutError` if nothing arrives for `silentMs`.
 * A response that ends before its end, because the server cut the connection, throws too.
 */
export async function* bytesOf(body: ReadableStream<Uint8Array>, silentMs: number): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined
      const silent = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new DOMException('Nothing has arrived', 'TimeoutError')), silentMs)
      })
      // The time that the reader of the parts takes doesn't count.
      const { done, value } = await Promise.race([reader.read(), silent]).finally(() => clearTimeout(timer))
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Decodes bytes to text. */
export async function* textOf(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const part of parts) yield decoder.decode(part, { stream: true })
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
