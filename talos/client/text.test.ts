import { expect, test } from 'vitest'
import { messageText, text } from './text.ts'

test('white space in a message is kept; invisible and direction-changing characters become visible', () => {
  expect(text('a\tb\r\nc\u2028d')).toBe('a b c\ufffdd')
  expect(text('said\u001b[2J')).toBe('said\ufffd[2J')
  expect(messageText('a\tb\r\nc\u2028d\u202ee')).toBe('a  b\nc\ufffdd\ufffde')
})

test('a nested list with one error is replaced by its heading and that error', () => {
  const nested =
    '1 error occurred:\n\t* v1alpha1.Config: 1 error occurred:\n\t* install disk is required\n\n\n\n'
  expect(messageText(nested)).toBe('v1alpha1.Config: install disk is required')
})

test('several errors become a list, and nested lists are indented', () => {
  const said =
    'configuration validation failed: 2 errors occurred:\n\t* v1alpha1.Config: 2 errors occurred:\n\t* warm: too\n\t* cold\n\n\n\t* HostnameConfig: auto or hostname\n\n'
  expect(messageText(said)).toBe(
    [
      'configuration validation failed:',
      '- v1alpha1.Config:',
      '  - warm: too',
      '  - cold',
      '- HostnameConfig: auto or hostname',
    ].join('\n'),
  )
  expect(messageText('2 errors occurred:\n\t* first\n\t* second\n\n')).toBe('- first\n- second')
})

test('a message that only looks like a list stays readable', () => {
  expect(messageText('unknown keys found during decoding:\nmachine:\n    foo: bar')).toBe(
    'unknown keys found during decoding:\nmachine:\n    foo: bar',
  )
  expect(messageText('9 errors occurred:\n\t* only\nand after')).toBe('only and after')
  expect(messageText('1 error occurred:\n\t* '.repeat(150)).length).toBeLessThan(4000)
})
