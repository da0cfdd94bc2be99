import { expect, test } from 'vitest'
import { initials, listOf, sentence, truncate } from './text.ts'

test('a long string is truncated to its first 16 and last 10 characters', () => {
  const id = '0x9f2c4e61a07bd3385c1e9046f7d28ab34105be6d9c72f0184ea35db62790c41e'
  expect(truncate(id)).toBe('0x9f2c4e61a07bd3…b62790c41e')
  expect(truncate('a'.repeat(27))).toBe('a'.repeat(27))
  expect(truncate('0x71C7656EC7ab88b098defB751B7401B5f6d8976F', 5, 4)).toBe('0x71C…976F')
})

test('entries are separated by lines or commas', () => {
  expect(listOf(' 10.0.0.1, 10.0.0.2\n\n10.0.0.3 ,')).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3'])
})

test('identifiers such as control_plane are shown in sentence case, and names of users as initials', () => {
  expect(sentence('control_plane')).toBe('Control plane')
  expect([
    initials('Olga Petrova'),
    initials('operator@example.com'),
    initials('a.b@c.d'),
    initials(''),
  ]).toEqual(['OP', 'OP', 'AB', ''])
})
