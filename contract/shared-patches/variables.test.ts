import { expect, test } from 'vitest'
import { patchLimits } from '../patches.ts'
import {
  canFill,
  canHaveVariables,
  filledBytes,
  filledText,
  templateOf,
  unknownVariable,
  variableLimits,
  variablesIn,
  type VariableValues,
  valuesFor,
} from './variables.ts'

const server = {
  name: 'poz-1',
  address: '10.0.0.5',
  link: 'enp1s0',
  labels: { rack: '3', 'example.com/net': 'storage', empty: '' },
}
/** The text with the values of a server, or why it can't be filled. */
function fill(text: string, of: VariableValues) {
  const template = templateOf(text)
  const filled = valuesFor(template, of)
  if (!('values' in filled)) return filled
  const made = filledText(template, filled.values)
  expect(filledBytes(template, filled.values)).toBe(Buffer.byteLength(made))
  return { text: made, values: filled.values }
}
const patch = 'parent: {{link}}\nvlanID: {{ label.rack }}\nto: {{label.example.com/net}}\n'

test('variables are filled in as text, so that a number stays a number', () => {
  expect(variablesIn(patch)).toEqual(['link', 'label.rack', 'label.example.com/net'])
  expect(fill(patch, server)).toEqual({
    text: 'parent: enp1s0\nvlanID: 3\nto: storage\n',
    values: { link: 'enp1s0', 'label.rack': '3', 'label.example.com/net': 'storage' },
  })
})

test('a value that is missing or empty is named', () => {
  expect(fill('a: {{link}}', { ...server, link: null })).toEqual({
    variable: 'link',
    why: 'missing',
  })
  for (const key of ['gone', 'empty', 'constructor'])
    expect(fill(`a: {{label.${key}}}`, server)).toEqual({
      variable: `label.${key}`,
      why: 'missing',
    })
})

test.each(['a: b', 'a\nb: c', '[a]', '{a}', '*a', '!a', 'a #b', "'", 'fd00::', '- a', '{{name}}'])(
  'the value %j, which YAML reads as more than a value, is refused',
  (link) => {
    expect(fill('a: {{link}}', { ...server, link })).toEqual({ variable: 'link', why: 'unsafe' })
  },
)

test('a misspelled variable is found with its line; other braces belong to the patch', () => {
  expect(unknownVariable('a: {{name}}\nb: {{nmae}}\n')).toEqual({ name: 'nmae', line: 2 })
  expect(unknownVariable('a: "{{ .Node }} {{- range }} {{ }} {{"\n')).toBeNull()
  expect(unknownVariable('a: {{label.}}')).toEqual({ name: 'label.', line: 1 })
})

test('a body has at most so many variables and places of them, and both numbers are told', () => {
  const { places, variables } = variableLimits
  const verdict = (text: string) => canHaveVariables(templateOf(text))
  const different = (n: number) => Array.from({ length: n }, (_, i) => `{{label.a${i}}}`).join('')
  expect(verdict('{{name}}'.repeat(places))).toEqual({ ok: true })
  expect(verdict('{{name}}'.repeat(places + 1))).toEqual({
    ok: false,
    reason:
      'The patch has variables at 2\u202f001 places, and it can have them at 2\u202f000 at most',
  })
  expect(verdict(different(variables))).toEqual({ ok: true })
  expect(verdict(different(variables + 1))).toEqual({
    ok: false,
    reason: 'The patch has 51 variables, and it can have 50 at most',
  })
  expect(canFill('poz-1', patchLimits.bodyBytes)).toEqual({ ok: true })
  expect(canFill('poz-1', patchLimits.bodyBytes + 1)).toEqual({
    ok: false,
    reason:
      'With the values of poz-1 the patch has 1\u202f048\u202f577 bytes, and it can have 1\u202f048\u202f576 at most',
  })
})
