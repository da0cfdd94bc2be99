/** Values of the datacenter form, and the request body. */
import { type Datacenter, type DatacenterChange, DatacenterInput } from '#contract/datacenters.ts'
import { type Read, readBy } from '../../lib/fields.ts'
import { listOf } from '../../lib/text.ts'
import { count } from '../../lib/units.ts'

/** Empty values, under the API's field names and in the order of the form. "" means unknown. */
export const blank = {
  country_code: '',
  city_code: '',
  index: '',
  city_name: '',
  facility: '',
  address: '',
  tier: '',
  certifications: '',
  latitude: '',
  longitude: '',
  power_capacity_kw: '',
  rack_capacity: '',
  notes: '',
}
export type Typed = typeof blank

const text = (value: string | number | null): string => (value === null ? '' : String(value))
const indexOf = (code: string): string => code.split('-').at(-1) ?? ''

export const typedOf = (d: Datacenter): Typed => ({
  country_code: d.country_code,
  city_code: d.city_code,
  index: indexOf(d.code),
  city_name: d.city_name,
  facility: text(d.facility),
  address: text(d.address),
  tier: text(d.tier),
  certifications: d.certifications.join('\n'),
  latitude: text(d.latitude),
  longitude: text(d.longitude),
  power_capacity_kw: text(d.power_capacity_kw),
  rack_capacity: text(d.rack_capacity),
  notes: text(d.notes),
})

/** "52.41" → 52.41, "" → null. Other text stays a string, so that the schema refuses it. */
const number = (typed: string): unknown =>
  typed === '' ? null : /^-?\d{1,9}(?:\.\d{1,10})?$/.test(typed) ? Number(typed) : typed
const words = (typed: string): string | null => (typed === '' ? null : typed)

/**
 * Preview of the code. Without a valid index, "…" stands for the index. Null until country and city
 * are valid.
 */
export function codePreview(
  typed: Pick<Typed, 'country_code' | 'city_code' | 'index'>,
): string | null {
  const [country, city] = [typed.country_code.toUpperCase(), typed.city_code.toUpperCase()]
  if (!/^[A-Z]{2}$/.test(country) || !/^[A-Z2-9]{3}$/.test(city)) return null
  return `${country}-${city}-${/^[1-9]\d{0,2}$/.test(typed.index) ? typed.index : '…'}`
}

const sentences: Partial<Record<keyof Typed, string>> = {
  index: 'Index is a whole number from 1 to 999',
  latitude: 'Latitude is a number from -90 to 90, such as 52.41',
  longitude: 'Longitude is a number from -180 to 180, such as 16.93',
  city_name: 'Enter the name of the city',
  power_capacity_kw: `Power is a number of kW from 0 to ${count(1_000_000)}`,
  rack_capacity: `Racks must be a whole number from 0 to ${count(100_000)}`,
}
const both = 'Enter both latitude and longitude, or neither'

/**
 * Validates the form with the contract's schema. Returns the request body, or the first error
 * message of each field.
 */
export function readForm(typed: Typed): Read<DatacenterInput> {
  const asked = {
    country_code: typed.country_code.toUpperCase(),
    city_code: typed.city_code.toUpperCase(),
    ...(typed.index !== '' && { index: number(typed.index) }),
    city_name: typed.city_name,
    facility: words(typed.facility),
    address: words(typed.address),
    tier: typed.tier === '' ? null : Number(typed.tier),
    certifications: listOf(typed.certifications),
    latitude: number(typed.latitude),
    longitude: number(typed.longitude),
    power_capacity_kw: number(typed.power_capacity_kw),
    rack_capacity: number(typed.rack_capacity),
    notes: words(typed.notes),
  }
  const read = readBy(DatacenterInput, asked)
  if (read.ok) return read
  const wrong: Partial<Record<keyof Typed, string>> = {}
  for (const [path, message] of Object.entries(read.fields)) {
    const field = path.split('.')[0] as keyof Typed
    wrong[field] ??= sentences[field] !== undefined && message !== both ? sentences[field] : message
  }
  // If only one coordinate is given, the schema reports this at `longitude` or, after other errors,
  // not at all. Report it at the missing one.
  if (wrong.longitude === both) delete wrong.longitude
  const missing = typed.latitude === '' ? 'latitude' : 'longitude'
  if ((typed.latitude === '') !== (typed.longitude === '')) wrong[missing] = both
  return { ok: false, fields: wrong }
}

/**
 * The request body that changes `d`. If `isFixed`, without country, city and index. An unchanged
 * index is left out.
 */
export function changeOf(d: Datacenter, body: DatacenterInput, isFixed: boolean): DatacenterChange {
  const { country_code, city_code, index, ...rest } = body
  if (isFixed) return rest
  return {
    ...rest,
    country_code,
    city_code,
    ...(index !== undefined && String(index) !== indexOf(d.code) && { index }),
  }
}
