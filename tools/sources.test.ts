import { expect, test } from 'vitest'
import { hashOfConsole } from './sources.mjs'

test('a changed VITE_ setting causes a new build of the console; other variables and the order of settings do not', () => {
  const plain = hashOfConsole({})
  expect(hashOfConsole({ PORT: '1', STEELYARD_DATA: 'x' })).toBe(plain)
  const reporting = hashOfConsole({
    VITE_SENTRY_DSN: 'https://a@reports.example/1',
    VITE_ENVIRONMENT: 'staging',
  })
  expect(reporting).not.toBe(plain)
  expect(
    hashOfConsole({ VITE_ENVIRONMENT: 'staging', VITE_SENTRY_DSN: 'https://a@reports.example/1' }),
  ).toBe(reporting)
  expect(hashOfConsole({ VITE_SENTRY_DSN: 'https://a@reports.example/1' })).not.toBe(reporting)
})
