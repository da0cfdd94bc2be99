/** What is typed into the datacenter form, and what is sent of it. */
import * as z from 'zod/mini'
import { type Datacenter, datacenterCreate } from '#contract/datacenters.ts'
import { listOf } from '../../lib/text.ts'

export interface Typed {
  country_code: string
  city_code: string
  city_name: string
  /** "" is unknown. */
  tier: string
  certifications: string
  latitude: string
  longitude: string
}

export const blank: Typed = { country_code: '', city_code: '', city_name: '', tier: '', certifications: '', latitude: '', longitude: '' }

export const typedOf = (d: Datacenter): Typed => ({
  country_code: d.country_code,
  city_code: d.city_code,
  city_name: d.city_name,
  tier: d.tier === null ? '' : String(d.tier),
  certifications: d.certifications.join('\n'),
  latitude: d.latitude === null ? '' : String(d.latitude),
  longitude: d.longitude === null ? '' : String(d.longitude),
})

/** "52.41" → 52.41, "" → null; anything else stays text, so that the schema refuses it. */
const coordinate = (text: string): unknown => (text === '' ? null : /^-?\d{1,3}(?:\.\d{1,10})?$/.test(text) ? Number(text) : text)

export type Read = { ok: true; body: z.output<typeof datacenterCreate.body> } | { ok: false; fields: Partial<Record<keyof Typed, string>> }

const sentences: Partial<Record<keyof Typed, string>> = {
  latitude: 'Latitude is a number from -90 to 90, such as 52.41',
  longitude: 'Longitude is a number from -180 to 180, such as 16.93',
  city_name: 'Enter the name of the city',
}

/** Reads the form by the contract's own schema; the first sentence per field where it can't be sent. */
export function readForm(typed: Typed): Read {
  const read = z.safeParse(datacenterCreate.body, {
    country_code: typed.country_code.toUpperCase(),
    city_code: typed.city_code.toUpperCase(),
    city_name: typed.city_name,
    tier: typed.tier === '' ? null : Number(typed.tier),
    certifications: listOf(typed.certifications),
    latitude: coordinate(typed.latitude),
    longitude: coordinate(typed.longitude),
  })
  if (read.success) return { ok: true, body: read.data }
  const fields: Partial<Record<keyof Typed, string>> = {}
  for (const issue of read.error.issues) {
    const field = String(issue.path[0]) as keyof Typed
    fields[field] ??= issue.code === 'custom' ? issue.message : (sentences[field] ?? issue.message)
  }
  return { ok: false, fields }
}
