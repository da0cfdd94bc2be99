// @vitest-environment happy-dom
import { cleanup, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import * as z from 'zod/mini'
import { afterEach, expect, test, vi } from 'vitest'
import { readBy } from '../../lib/fields.ts'
import { Button } from '../inputs/Button.tsx'
import { Problem } from '../feedback/Status.tsx'
import { fieldsFor, Form } from './fields.tsx'
import { type FormOptions, useForm } from './use-form.ts'

const schema = z.strictObject({
  name: z.string().check(z.minLength(1, 'Enter a name')),
  vlan_id: z.nullable(z.number('VLAN ID must be a number')),
  exclude: z.array(z.string()),
  first: z.boolean(),
})
const blank = { name: '', vlan_id: '', exclude: '', purpose: '', first: false }
type Typed = typeof blank
const { Text, Area, Choose, Check } = fieldsFor<Typed>()

class Refused extends Error {
  readonly status: number
  readonly fields: Record<string, string>
  constructor(message: string, status: number, fields: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.fields = fields
  }
}

type Options = FormOptions<Typed, z.output<typeof schema>, unknown>
const sending = () => vi.fn<Options['send']>()
const read: Options['read'] = ({ name, vlan_id, exclude, first }) =>
  readBy(schema, {
    name,
    vlan_id: vlan_id === '' ? null : Number.isNaN(Number(vlan_id)) ? vlan_id : Number(vlan_id),
    exclude: exclude === '' ? [] : exclude.split('\n'),
    first,
  })

function Example({
  send,
  done = () => undefined,
}: Pick<Options, 'send'> & Partial<Pick<Options, 'done'>>) {
  const form = useForm({ initial: blank, read, send, done })
  return (
    <Form form={form}>
      <Problem text={form.problem} />
      <Text name="name" label="Name" hint="A short one" />
      <Text name="vlan_id" label="VLAN ID" />
      <Area name="exclude" label="Exclude" />
      <Choose
        name="purpose"
        label="Purpose"
        none="None yet"
        options={[{ value: 'work', text: 'Work' }]}
      />
      <Check name="first" label="Use the first address" />
      <output>
        {JSON.stringify({ dirty: form.dirty, busy: form.busy, purpose: form.values.purpose })}
      </output>
      <Button type="submit" busy={form.busy}>
        Save
      </Button>
      <Button onClick={() => form.reset()}>Discard</Button>
    </Form>
  )
}

const field = (name: string) => screen.getByLabelText(name)
const said = (name: string) =>
  document.querySelector(`#${CSS.escape(field(name).getAttribute('aria-describedby') ?? 'none')}`)
    ?.textContent
const state = () =>
  JSON.parse(screen.getByRole('status', { name: '' }).textContent ?? '') as {
    dirty: boolean
    busy: boolean
    purpose: string
  }
const save = () => userEvent.click(screen.getByRole('button', { name: 'Save' }))

afterEach(cleanup)

test('a field shows its error after it loses focus, until the value is valid', async () => {
  render(<Example send={sending()} />)
  await userEvent.type(field('VLAN ID'), 'x')
  expect(field('VLAN ID').getAttribute('aria-invalid')).toBeNull()
  await userEvent.tab()
  expect(said('VLAN ID')).toBe('VLAN ID must be a number')
  await userEvent.clear(field('VLAN ID'))
  await userEvent.type(field('VLAN ID'), '7')
  expect(field('VLAN ID').getAttribute('aria-invalid')).toBeNull()
})

test('an empty field shows no error when Tab passes through it', async () => {
  render(<Example send={sending()} />)
  await userEvent.click(field('Name'))
  await userEvent.tab()
  expect(said('Name')).toBe('A short one')
})

test('a form with invalid values is not sent: it shows all errors and focuses the first invalid field', async () => {
  const send = sending()
  render(<Example send={send} />)
  await userEvent.type(field('VLAN ID'), 'x')
  await save()
  await waitFor(() => expect(document.activeElement).toBe(field('Name')))
  expect([said('Name'), said('VLAN ID')]).toEqual(['Enter a name', 'VLAN ID must be a number'])
  expect(send).not.toHaveBeenCalled()
})

test('a form sends the values as the schema parses them, trimmed', async () => {
  const send = sending()
  render(<Example send={send} />)
  await userEvent.type(field('Name'), ' poz ')
  await userEvent.type(field('VLAN ID'), '7')
  await userEvent.type(field('Exclude'), 'a{enter}b')
  await userEvent.click(field('Use the first address'))
  await save()
  await waitFor(() =>
    expect(send).toHaveBeenCalledWith(
      { name: 'poz', vlan_id: 7, exclude: ['a', 'b'], first: true },
      expect.any(String),
    ),
  )
})

test('an error of the API is shown at its field, which gets the focus, until any value changes', async () => {
  render(
    <Example
      send={() =>
        Promise.reject(new Refused('Not valid', 422, { 'exclude.1': 'Line 2 is no address' }))
      }
    />,
  )
  await userEvent.type(field('Name'), 'poz')
  await save()
  await waitFor(() => expect(document.activeElement).toBe(field('Exclude')))
  expect(said('Exclude')).toBe('Line 2 is no address')
  expect(screen.queryByRole('alert')).toBeNull()
  await userEvent.type(field('Name'), '1')
  expect(field('Exclude').getAttribute('aria-invalid')).toBeNull()
})

test('an error that names no field is shown at the end of the form', async () => {
  render(
    <Example send={() => Promise.reject(new Refused('It is in use', 409, { elsewhere: 'no' }))} />,
  )
  await userEvent.type(field('Name'), 'poz')
  await save()
  expect((await screen.findByRole('alert')).textContent).toBe('It is in use')
})

test('a form retries the same values with the same Idempotency-Key, and uses a new key for other values or after a refusal', async () => {
  const keys: string[] = []
  let failure: Error | null = new Refused('No answer', 0)
  const send = (_: unknown, key: string) => {
    keys.push(key)
    return failure === null ? Promise.resolve() : Promise.reject(failure)
  }
  render(<Example send={send} />)
  await userEvent.type(field('Name'), 'a')
  await save()
  await save()
  expect(keys[1]).toBe(keys[0])
  await userEvent.type(field('Name'), 'b')
  await save()
  expect(keys[2]).not.toBe(keys[1])
  failure = new Refused('Taken', 409)
  await save()
  await save()
  expect(keys[3]).toBe(keys[2])
  expect(keys[4]).not.toBe(keys[3])
  failure = null
  await save()
  await save()
  expect(new Set(keys.slice(5)).size).toBe(2)
})

test('a form ignores a second click while it is being sent', async () => {
  let answer = () => undefined as void
  const send = sending().mockImplementation(
    () => new Promise<void>((resolve) => (answer = resolve)),
  )
  const done = vi.fn<() => void>()
  render(<Example send={send} done={done} />)
  await userEvent.type(field('Name'), 'a')
  await save()
  await waitFor(() => expect(state().busy).toBe(true))
  await save()
  await userEvent.type(field('Name'), '{enter}')
  expect(send).toHaveBeenCalledTimes(1)
  answer()
  await waitFor(() => expect(state().busy).toBe(false))
  expect(done).toHaveBeenCalledTimes(1)
})

test('a form detects changed values, and can be reset to the initial values', async () => {
  render(<Example send={sending()} />)
  expect(state().dirty).toBe(false)
  await userEvent.type(field('Name'), 'a')
  await userEvent.selectOptions(field('Purpose'), 'Work')
  expect(state()).toMatchObject({ dirty: true, purpose: 'work' })
  await userEvent.selectOptions(field('Purpose'), 'None yet')
  expect(state().purpose).toBe('')
  await save()
  await userEvent.click(screen.getByRole('button', { name: 'Discard' }))
  expect(state().dirty).toBe(false)
  expect((field('Name') as HTMLInputElement).value).toBe('')
  expect(field('Name').getAttribute('aria-invalid')).toBeNull()
})
