// @vitest-environment happy-dom
import { readFileSync } from 'node:fs'
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import { Field, TextInput } from './Field.tsx'
import { Select } from './Choices.tsx'

afterEach(cleanup)
const described = (name: string) =>
  document.querySelector(
    `#${CSS.escape(screen.getByLabelText(name).getAttribute('aria-describedby') ?? 'none')}`,
  )?.textContent

test('a field connects its label, hint and error to the control; the error replaces the hint', () => {
  const { rerender } = render(
    <Field label="Name" hint="A short one">
      <TextInput />
    </Field>,
  )
  expect(described('Name')).toBe('A short one')
  expect(screen.getByLabelText('Name').getAttribute('aria-invalid')).toBeNull()
  rerender(
    <Field label="Name" hint="A short one" error="Enter a name">
      <TextInput />
    </Field>,
  )
  expect(described('Name')).toBe('Enter a name')
  expect(screen.getByLabelText('Name').getAttribute('aria-invalid')).toBe('true')
})

function Kept({ type, onValue }: { type?: string; onValue: (value: string) => void }) {
  const [value, setValue] = useState('')
  return (
    <Field label="Value">
      <TextInput
        {...(type !== undefined && { type })}
        value={value}
        onValue={(to) => {
          setValue(to)
          onValue(to)
        }}
      />
    </Field>
  )
}

test('typed text is reported trimmed, and is shown trimmed after the field loses focus', async () => {
  const onValue = vi.fn<(value: string) => void>()
  render(<Kept onValue={onValue} />)
  const input = screen.getByLabelText<HTMLInputElement>('Value')
  await userEvent.type(input, ' a b ')
  expect(onValue).toHaveBeenLastCalledWith('a b')
  expect(input.value).toBe(' a b ')
  await userEvent.tab()
  expect(input.value).toBe('a b')
})

test('a password keeps its spaces, and can be shown', async () => {
  const onValue = vi.fn<(value: string) => void>()
  render(<Kept type="password" onValue={onValue} />)
  const input = screen.getByLabelText<HTMLInputElement>('Value')
  await userEvent.type(input, ' a ')
  expect(onValue).toHaveBeenLastCalledWith(' a ')
  await userEvent.click(screen.getByRole('button', { name: 'Show password' }))
  expect(input.type).toBe('text')
})

test('a select starts with its placeholder and reports the selected value', async () => {
  const onValue = vi.fn<(value: 'a' | 'b') => void>()
  render(
    <Field label="Site">
      <Select<'a' | 'b'>
        value=""
        placeholder="Choose a site"
        options={[
          { value: 'a', text: 'A' },
          { value: 'b', text: 'B', disabled: true },
        ]}
        onValue={onValue}
      />
    </Field>,
  )
  expect(screen.getByLabelText<HTMLSelectElement>('Site').selectedOptions[0]?.textContent).toBe(
    'Choose a site',
  )
  await userEvent.selectOptions(screen.getByLabelText('Site'), 'A')
  expect(onValue).toHaveBeenCalledWith('a')
  expect(screen.getByRole<HTMLOptionElement>('option', { name: 'B' }).disabled).toBe(true)
})

test('a select with an error is marked as invalid, and its red border takes precedence over the default border', () => {
  const { container } = render(
    <Field label="Size" error="Choose one">
      <Select value="" options={[]} onValue={() => undefined} />
    </Field>,
  )
  expect(container.querySelector('select')!.parentElement!.className).toMatch(/bad/)
  const rules = readFileSync('console/src/ui/inputs/Field.module.css', 'utf8')
  // The rules have equal specificity, so `.bad` must be later in the file to take effect.
  for (const control of ['.input', '.area', '.select'])
    expect(rules.indexOf(`  ${control} {`)).toBeLessThan(rules.indexOf('  .bad {'))
})
