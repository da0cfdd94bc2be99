/**
 * The reference for the speed of a list: node:http that answers every request with one ready-made
 * buffer of the given size and the given headers.
 */
import { createServer } from 'node:http'

const [port, size, headers] = process.argv.slice(2)
const bytes = Buffer.alloc(Number(size), '{')
const head = {
  ...Object.fromEntries(JSON.parse(headers ?? '[]') as [string, string][]),
  'content-length': bytes.length,
}
createServer((_, response) => {
  response.writeHead(200, head)
  response.end(bytes)
}).listen(Number(port), '127.0.0.1', () => console.log('ready'))
