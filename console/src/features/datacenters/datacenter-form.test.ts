import { expect, test } from 'vitest'
import type { Datacenter } from '#contract/datacenters.ts'
import { blank, changeOf, codePreview, readForm, typedOf } from './datacenter-form.ts'

const poznan = {
  ...blank,
  country_code: 'pl',
  city_code: 'poz',
  city_name: 'Poznań',
  tier: '3',
  certifications: 'ISO 27001, SOC 2',
  latitude: '52.41',
  longitude: '16.93',
  facility: 'Beyond',
  power_capacity_kw: '2400.5',
  rack_capacity: '120',
}
const sent = {
  country_code: 'PL',
  city_code: 'POZ',
  city_name: 'Poznań',
  tier: 3,
  certifications: ['ISO 27001', 'SOC 2'],
  latitude: 52.41,
  longitude: 16.93,
  facility: 'Beyond',
  address: null,
  power_capacity_kw: 2400.5,
  rack_capacity: 120,
  notes: null,
}

test('codes are sent in capitals, certifications as a list, numbers as numbers, and an index only if one was typed', () => {
  expect(readForm(poznan)).toEqual({ ok: true, body: sent })
  expect(readForm({ ...poznan, index: '7' })).toEqual({ ok: true, body: { ...sent, index: 7 } })
})

test('an empty number field is sent as unknown, not as 0', () => {
  const read = readForm({
    ...poznan,
    tier: '',
    latitude: '',
    longitude: '',
    power_capacity_kw: '',
    rack_capacity: '',
  })
  expect(read).toMatchObject({
    ok: true,
    body: {
      tier: null,
      latitude: null,
      longitude: null,
      power_capacity_kw: null,
      rack_capacity: null,
    },
  })
})

test('each invalid field has its own message', () => {
  expect(
    readForm({
      ...poznan,
      country_code: 'POL',
      city_code: 'P0',
      city_name: '',
      latitude: '91',
      index: '0',
      power_capacity_kw: 'much',
      rack_capacity: '1.5',
    }),
  ).toEqual({
    ok: false,
    fields: {
      country_code: 'Country code must be two letters (ISO 3166)',
      city_code: 'City code must be 3 characters: letters or 2-9 (UN/LOCODE)',
      index: 'Index is a whole number from 1 to 999',
      city_name: 'Enter the name of the city',
      latitude: 'Latitude is a number from -90 to 90, such as 52.41',
      power_capacity_kw: 'Power is a number of kW from 0 to 1\u202f000\u202f000',
      rack_capacity: 'Racks must be a whole number from 0 to 100\u202f000',
    },
  })
})

test('a missing coordinate is reported at its own field, together with all other errors', () => {
  const both = 'Enter both latitude and longitude, or neither'
  expect(readForm({ ...poznan, longitude: '' })).toEqual({ ok: false, fields: { longitude: both } })
  expect(readForm({ ...poznan, latitude: '' })).toEqual({ ok: false, fields: { latitude: both } })
  expect(readForm({ ...poznan, latitude: '', city_name: '' })).toEqual({
    ok: false,
    fields: { latitude: both, city_name: 'Enter the name of the city' },
  })
  expect(readForm({ ...poznan, latitude: '', longitude: '181' })).toMatchObject({
    ok: false,
    fields: { latitude: both, longitude: 'Longitude is a number from -180 to 180, such as 16.93' },
  })
})

test('the form previews the code of a new datacenter', () => {
  expect(codePreview(poznan)).toBe('PL-POZ-…')
  expect(codePreview({ ...poznan, index: '12' })).toBe('PL-POZ-12')
  expect(codePreview({ ...poznan, city_code: 'PO' })).toBeNull()
})

test('converting a datacenter to form values and back changes nothing, and its code is sent only if it may change', () => {
  const d: Datacenter = {
    ...sent,
    tier: 3,
    id: crypto.randomUUID(),
    code: 'PL-POZ-4',
    servers: 0,
    clusters: 0,
    subnets: 0,
    compute_units: { total: 0, free: 0 },
    version: 1,
    created_at: '',
    updated_at: '',
  }
  const read = readForm(typedOf(d))
  if (!read.ok) throw new Error('not read')
  expect(read.body).toEqual({ ...sent, index: 4 })
  const { country_code, city_code, ...rest } = sent
  expect(changeOf(d, read.body, true)).toEqual(rest)
  expect(changeOf(d, read.body, false)).toEqual({ ...rest, country_code, city_code })
  expect(changeOf(d, { ...read.body, index: 9 }, false)).toEqual({
    ...rest,
    country_code,
    city_code,
    index: 9,
  })
})
