import { expect, test } from 'vitest'
import { blank, readForm, typedOf } from './datacenter-form.ts'

const poznan = {
  ...blank,
  country_code: 'pl',
  city_code: 'poz',
  city_name: 'Poznań',
  tier: '3',
  certifications: 'ISO 27001, SOC 2',
  latitude: '52.41',
  longitude: '16.93',
}

test('codes are sent in capitals, certifications as a list, coordinates as numbers', () => {
  expect(readForm(poznan)).toEqual({
    ok: true,
    body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań', tier: 3, certifications: ['ISO 27001', 'SOC 2'], latitude: 52.41, longitude: 16.93 },
  })
})

test('what is not given is unknown, not 0', () => {
  const read = readForm({ ...poznan, tier: '', latitude: '', longitude: '' })
  expect(read).toMatchObject({ ok: true, body: { tier: null, latitude: null, longitude: null } })
})

test('each wrong field has its own sentence', () => {
  expect(readForm({ ...poznan, country_code: 'POL', city_code: 'P0', city_name: '', latitude: '91' })).toEqual({
    ok: false,
    fields: {
      country_code: 'Country code must be two letters (ISO 3166)',
      city_code: 'City code must be 3 characters: letters or 2-9 (UN/LOCODE)',
      city_name: 'Enter the name of the city',
      latitude: 'Latitude is a number from -90 to 90, such as 52.41',
    },
  })
})

test('one coordinate alone is refused where the other is missing', () => {
  expect(readForm({ ...poznan, longitude: '' })).toEqual({ ok: false, fields: { longitude: 'Enter both latitude and longitude, or neither' } })
})

test('a datacenter fills the form with what reads back to the same', () => {
  const read = readForm(poznan)
  if (!read.ok) throw new Error('not read')
  const d = {
    ...read.body,
    id: crypto.randomUUID(),
    code: 'PL-POZ-1',
    servers: 0,
    clusters: 0,
    subnets: 0,
    compute_units: { total: 0, free: 0 },
    version: 1,
    created_at: '',
    updated_at: '',
  }
  expect(readForm(typedOf(d))).toEqual(read)
})
