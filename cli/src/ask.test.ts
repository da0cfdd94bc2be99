import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { askOnTerminal } from './ask.ts'

function keyboard() {
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    raw: false,
    setRawMode(on: boolean) {
      this.raw = on
    },
  })
  const output = new PassThrough()
  const ask = (secret: boolean) => askOnTerminal(input, output, 'Password: ', { secret })
  const shown = () => (output.end(), text(output))
  return { input, ask, type: (bytes: string | Buffer) => input.write(bytes), shown }
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
  expect(await shown()).toBe('Password: \n')
  expect(input.raw).toBe(false)
})

test('other input is echoed and can be corrected', async () => {
  const { ask, type, shown } = keyboard()
  const answer = ask(false)
  type('abc\u0015d\u007fe\u0007\r')
  expect(await answer).toBe('e')
  const printed = await shown()
  expect(printed).toContain('Password: ')
  expect(printed).toContain('abc')
  expect(printed).not.toContain('\u0007')
})

test('an answer ends at the end of the input, even without Enter', async () => {
  const { input, ask } = keyboard()
  const answer = ask(true)
  input.end()
  expect(await answer).toBe('')
})

test('Ctrl-C restores the terminal', async () => {
  const { input, ask, type } = keyboard()
  const answer = ask(true)
  type('abc\u0003')
  await expect(answer).rejects.toMatchObject({ exit: 'interrupted' })
  expect(input.raw).toBe(false)
})
