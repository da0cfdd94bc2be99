import { expect, test } from 'vitest'
import { onlyHere } from './network.ts'

test.each([
  'http://127.0.0.1:8080',
  'https://127.9.9.9',
  'http://[::1]:1',
  'http://localhost',
  'http://a.localhost/x',
  'http://0.0.0.0:8080',
  'http://[::]:8080',
])('the URL %s can be reached only from this machine', (url) => expect(onlyHere(url)).toBe(true))
test.each([
  'http://128.0.0.1',
  'https://localhost.example.com',
  'http://10.0.0.1',
  'http://[fd00::1]',
])('the URL %s can be reached from other machines', (url) => expect(onlyHere(url)).toBe(false))
