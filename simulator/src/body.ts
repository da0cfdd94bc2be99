/** The whole body of a request or an answer. Rejects with what `tooLarge` makes when it has more than `maxBytes`. */
export const wholeBody = async (stream: AsyncIterable<unknown>, maxBytes: number, tooLarge: () => Error): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
