/**
 * The whole body of a request or a response. Rejects with the error that `tooLarge` creates if the
 * body has more than `maxBytes`.
 */
export const wholeBody = async (
  stream: AsyncIterable<unknown>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
