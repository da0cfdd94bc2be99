/** The reference for the speed of a list: node:http that answers every request with one ready-made buffer of the given size. */
import { createServer } from 'node:http'

const [port, size] = process.argv.slice(2).map(Number)
const bytes = Buffer.alloc(size!, '{')
createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length })
  response.end(bytes)
}).listen(port, '127.0.0.1', () => console.log('ready'))
