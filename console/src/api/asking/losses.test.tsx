// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sentChangeSentence } from '#contract/network/sent-change.ts'
import { canLose, undoAfter, undoRule } from '#contract/servers/losses.ts'
import { DialogHost } from '../../ui/overlay/DialogHost.tsx'
import { openedDialogs } from '../../ui/overlay/dialogs.ts'
import { CallError } from '../client.ts'
import { rollOutMinutes, withLosses } from './losses.ts'

const name = 'brave-otter-042'
const loss = 'port 50000 is closed'

beforeEach(() => render(<DialogHost />))
afterEach(() => {
  cleanup()
  openedDialogs.set([])
})

/** An API that refuses the loss until it is confirmed, and notes what it gets. */
const api = (tried: boolean) => {
  const reach = tried ? ({ tried } as const) : ({ tried, why: `${name} restarts for it` } as const)
  const reason = sentChangeSentence({ name, reach, undoAfterSeconds: 300, loss, when: 'asked' })
  const got: unknown[] = []
  const send = (confirmed: Parameters<Parameters<typeof withLosses>[0]>[0]) => {
    got.push(confirmed.confirmed_loss)
    const verdict = canLose([{ name, reason }], confirmed.confirmed_loss ?? [])
    return verdict.ok
      ? Promise.resolve(undoAfter(name, confirmed.confirmed_loss ?? []))
      : Promise.reject(
          new CallError(verdict.reason, {
            status: 409,
            code: 'loss_not_confirmed',
            fields: { confirmed_loss: name, ...(tried && { undo_after_seconds: undoRule }) },
          }),
        )
  }
  return { send, got }
}
const send = () => screen.getByRole('button', { name: 'Send it anyway' })
const asked = () => screen.findByRole('dialog', { name: `Send it although ${name} would be lost?` })
const typeName = () => userEvent.type(screen.getByRole('textbox', { name: /^Type/ }), name)
const shown = () => document.body.textContent

test('five minutes are the default, other minutes are chosen, and the dialog says what they mean', async () => {
  const sent = withLosses(api(true).send)
  await asked()
  expect(shown()).toContain(`Steelyard would lose ${name}: ${loss}.`)
  expect(shown().match(/Talos undoes it after 5 min unless/g)).toHaveLength(1)
  const minutes = screen.getByRole('textbox', { name: /^After/ })
  await userEvent.clear(minutes)
  await userEvent.type(minutes, '61')
  await typeName()
  await userEvent.click(send())
  expect(shown()).toContain('Enter 1 to 60 minutes')
  await userEvent.clear(minutes)
  await userEvent.type(minutes, '10')
  expect(shown()).toContain('Talos undoes it after 10 min unless')
  await userEvent.click(send())
  expect(await sent).toBe(600)
})

test('for good is a choice that says what it means', async () => {
  const { send: call, got } = api(true)
  const sent = withLosses(call, rollOutMinutes)
  await asked()
  expect(shown()).toContain('1 to 5 minutes')
  await userEvent.selectOptions(screen.getByRole('combobox'), 'The change stays, for good')
  expect(shown()).toContain('is sent for good: nothing will undo it')
  expect(shown()).toContain(`only if ${name} is to be where Steelyard can't reach it`)
  await typeName()
  await userEvent.click(send())
  expect(await sent).toBe(null)
  expect(got).toEqual([undefined, [{ name, undo_after_seconds: null }]])
})

test('nothing is to choose, and no way back is promised, for what no trial reaches', async () => {
  const sent = withLosses(api(false).send)
  await asked()
  expect(screen.queryByRole('combobox')).toBeNull()
  expect(shown()).toContain('nothing will undo it. Steelyard would lose')
  expect(shown()).not.toContain('Talos undoes')
  await typeName()
  await userEvent.click(send())
  expect(await sent).toBe(null)
})

test('a closed dialog sends nothing', async () => {
  const { send: call, got } = api(true)
  const sent = withLosses(call).catch((error: unknown) => error)
  await asked()
  await userEvent.keyboard('{Escape}')
  expect(await sent).toBeInstanceOf(CallError)
  expect(got).toEqual([undefined])
})
