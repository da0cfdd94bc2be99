import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../../backend/src/config.ts'
import { variants, wrong } from './values.ts'

const chart = new URL('../../../deploy/helm/steelyard/', import.meta.url)
const text = (name: string) => readFileSync(new URL(name, chart), 'utf8')
const defaults = parse(text('values.yaml')) as object
const schema = JSON.parse(text('values.schema.json')) as object
const fits = new Ajv({ allErrors: true, strict: false }).compile(schema)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** As Helm does it: maps are merged, anything else is replaced. */
const merged = (under: object, over: object): object => ({
  ...under,
  ...Object.fromEntries(
    Object.entries(over).map(([name, value]) => {
      const below = (under as Record<string, unknown>)[name]
      return [name, isObject(below) && isObject(value) ? merged(below, value) : value]
    }),
  ),
})
const refused = (given: object): string[] => {
  fits(merged(defaults, given))
  return (fits.errors ?? []).map(
    ({ instancePath, params }) => `${instancePath} ${JSON.stringify(params)}`,
  )
}

test.each(Object.entries(variants))('the schema of the chart accepts %s', (_, given) => {
  expect(refused(given)).toEqual([])
})

test.each(Object.entries(wrong))('the schema of the chart refuses %s', (_, [given, place]) => {
  expect(refused(given).join('\n')).toContain(place)
})

test('the schema describes every value that the chart has', () => {
  const without = (given: object, path: string): string[] =>
    Object.entries(given).flatMap(([name, value]) => {
      const at = `${path}.${name}`
      return isObject(value) && Object.keys(value).length > 0 ? without(value, at) : [at]
    })
  const described = (part: Record<string, unknown>, path: string): string[] =>
    isObject(part['properties'])
      ? Object.entries(part['properties']).flatMap(([name, inner]) =>
          described(inner as Record<string, unknown>, `${path}.${name}`),
        )
      : [path]
  const known = described(schema as Record<string, unknown>, '')
  const missing = without(defaults, '').filter(
    (name) =>
      !known.some((at) => name === at || name.startsWith(`${at}.`) || at.startsWith(`${name}.`)),
  )
  expect(missing).toEqual([])
})

test('the program knows every setting that the chart sets', () => {
  const names = text('templates/statefulset.yaml').matchAll(/name: (STEELYARD_\w+)$/gm)
  const environment = Object.fromEntries(
    Array.from(names, ([, name]) => [name, name === 'STEELYARD_INSECURE' ? '0' : 'x']),
  )
  expect(Object.keys(environment)).toContain('STEELYARD_PUBLIC_URL')
  let told = ''
  try {
    readConfig(environment, '/')
  } catch (error) {
    told = String(error)
  }
  expect(told).not.toContain('is not a setting')
})
