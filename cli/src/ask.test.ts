import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { askOnTerminal } from './ask.ts'

function keyboard() {
  const input = Object.assign(new EventEmitter(), {
    isTTY: true,
    raw: false,
    setRawMode: (on: boolean) => void (input.raw = on),
    pause: () => {},
    resume: () => {},
  })
  let shown = ''
  const ask = (secret: boolean) =>
    askOnTerminal(input as unknown as Parameters<typeof askOnTerminal>[0], { write: (text) => void (shown += text) }, 'Password: ', { secret })
  return { input, ask, type: (bytes: string | Buffer) => input.emit('data', Buffer.from(bytes as string)), shown: () => shown }
}

test('a secret is not echoed and may have any character', async () => {
  const { input, ask, type, shown } = keyboard()
  const answer = ask(true)
  expect(input.raw).toBe(true)
  type(' pä')
  type(Buffer.from([0xe2, 0x82]))
  type(Buffer.from([0xac]))
  type('\u001b[A')
  type('x\u007f 🏗\r')
  expect(await answer).toBe(' pä€ 🏗')
  expect(shown()).toBe('Password: \n')
  expect(input.raw).toBe(false)
})

test('other input is echoed and can be corrected', async () => {
  const { ask, type, shown } = keyboard()
  const answer = ask(false)
  type('abc\u0015d\u007fe\u0007\r')
  expect(await answer).toBe('e')
  expect(shown()).not.toContain('\u0007')
})

test('Ctrl-C restores the terminal', async () => {
  const { input, ask, type } = keyboard()
  const answer = ask(true)
  type('abc\u0003')
  await expect(answer).rejects.toMatchObject({ exit: 'interrupted' })
  expect(input.raw).toBe(false)
})
