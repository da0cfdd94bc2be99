/** Responses that are too long for the memory, or take long because the server works on them. */
import { CliError } from '../exit.ts'

/**
 * Yields the bytes of a response in parts. Throws what the connection throws, and a `TimeoutError`
 * if nothing arrives for `silentMs`. A response that ends before its end, because the server cut
 * the connection, throws too.
 */
export async function* bytesOf(
  body: ReadableStream<Uint8Array>,
  silentMs: number,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined
      const silent = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
          () => reject(new DOMException('Nothing has arrived', 'TimeoutError')),
          silentMs,
        )
      })
      // The time that the reader of the parts takes doesn't count.
      const { done, value } = await Promise.race([reader.read(), silent]).finally(() =>
        clearTimeout(timer),
      )
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** More than the longest list, a thousand servers with everything, has by far. */
const longestText = 64 * 1024 * 1024

/** The text of a response. @throws CliError if it is too long; what the connection throws */
export async function textIn(answer: Response): Promise<string> {
  if (answer.body === null) return ''
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of answer.body as AsyncIterable<Uint8Array>) {
    length += part.byteLength
    // Leaving the loop closes the connection.
    if (length > longestText)
      throw new CliError('failure', 'The server sent a response that is too long')
    parts.push(part)
  }
  return new TextDecoder().decode(Buffer.concat(parts))
}

/** Decodes bytes to text. */
export async function* textOf(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const part of parts) yield decoder.decode(part, { stream: true })
}

/** Far more than a line of any response has. */
const longestLine = 1024 * 1024

/**
 * Joins parts to lines. A last line without an end is left out, because it isn't whole. @throws
 * CliError for a line that is too long
 */
export async function* linesOf(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const part of parts) {
    const lines = (rest + part).split('\n')
    rest = lines.pop()!
    if (rest.length > longestLine)
      throw new CliError('failure', 'The server sent a line that is too long')
    yield* lines
  }
}
