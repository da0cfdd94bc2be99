import { expect, test } from 'vitest'
import { fill, unknownVariable, variablesIn } from './variables.ts'

const server = {
  name: 'poz-1',
  address: '10.0.0.5',
  link: 'enp1s0',
  labels: { rack: '3', 'example.com/net': 'storage', empty: '' },
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
