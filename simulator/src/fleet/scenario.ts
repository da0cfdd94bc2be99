import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import * as z from 'zod/mini'
import { MAX_SPEED, MIN_SPEED } from '../clock.ts'
import { isTalosVersion, RELEASES } from '../config/versions.ts'
import { bmcFaultSchema } from '../bmc/faults.ts'
import { PERSONALITY_NAMES } from '../bmc/personality.ts'
import { LOAD_BALANCERS } from '../kubernetes/balancing/definitions.ts'
import { faultSchema } from './faults.ts'
import { ALL_MODEL_NAMES } from './hardware.ts'
import { DISK_CONTENTS, MEDIA_KINDS } from './media.ts'
import { PLACES } from './places.ts'

const MAX_SERVERS = 20_000

const MINORS = Object.keys(RELEASES).map((minor) => `v1.${minor}`)
export const talosVersion = z
  .string()
  .check(
    z.refine(isTalosVersion, `a Talos version from ${MINORS.join(' or ')}, for example v1.13.9`),
  )
export const placeCode = z
  .string()
  .check(
    z.refine(
      (code) => PLACES.some((place) => place.code === code),
      `one of ${PLACES.map((place) => place.code).join(', ')}`,
    ),
  )
export const schematicId = z
  .string()
  .check(z.regex(/^[0-9a-f]{64}$/, 'a schematic id: 64 hexadecimal digits'))

export const word = z.string().check(z.maxLength(128), z.regex(/^[\x20-\x7e]*$/, 'ASCII text'))
export const uuid = z
  .string()
  .check(z.regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID in lower case'))

const serverSchema = z.strictObject({
  datacenter: z.optional(placeCode),
  talos: z.optional(talosVersion),
  schematic: z.optional(schematicId),
  hardware: z.optional(z.enum(ALL_MODEL_NAMES)),
  /** Factor by which everything takes longer, if above 1. */
  slowness: z.optional(z.number().check(z.minimum(0.1), z.maximum(100))),
  missing_disks: z.optional(z.boolean()),
  /** The second link is connected too, to a network in which nothing answers. */
  second_network: z.optional(z.boolean()),
  /** Content by disk (`sda`); other disks are empty. */
  contents: z.optional(
    z.record(
      z.string().check(z.regex(/^[a-z][a-z0-9]*$/, 'the name of a disk, for example sda')),
      z.enum(DISK_CONTENTS),
    ),
  ),
  /** Additional disks. */
  media: z.optional(z.array(z.enum(MEDIA_KINDS)).check(z.maxLength(6))),
  power: z.optional(z.enum(['on', 'off'])),
  /** A new server: off, without boot media, and never booted. Nothing starts when it is switched on. */
  bare: z.optional(z.boolean()),
  /** Its management controller. */
  bmc: z.optional(
    z.strictObject({
      personality: z.optional(z.enum(PERSONALITY_NAMES)),
      faults: z.optional(z.array(bmcFaultSchema)),
    }),
  ),
  /** Version of Talos that is already installed, without a configuration. */
  installed: z.optional(talosVersion),
  faults: z.optional(z.array(faultSchema)),
  /** In place of the board's own: twins have one UUID, and some makers leave zeros in it. */
  uuid: z.optional(uuid),
  serial: z.optional(word),
})
export type ServerOptions = z.infer<typeof serverSchema>

const scenarioSchema = z.strictObject({
  seed: z._default(z.string().check(z.minLength(1), z.maxLength(200)), 'steelyard'),
  servers: z._default(z.int().check(z.minimum(1), z.maximum(MAX_SERVERS)), 12),
  speed: z._default(z.number().check(z.minimum(MIN_SPEED), z.maximum(MAX_SPEED)), 1),
  datacenters: z._default(z.array(placeCode).check(z.minLength(1)), ['PL-POZ-1', 'DE-FRA-1']),
  /**
   * Talos versions, assigned to servers in turn within each datacenter. By default the first
   * datacenter runs the newest version and the others a mix.
   */
  talos: z.optional(z.array(talosVersion).check(z.minLength(1))),
  /** How many servers, the last ones, are bare. */
  bare: z._default(z.int().check(z.minimum(0), z.maximum(MAX_SERVERS)), 0),
  /** Load balancer of new clusters. */
  load_balancer: z._default(z.enum(LOAD_BALANCERS), 'cilium'),
  /**
   * Special properties by server number, from 1. By default a fleet of twelve or more has one
   * server without disks, one that fails its first install, and one that is slow.
   */
  special: z.optional(
    z.record(z.string().check(z.regex(/^[1-9]\d*$/, 'a server number, from 1')), serverSchema),
  ),
})
export type Scenario = z.infer<typeof scenarioSchema>

export class ScenarioError extends Error {
  override name = 'ScenarioError'
}

/** Validates a scenario. Throws `ScenarioError` that names every wrong field. */
export const parseScenario = (value: unknown): Scenario => {
  const result = scenarioSchema.safeParse(value)
  if (result.success) return result.data
  throw new ScenarioError(
    `The scenario is wrong:\n${result.error.issues.map((issue) => `  ${issue.path.join('.') || '(whole)'}: ${issue.message}`).join('\n')}`,
  )
}

/** Reads a scenario file, YAML or JSON. */
export const readScenario = (path: string): Scenario => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ScenarioError(
      `Can't read the scenario ${path}: ${cause instanceof Error && 'code' in cause && cause.code === 'ENOENT' ? 'there is no such file' : String(cause)}`,
      { cause },
    )
  }
  try {
    return parseScenario(parse(text) ?? {})
  } catch (cause) {
    if (cause instanceof ScenarioError) throw cause
    throw new ScenarioError(
      `The scenario ${path} is no YAML: ${cause instanceof Error ? cause.message.split('\n')[0] : String(cause)}`,
      { cause },
    )
  }
}
