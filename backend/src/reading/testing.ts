import { type ServerResponse } from 'node:http'

export const mib = 1024 * 1024
/** Sends bytes for as long as the client reads them. */
export function endlessly(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024, 'a')
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.writeHead(200, { 'content-type': 'application/octet-stream', etag: '"a"' })
  response.on('drain', more)
  more()
}

const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
/** The number 1 behind as many spaces, in chunks of a byte. */
export const smallChunks = (spaces: number): Buffer =>
  Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(spaces * 6, '1\r\n \r\n'),
    Buffer.from('1\r\n1\r\n0\r\n\r\n'),
  ])
/** Sends informational responses for as long as the client reads them. */
export function informsEndlessly({ socket }: ServerResponse): void {
  const piece = 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2_000)
  const more = (): void => {
    while (!socket!.destroyed && socket!.write(piece));
  }
  socket!.on('drain', more).on('error', () => undefined)
  more()
}

const manyKeys = (bytes: number): string => {
  const lines: string[] = []
  for (let i = 0, length = 0; length < bytes - 16; i++)
    length += lines[lines.push(`k${i}: 1\n`) - 1]!.length
  return lines.join('')
}
export const many = (text: string, bytes: number): string =>
  text.repeat(Math.floor(bytes / text.length))
export const yamlBombs: Readonly<Record<string, string>> = {
  'many keys': manyKeys(127 * 1024),
  'keys in braces': `{${manyKeys(120 * 1024).replaceAll('\n', ', ')}}`,
  'deep lists': many('[', 60_000),
  'deep maps': many('{a: ', 60_000),
  'deep questions': many('? ', 60_000),
  'many documents': many('--- a\n', 120_000),
  'many aliases': `a: &a [${many('1,', 2_000)}]\nb: [${many('*a,', 60_000)}]\n`,
  'aliases of aliases': `a0: &a0 x\n${Array.from({ length: 40 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join('')}`,
  'a huge key': `${many('a', 127 * 1024)}: 1\n`,
  'many directives': `${many('%A b\n', 120_000)}---\na: 1\n`,
  'many tags': many('- !!str a\n', 120_000),
}

export async function* piecesOf(bytes: Buffer, size = 32 * 1024) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
